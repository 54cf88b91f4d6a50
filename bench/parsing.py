"""Measure how fast drawings are parsed: `python -m bench.parsing`.

Unit maps of several sizes, and those real floor plans with the most elements that
`python -m tests.fidelity --fetch` has downloaded, are parsed by Floorgate, by usvg (the Rust parser
of resvg) and by Python libraries, in one process and in turn. Floorgate also checks the drawing and
writes the JSON.
"""

import logging
import time
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from statistics import median

import click
from rich.console import Console

from bench.data.unit_map_svg import draw_unit_map
from bench.load.machine import describe_machine, load_average
from bench.peers.parsers import FLOORGATE, PEERS, USVG, Parse
from bench.report import pages
from bench.report.tables import NO_VALUE, ReportTable, format_figure
from tests.fidelity.corpora import find_plans

SIZES = (50, 500, 5_000)
MIN_SECONDS = 0.02
"""CPU seconds of one measurement; a faster parse is repeated."""
Figures = Mapping[str, float | None]
"""CPU milliseconds by peer, None for one that cannot parse a drawing."""


def choose_drawings(plans: int) -> dict[str, bytes]:
    """Return drawings by name: unit maps, and the fullest plan of each of so many repositories."""
    drawings = {f"{units:,} units": draw_unit_map(units) for units in SIZES}
    drawings[f"{SIZES[-1]:,} units, classes"] = draw_unit_map(SIZES[-1], has_classes=True)
    fullest: dict[str, bytes] = {}
    texts = [(path.parent.name.replace("+", "/"), path.read_bytes()) for path in find_plans()]
    for repository, svg in sorted(texts, key=lambda each: -each[1].count(b"<")):
        if svg not in fullest.values():  # some repositories share their plans
            fullest.setdefault(repository, svg)
    for repository, svg in list(fullest.items())[:plans]:
        drawings[f"{repository}, {len(svg) / 1e6:.1f} MB"] = svg
    return drawings


def load_parsers() -> tuple[dict[str, Parse], list[str]]:
    """Return the parsers that are installed, and a sentence for each that is not."""
    parsers, left_out = {}, []
    for peer in PEERS:
        try:
            parsers[peer.name] = peer.load()
        except ImportError as error:
            left_out.append(f"{peer.name} is left out: {str(error).splitlines()[0]}")
    return parsers, left_out


def measure(parsers: Mapping[str, Parse], svg: bytes, rounds: int) -> Figures:
    """Return the median of each parser's CPU milliseconds; they take turns."""
    taken: dict[str, list[float]] = {name: [] for name in parsers}
    failed: set[str] = set()
    for _ in range(rounds):
        for name, parse in parsers.items():
            try:
                taken[name].append(0 if name in failed else _time_parse(parse, svg))
            except Exception:  # whatever a library raises for a drawing that it cannot parse
                failed.add(name)
    return {name: None if name in failed else 1000 * median(taken[name]) for name in parsers}


def _time_parse(parse: Parse, svg: bytes) -> float:
    calls, start = 0, time.process_time()
    while (seconds := time.process_time() - start) < MIN_SECONDS:
        parse(svg)
        calls += 1
    return seconds / calls


def build_table(measured: Mapping[str, Figures], parsers: Mapping[str, Parse]) -> ReportTable:
    """Return the table of milliseconds, with Floorgate's as multiples of usvg's."""
    others = [name for name in parsers if name not in (FLOORGATE, USVG)]
    rows = []
    for drawing, figures in measured.items():
        own, usvg = figures[FLOORGATE], figures.get(USVG)
        ratio = f"{own / usvg:.1f}" if own and usvg else NO_VALUE
        cells = [figures.get(name) for name in (FLOORGATE, USVG, *others)]
        shown = [NO_VALUE if cell is None else format_figure(cell) for cell in cells]
        rows.append([drawing, shown[0], shown[1], ratio, *shown[2:]])
    header = ["drawing", FLOORGATE, USVG, "times usvg", *others]
    return ReportTable("CPU ms to parse a drawing", header, rows)


@click.command()
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True)
@click.option("--plans", type=click.IntRange(0), default=5, show_default=True)
@click.option("--write-docs", is_flag=True, help="Write the table into docs/performance.md.")
def main(rounds: int, plans: int, write_docs: bool) -> None:
    """Compare the time that parsers take."""
    logging.disable()
    parsers, left_out = load_parsers()
    measured = {}
    for name, svg in choose_drawings(plans).items():
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):  # some libraries print
            measured[name] = measure(parsers, svg, rounds)
    table = build_table(measured, parsers)
    Console(width=160).print(table.to_rich_table())
    machine = describe_machine()
    note = (
        f"Medians of {rounds} rounds on {machine['processor']}, {machine['cores']} cores, "
        f"load average {load_average():.1f}; Python {machine['python']}."
    )
    for line in (note, *left_out):
        click.echo(line)
    if write_docs:
        content = "\n\n".join([table.to_markdown(), note, *left_out])
        pages.rewrite_section(pages.PERFORMANCE_PAGE, "parsing", content)


if __name__ == "__main__":
    main()
