"""A run's figures as tables, as the chart, and in the pages that show them."""

import sys
from collections.abc import Callable, Sequence
from statistics import median

from rich.console import Console

from bench import chart, pages, staleness, targets
from bench.peers.by_hand import BY_HAND
from bench.peers.floorgate import CACHED, UNCACHED
from bench.peers.raw import RAW
from bench.rates import Sample
from bench.results import Results, Spread
from bench.shapes import LIST, NESTED, NOT_MODIFIED, SHAPES, UNIT, Shape
from bench.sheets import NOTHING, Sheet, figure

PIPED_COLUMNS = 160
CHARTED = (UNIT, LIST, NESTED, NOT_MODIFIED)
COLOURS = {UNCACHED.name: chart.OWN, CACHED.name: chart.OWN} | dict.fromkeys(
    (BY_HAND.name, RAW.name), chart.LIMIT
)
PICTURE = (
    f"![Server CPU per request of every peer](pictures/{pages.CHART.name})\n\n"
    "Floorgate is green, what a user would pick instead orange, the limits are grey; the scale is "
    "logarithmic."
)
SATURATED = 0.9
"""The share of its core below which a server was not what bounded its rate."""


def show(results: Results) -> None:
    """Every table on a terminal."""
    console = Console(width=None if sys.stdout.isatty() else PIPED_COLUMNS)
    for sheet in sheets(results):
        console.print(sheet.table())
    for line in results.left_out:
        console.print(line)


def write(results: Results) -> None:
    """Every table and the chart into the documentation. Raises MissingMarkers."""
    ratios, *others = sheets(results)
    shown = f"{ratios.markdown()}\n\n{_conditions(results)}"
    pages.rewrite(pages.PERFORMANCE, "ratios", f"{shown}\n\n{PICTURE}")
    details = [f"### {sheet.title}\n\n{sheet.markdown()}" for sheet in others]
    pages.rewrite(pages.PERFORMANCE, "details", "\n\n".join([*details, *results.left_out]))
    pages.CHART.write_text(chart.draw(charted(results)))


def sheets(results: Results) -> list[Sheet]:
    """The ratios first, then what they come from."""
    made = [
        targets.sheet(results),
        targets.wins(results),
        _by_shape(results, "Server CPU, ms per request", lambda x: x.cpu_ms),
        _by_shape(results, "Requests per second at saturation", _rate, _UNSATURATED),
        _latencies(results),
        _by_shape(results, "CPU of mongod, ms per request", lambda x: x.mongod_cpu_ms),
        _memory(results),
        _starts(results),
    ]
    return [*made, staleness.sheet(results.staleness)] if results.staleness else made


_UNSATURATED = (
    "* the server used less than 90 % of its core: MongoDB, the load or another program was the "
    "bound."
)


def _rate(sample: Sample) -> float:
    return sample.requests_per_second


def _by_shape(
    results: Results, title: str, value: Callable[[Sample], float], mark: str = ""
) -> Sheet:
    def cell(samples: list[Sample]) -> str:
        shown = figure(median(value(each) for each in samples))
        is_marked = mark and median(each.busy for each in samples) < SATURATED
        return f"{shown}*" if is_marked else shown

    return _cells(results, title, cell, mark)


def _latencies(results: Results) -> Sheet:
    def cell(samples: list[Sample]) -> str:
        p50 = median(each.p50_ms for each in samples)
        p99 = median(each.p99_ms for each in samples)
        return f"{figure(p50)} / {figure(p99)}"

    return _cells(results, "p50 / p99 in ms at half of the peer's own saturation", cell)


def _cells(
    results: Results, title: str, cell: Callable[[list[Sample]], str], note: str = ""
) -> Sheet:
    rows = [
        [
            shape.title,
            *(
                cell(samples) if (samples := results.of(shape.name, peer)) else NOTHING
                for peer in results.titles
            ),
        ]
        for shape in measured(results)
    ]
    return Sheet(title, ("", *results.titles.values()), rows, note=note)


def measured(results: Results) -> list[Shape]:
    """The shapes that took part."""
    names = {each.shape for each in results.samples}
    return [shape for shape in SHAPES if shape.name in names]


def _memory(results: Results) -> Sheet:
    rows = [
        (
            results.titles.get(each.process, each.process),
            *(
                f"{figures[kind]:.0f}"
                for figures in (each.idle, each.after)
                for kind in ("rss", "pss")
            ),
        )
        for each in results.memory
    ]
    return Sheet(
        "Resident memory in MB, idle and after the runs",
        ("", "RSS idle", "PSS idle", "RSS after", "PSS after"),
        rows,
    )


def _starts(results: Results) -> Sheet:
    rows = []
    if results.starts:
        rows.append(
            (
                str(len(results.starts)),
                f"{median(each.seconds for each in results.starts):.2f}",
                f"{median(each.cpu_seconds for each in results.starts):.2f}",
            )
        )
    return Sheet(
        "`floorgate serve` to its ready line",
        ("starts", "seconds, mongod included", "CPU seconds of the gateway"),
        rows,
    )


def charted(results: Results) -> list[chart.Group]:
    """A few shapes, the quickest peer first."""
    titles = {shape.name: shape.title for shape in SHAPES}
    return [
        chart.Group(f"{titles[shape]}: server CPU ms per request", bars)
        for shape in CHARTED
        if (bars := _bars(results, shape))
    ]


def _bars(results: Results, shape: str) -> Sequence[chart.Bar]:
    bars = [
        chart.Bar(
            title,
            # CPU time is read in steps of 10 ms; a bar needs some length.
            max(median(each.cpu_ms for each in samples), 0.001),
            COLOURS.get(peer, chart.OTHER),
        )
        for peer, title in results.titles.items()
        if (samples := results.of(shape, peer))
    ]
    return sorted(bars, key=lambda bar: bar.cpu_ms)


def _conditions(results: Results) -> str:
    busy = Spread.of(each.load_average for each in results.samples)
    machine = results.machine
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    return (
        f"Taken {results.taken_at} on {machine['processor']}, {machine['cores']} cores, load "
        f"average {busy.least:.1f} to {busy.most:.1f}; {results.units:,} units; medians of "
        f"{results.rounds} interleaved rounds of {results.seconds:g} s. Python "
        f"{machine['python']}, {packages}."
    )
