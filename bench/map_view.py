"""Measure the picture of a map in a browser: `python -m bench.map_view`.

Headless Chromium without a graphics card draws made-up buildings of five storeys. A mouse drags the
plan about at a scale at which a quarter of the page is in view, then the wheel zooms out and in.
Frames are counted by `requestAnimationFrame`, so at most 60 come a second.
"""

import math
import sys
from dataclasses import dataclass
from statistics import median

import click
import pytest
from playwright.sync_api import Page
from rich.console import Console

from bench.data.parsed_maps import build_map
from bench.load.machine import describe_machine, load_average
from bench.report import pages
from bench.report.tables import ReportTable
from tests.clients.map.pages import build_bundle, serve
from tests.gateway.pages.browser import visit

LEVELS = 5
SIZES = (2_000, 20_000)
MOVES = 240
SHOW = """async (units) => {
  await show('map.json')
  const milliseconds = performance.now()
  const before = drawn
  const { width, height } = view.levels[0].box
  view.setLabels(new Map(Array.from({ length: units }, (_, i) => [`1-${i}`, `Unit ${i}`])))
  view.fit({ x: width / 4, y: height / 4, width: width / 2, height: height / 2 })
  await settled(before)
  return milliseconds
}"""
RECORD = """() => {
  const times = window.times = []
  const note = (time) => { times.push(time); window.request = requestAnimationFrame(note) }
  window.request = requestAnimationFrame(note)
}"""
RECORDED = """() => {
  cancelAnimationFrame(request)
  return times.slice(1).map((time, i) => time - times[i])
}"""


@dataclass(frozen=True)
class Frames:
    """Milliseconds between the frames of a movement."""

    milliseconds: list[float]

    @property
    def per_second(self) -> float:
        return 1000 * len(self.milliseconds) / sum(self.milliseconds)

    @property
    def longest(self) -> float:
        return max(self.milliseconds)


def measure(units: int) -> tuple[float, Frames, Frames]:
    """Return milliseconds to the first picture, and the frames of panning and of zooming."""
    with serve({"map": build_map(LEVELS, units)}) as url, visit(url) as seen:
        page = seen.page
        page.goto(url)
        first = page.evaluate(SHOW, units)
        frames = pan(page), zoom(page)
        if errors := seen.all_errors():
            raise click.ClickException("\n".join(errors))
        return first, *frames


def pan(page: Page) -> Frames:
    page.mouse.move(640, 400)
    page.mouse.down()
    page.evaluate(RECORD)
    for step in range(MOVES):
        turn = 2 * math.pi * step / MOVES
        page.mouse.move(340 + 300 * math.cos(turn), 400 + 300 * math.sin(turn))
        page.evaluate("new Promise(requestAnimationFrame)")
    frames = Frames(page.evaluate(RECORDED))
    page.mouse.up()
    return frames


def zoom(page: Page) -> Frames:
    page.evaluate(RECORD)
    for step in range(MOVES):
        page.mouse.wheel(0, 25 if step < MOVES / 4 or step >= MOVES * 3 / 4 else -25)
        page.evaluate("new Promise(requestAnimationFrame)")
    return Frames(page.evaluate(RECORDED))


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click.option("--write-docs", is_flag=True, help="Write the table into docs/performance.md.")
def main(rounds: int, write_docs: bool) -> None:
    """Measure the first picture, and frames per second while it moves."""
    try:
        build_bundle()
    except pytest.skip.Exception as reason:
        sys.exit(str(reason))
    rows = []
    for units in SIZES:
        firsts, pans, zooms = zip(*(measure(units) for _ in range(rounds)), strict=True)
        rows.append(
            [
                f"{units:,}",
                f"{median(firsts):,.0f}",
                *(
                    f"{median(each.per_second for each in moves):.1f}; "
                    f"{median(each.longest for each in moves):.0f}"
                    for moves in (pans, zooms)
                ),
            ]
        )
    header = ["units a storey", "first picture, ms", "panning", "zooming"]
    table = ReportTable("Frames per second; longest frame in ms", header, rows)
    Console(width=120).print(table.to_rich_table())
    machine = describe_machine()
    note = (
        f"Medians of {rounds} rounds; Chromium without a graphics card, 1,280 x 800 pixels; "
        f"{machine['processor']},\n{machine['cores']} cores, load average {load_average():.1f}."
    )
    click.echo(note)
    if write_docs:
        content = f"{table.to_markdown()}\n\n{note}"
        pages.rewrite_section(pages.PERFORMANCE_PAGE, "map-view", content)


if __name__ == "__main__":
    main()
