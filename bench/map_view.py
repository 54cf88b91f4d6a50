"""The picture of a map in a browser.

Headless Chromium without a graphics card draws made-up buildings of five storeys. A mouse drags the
plan about at a scale at which a quarter of the page is in view, then the wheel zooms out and in.
Frames are counted by `requestAnimationFrame`, so at most 60 come a second.
"""

import math
from collections.abc import Iterator

import click
import pytest
from playwright.sync_api import Page

from bench.harness import Row, Run, experiment, median_rows
from parsing.svg.unit_map import parse_unit_map
from samples.output.generated_drawings import draw_unit_map
from tests.clients.environment import build_component
from tests.clients.map.pages import serve
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


def measure(units: int) -> Row:
    """Return milliseconds to the first picture, and figures of panning and of zooming."""
    drawing = parse_unit_map(draw_unit_map(LEVELS * units, units, is_furnished=False))
    with serve({"map": drawing.to_dict()}) as url, visit(url) as seen:
        page = seen.page
        page.goto(url)
        first_ms = page.evaluate(SHOW, units)
        panned, zoomed = pan(page), zoom(page)
        if errors := seen.all_errors():
            raise click.ClickException("\n".join(errors))
    figures = {
        f"{what}, {name}": figure
        for what, frames in (("panning", panned), ("zooming", zoomed))
        for name, figure in (
            ("frames/s", 1000 * len(frames) / sum(frames)),
            ("longest ms", max(frames)),
        )
    }
    return {"units a storey": units, "first picture, ms": first_ms, **figures}


def pan(page: Page) -> list[float]:
    """Return the milliseconds between the frames of a drag."""
    page.mouse.move(640, 400)
    page.mouse.down()
    page.evaluate(RECORD)
    for step in range(MOVES):
        turn = 2 * math.pi * step / MOVES
        page.mouse.move(340 + 300 * math.cos(turn), 400 + 300 * math.sin(turn))
        page.evaluate("new Promise(requestAnimationFrame)")
    frames = list[float](page.evaluate(RECORDED))
    page.mouse.up()
    return frames


def zoom(page: Page) -> list[float]:
    """Return the milliseconds between the frames while the wheel turns."""
    page.evaluate(RECORD)
    for step in range(MOVES):
        page.mouse.wheel(0, 25 if step < MOVES / 4 or step >= MOVES * 3 / 4 else -25)
        page.evaluate("new Promise(requestAnimationFrame)")
    return list[float](page.evaluate(RECORDED))


@experiment(
    "Frames of a map",
    "Medians of {rounds} rounds; Chromium without a graphics card, 1,280 x 800 pixels; {machine}, "
    "load average {load}.",
)
def map_view(run: Run, rounds: int = 3, units: tuple[int, ...] = SIZES) -> Iterator[Row]:
    """Measure the first picture of a map, and frames per second while it moves."""
    try:
        build_component()
    except pytest.skip.Exception as reason:
        raise click.ClickException(str(reason)) from reason
    for each in units:
        yield from median_rows([measure(each) for _ in range(rounds)], "units a storey")
