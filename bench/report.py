"""Samples summed up: medians with their spread, ratios to a reference within each round."""

import sys
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any, NamedTuple

import msgspec
from rich.console import Console
from rich.table import Table

from bench.rates import Sample
from bench.shapes import Shape
from bench.starting import Start

PIPED_COLUMNS = 120


class Spread(NamedTuple):
    """A median and the range around it."""

    middle: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread":
        """Of at least one value."""
        found = sorted(values)
        return cls(median(found), found[0], found[-1])

    def shown(self) -> str:
        """`1.23 (1.20-1.31)`."""
        middle, least, most = (_shown(each) for each in self)
        return middle if least == most else f"{middle} ({least}-{most})"


def _shown(value: float) -> str:
    """With three digits or more."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Resident memory of one process in MB, idle and after the runs."""

    process: str
    idle: dict[str, float]
    after: dict[str, float]


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a run measured."""

    taken_at: str
    machine: dict[str, Any]
    units: int
    reference: str
    """The peer that the others are compared with."""
    samples: list[Sample]
    starts: list[Start]
    memory: list[Memory]


def ratios(samples: Sequence[Sample], shape: str, peer: str, reference: str) -> Spread:
    """CPU per request of a peer over that of the reference, round by round."""
    cpu_ms = {(each.peer, each.round): each.cpu_ms for each in samples if each.shape == shape}
    rounds = sorted({number for name, number in cpu_ms if name == peer})
    return Spread.of(cpu_ms[peer, each] / cpu_ms[reference, each] for each in rounds)


def show(results: Results, shapes: Sequence[Shape], titles: dict[str, str]) -> None:
    """Tables for a terminal."""
    console = Console(width=None if sys.stdout.isatty() else PIPED_COLUMNS)
    for table in (_rates(results, shapes, titles), _starts(results), _memory(results, titles)):
        console.print(table)


def _rates(results: Results, shapes: Sequence[Shape], titles: dict[str, str]) -> Table:
    table = Table(title="One worker on one core: medians of the rounds (least-most)")
    table.add_column("Shape")
    table.add_column("Peer")
    for name in ("CPU ms/request", "ratio", "mongod CPU ms", "requests/s", "p50 ms*", "p99 ms*"):
        table.add_column(name, justify="right")
    for shape in shapes:
        for peer, title in titles.items():
            found = [x for x in results.samples if (x.shape, x.peer) == (shape.name, peer)]
            table.add_row(
                shape.title,
                title,
                Spread.of(x.cpu_ms for x in found).shown(),
                ratios(results.samples, shape.name, peer, results.reference).shown(),
                Spread.of(x.mongod_cpu_ms for x in found).shown(),
                Spread.of(x.requests_per_second for x in found).shown(),
                Spread.of(x.p50_ms for x in found).shown(),
                Spread.of(x.p99_ms for x in found).shown(),
            )
        table.add_section()
    busy = Spread.of(x.load_average for x in results.samples).shown()
    table.caption = (
        f"* at half of the peer's own saturation. {results.units:,} units; load average of the "
        f"machine {busy} on {results.machine['cores']} cores: above them, trust CPU and ratios."
    )
    return table


def _starts(results: Results) -> Table:
    table = Table("Starts", title="`floorgate serve` to its ready line")
    for name in ("seconds, mongod included", "CPU seconds of the gateway"):
        table.add_column(name, justify="right")
    if results.starts:
        seconds = Spread.of(each.seconds for each in results.starts).shown()
        cpu_seconds = Spread.of(each.cpu_seconds for each in results.starts).shown()
        table.add_row(str(len(results.starts)), seconds, cpu_seconds)
    return table


def _memory(results: Results, titles: dict[str, str]) -> Table:
    table = Table("Process", title="Resident memory in MB")
    for name in ("RSS idle", "RSS after", "PSS idle", "PSS after"):
        table.add_column(name, justify="right")
    for each in results.memory:
        figures = (each.idle["rss"], each.after["rss"], each.idle["pss"], each.after["pss"])
        table.add_row(titles.get(each.process, each.process), *(f"{x:.1f}" for x in figures))
    return table
