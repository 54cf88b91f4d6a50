"""Measure how fast drawings are parsed, beside usvg, the parser of resvg in Rust."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

import click

from bench.harness import Row, Run, experiment
from parsing.svg.unit_map import parse_unit_map
from samples.output.generated_drawings import draw_unit_map
from tests.fidelity.measuring import find_plans

SIZES = (50, 500, 5_000)
MIN_SECONDS = 0.02
"""CPU seconds of one measurement; a faster parse is repeated."""


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


def time_parse(parse: Callable[[], object]) -> float:
    """Return the CPU milliseconds of a call."""
    calls, start = 0, time.process_time()
    while (seconds := time.process_time() - start) < MIN_SECONDS:
        parse()
        calls += 1
    return 1000 * seconds / calls


@experiment(
    "CPU ms to parse a drawing",
    "Medians of {rounds} rounds on {machine}, load average {load}; Python {python}.",
)
def parsing(run: Run, rounds: int = 5, plans: int = 5) -> Iterator[Row]:
    """Compare the CPU time that Floorgate and usvg take, in one process and in turn.

    Unit maps of several sizes, and those real floor plans with the most elements that `python -m
    tests.fidelity --fetch` has downloaded. Floorgate also checks the drawing and writes the JSON.
    """
    try:
        from resvg import usvg
    except ImportError as error:
        raise click.ClickException("resvg is absent; `make bench` installs it") from error
    options = usvg.Options.default()
    for name, svg in choose_drawings(plans).items():
        times = [
            (
                time_parse(partial(parse_unit_map, svg, force=True)),  # some are pictures
                time_parse(partial(usvg.Tree.from_str, svg.decode(), options)),
            )
            for _ in range(rounds)
        ]
        own, peer = map(median, zip(*times, strict=True))
        yield {"drawing": name, "Floorgate": own, "usvg": peer, "times usvg": own / peer}
