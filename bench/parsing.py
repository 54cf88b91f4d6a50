"""How fast drawings are parsed, beside usvg (the Rust parser of resvg) and Python libraries."""

import importlib
import io
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from statistics import median
from typing import Any

import click

from bench.harness import Row, Run, experiment
from parsing.svg.unit_map import parse_unit_map
from samples.output.generated_drawings import draw_unit_map
from tests.fidelity.measuring import find_plans

Parse = Callable[[bytes], object]


Bind = Callable[[Any], Parse]
"""Returns the function of a module that parses a drawing."""


def _parse_by_force(svg: bytes) -> object:
    return parse_unit_map(svg, force=True)  # some plans are pictures


def _bind_usvg(resvg: Any) -> Parse:
    options = resvg.usvg.Options.default()
    return lambda svg: resvg.usvg.Tree.from_str(svg.decode(), options)


FLOORGATE = "Floorgate"
USVG = "usvg"
PEERS: dict[str, tuple[str, Bind]] = {
    FLOORGATE: ("parsing.svg.unit_map", lambda _: _parse_by_force),
    USVG: ("resvg", _bind_usvg),
    "CairoSVG": ("cairosvg.parser", lambda m: lambda svg: m.Tree(bytestring=svg)),
    "picosvg": ("picosvg.svg", lambda m: lambda svg: m.SVG.fromstring(svg).shapes()),
    "svglib": ("svglib.svglib", lambda m: lambda svg: m.svg2rlg(io.BytesIO(svg))),
    "svgpathtools": ("svgpathtools", lambda m: lambda svg: m.svgstr2paths(svg.decode())),
    "svgelements": ("svgelements", lambda m: lambda svg: m.SVG.parse(io.BytesIO(svg))),
}
"""Parsers by their names on tables: the module of each, and how it parses a drawing.

usvg is the parser of resvg, in Rust; the others are Python's.
"""
SIZES = (50, 500, 5_000)
MIN_SECONDS = 0.02
"""CPU seconds of one measurement; a faster parse is repeated."""
Figures = dict[str, float | None]
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


def load_parsers() -> dict[str, Parse]:
    """Return the parsers that are installed, and say of each other one why it is left out."""
    parsers = {}
    for name, (module, bind) in PEERS.items():
        try:
            parsers[name] = bind(importlib.import_module(module))
        except (ImportError, OSError) as error:  # OSError: a library that is not Python's
            click.echo(f"{name} is left out: {str(error).splitlines()[0]}", err=True)
    return parsers


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


@experiment(
    "CPU ms to parse a drawing",
    "Medians of {rounds} rounds on {machine}, load average {load}; Python {python}.",
)
def parsing(run: Run, rounds: int = 5, plans: int = 5) -> Iterator[Row]:
    """Compare the CPU time that parsers take, in one process and in turn.

    Unit maps of several sizes, and those real floor plans with the most elements that `python -m
    tests.fidelity --fetch` has downloaded. Floorgate also checks the drawing and writes the JSON.
    `make bench` installs all parsers but CairoSVG, which needs the library Cairo.
    """
    logging.disable()
    parsers = load_parsers()
    for name, svg in choose_drawings(plans).items():
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):  # some libraries print
            figures = measure(parsers, svg, rounds)
        own, usvg = figures[FLOORGATE], figures.get(USVG)
        ratio = own / usvg if own and usvg else None
        yield {"drawing": name, FLOORGATE: own, USVG: usvg, "times usvg": ratio} | figures
