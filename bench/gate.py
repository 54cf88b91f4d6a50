"""`make bench-gate`: fail if a shape takes more CPU time than in an earlier revision.

A shape is a workload with the cache off or on; those of 10,000 units are left out, and assignments
and the mix come in addition. Gateways of both revisions run at the same time with the same
packages, each on a database of its own. They get the same requests in batches of about 40 ms of CPU
time, in the order base, new, new, base, in every other round the other way round. A round gives one
ratio of CPU times for each shape; after some rounds all gateways are started anew, because two
processes of the same code may differ by 3 %, from where their memory happens to be.

Each ratio compares CPU time of both revisions within one round, so that what slows the machine down
slows both. The median of a shape's ratios lies in an interval of order statistics, whatever their
distribution is: it is over the k-th smallest of n with the probability that of n tosses of a coin
at least k are heads. Of 24 rounds, that is between the 6th smallest and the 6th largest, with a
certainty of 99 %. A shape is worse if the whole interval is over `MAX_RATIO`, and again is with
other processes.

CPU time is what the kernel counts for all threads of the gateway. Instructions of the processor
would depend less on the load of the machine, but a virtual machine often has no counters of them
(`perf stat` says "not supported"), and under valgrind they are no steadier: as Motor reads in
threads of its own, the same ten requests took from 20 to 38 million.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import cycle, islice
from math import comb
from pathlib import Path
from statistics import median
from typing import NamedTuple

import click
import msgspec

from bench.data.directory import Directory
from bench.data.workloads import MIX, WORKLOADS, WRITES, Workload
from bench.harness import start_run, with_progress
from bench.load import machine
from bench.load.generator import LoadGenerator, LoadOrder
from bench.load.servers import CHECKOUT, PeerServer, start_peer
from bench.peers.peer import CACHED, UNCACHED, Peer
from bench.report import ReportTable, print_tables
from tools.revisions import extract_revision

PIPED_COLUMNS = 120


# The shapes

TOO_LONG = ("units-10000", "graphql-units-10000")
"""These repeat what 1,000 units show, ten times; they are left out to save time."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of request to a kind of gateway."""

    workload: Workload
    peer: Peer

    @property
    def name(self) -> str:
        """Return the name on the command line and in the table."""
        return f"{self.workload.name}, cache {'on' if self.peer is CACHED else 'off'}"


SHAPES = tuple(
    Shape(workload, peer)
    for peer in (UNCACHED, CACHED)
    for workload in (*WORKLOADS, WRITES, MIX)
    if workload.name not in TOO_LONG
)


# When ratios show that a shape became worse

MAX_RATIO = 1.03
"""Two processes of the same code may differ by as much, from where their memory happens to be."""
MAX_ERROR = 0.005
"""Probability that the median is below the lower end, and that it is above the upper one."""
MIN_ROUNDS = 8
"""The fewest rounds: with fewer, not even the extremes are so certain, as 1 / 2 ** 8 is below
`MAX_ERROR`."""


class Interval(NamedTuple):
    """A median and the interval that it lies in."""

    lower: float
    median: float
    upper: float

    @property
    def is_worse(self) -> bool:
        """Return whether the ratio is over what noise explains."""
        return self.lower > MAX_RATIO

    @property
    def is_better(self) -> bool:
        """Return whether the ratio is below what noise explains."""
        return self.upper < 1 / MAX_RATIO


def find_interval(ratios: Sequence[float]) -> Interval:
    """Return the interval of the median of at least `MIN_ROUNDS` ratios.

    >>> find_interval([1.01, 1.02, 0.98, 1.0, 0.99, 1.05, 1.0, 0.97])
    Interval(lower=0.97, median=1.0, upper=1.05)
    """
    ordered = sorted(ratios)
    skipped = _count_outside(len(ordered))
    return Interval(ordered[skipped], median(ordered), ordered[-1 - skipped])


def _count_outside(count: int) -> int:
    """Return how many ratios may lie on each side of the interval."""
    if count < MIN_ROUNDS:
        raise ValueError(f"{count} ratios are too few, at least {MIN_ROUNDS} are needed")
    error, outside = 0.0, -1
    while (error := error + comb(count, outside + 1) / 2**count) <= MAX_ERROR:
        outside += 1
    return outside


# The files of the revision to compare with, which has the same packages

MAIN_BRANCH = "main"


def find_previous() -> str:
    """Return where this branch left `main`, or on `main` itself the commit before this one."""
    base = _run_git("merge-base", "HEAD", MAIN_BRANCH)
    return "HEAD~1" if base in ("", _run_git("rev-parse", "HEAD")) else base


def describe_revision(revision: str) -> str:
    """Return a short id and the subject of a revision."""
    return _run_git("log", "-1", "--format=%h %s", revision)


def _run_git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=CHECKOUT, capture_output=True, text=True)
    return done.stdout.strip()


# The same requests in turn, at the same time

BATCH_CPU_SECONDS = 0.04
"""A batch of requests takes about this: more than a garbage collection, less than a change of the
load."""
BATCH_LIMITS = 60.0, 4
"""The seconds that a batch may take, and its connections."""
WARM_UP_REQUESTS = 20


class Side(NamedTuple):
    """A revision, with a database of its own: its writes must not be work for the other one."""

    checkout: Path
    directory: Directory


@dataclass(frozen=True, slots=True)
class _Batches:
    """Requests of a shape to one side, so many at a time."""

    server: PeerServer
    order: LoadOrder
    size: int = WARM_UP_REQUESTS

    def measure(self, load: LoadGenerator, number: int) -> float:
        """Send the requests of a batch; return the CPU seconds of the server."""
        first = number * self.size
        requests = [*islice(cycle(self.order.requests), first, first + self.size)]
        order = msgspec.structs.replace(self.order, requests=requests, max_requests=self.size)
        return self.server.run(load, order).cpu_seconds


def compare_sides(
    sides: Sequence[Side],
    shapes: Sequence[Shape],
    rounds: int,
    load: LoadGenerator,
    *,
    is_reversed: bool,
) -> Iterator[dict[str, float]]:
    """Yield, for each round, the CPU of the second side over that of the first, by shape.

    In a round each shape has four batches: first, second, second, first, and in every other round
    the other way round. `is_reversed` starts the second side first. Raises PeerError and LoadError.
    """
    with ExitStack() as stack:
        order = (1, 0) if is_reversed else (0, 1)
        started = {at: stack.enter_context(_start_gateways(sides[at], shapes)) for at in order}
        batches = {
            shape.name: [
                _Batches(server, server.build_order(shape.workload, *BATCH_LIMITS))
                for at in range(len(sides))
                for server in [started[at][shape.peer.name]]
            ]
            for shape in shapes
        }
        sized = {name: _size_batches(pair, load) for name, pair in batches.items()}
        for number in range(rounds):
            yield {name: _compare(pair, load, number) for name, pair in sized.items()}


@contextmanager
def _start_gateways(side: Side, shapes: Sequence[Shape]) -> Iterator[Mapping[str, PeerServer]]:
    with ExitStack() as stack:
        peers = {shape.peer.name: shape.peer for shape in shapes}
        yield {
            name: stack.enter_context(start_peer(_at(peer, side.checkout), side.directory))
            for name, peer in peers.items()
        }


def _at(peer: Peer, checkout: Path) -> Peer:
    """Return the peer with the code of a checkout, and the same order of sets in each process."""
    settings = {**peer.settings, "PYTHONPATH": str(checkout), "PYTHONHASHSEED": "0"}
    return replace(peer, settings=settings, checkout=checkout)


def _size_batches(pair: Sequence[_Batches], load: LoadGenerator) -> list[_Batches]:
    """Return batches of as many requests as take about `BATCH_CPU_SECONDS`."""
    for number in range(2):
        used = [batches.measure(load, number) for batches in pair]
    size = max(1, round(WARM_UP_REQUESTS * BATCH_CPU_SECONDS / max(used)))
    return [replace(batches, size=size) for batches in pair]


def _compare(pair: Sequence[_Batches], load: LoadGenerator, round: int) -> float:
    used = [0.0, 0.0]
    for at, side in enumerate((0, 1, 1, 0) if round % 2 == 0 else (1, 0, 0, 1)):
        used[side] += pair[side].measure(load, 2 * round + at // 2)
    return used[1] / used[0]


def find_intervals(
    sides: Sequence[Side],
    shapes: Sequence[Shape],
    starts: int,
    rounds: int,
    load: LoadGenerator,
) -> dict[str, Interval]:
    """Return the interval of each shape, from processes of their own."""
    steps = (
        ratios
        for start in range(starts)
        for ratios in compare_sides(sides, shapes, rounds, load, is_reversed=start % 2 == 1)
    )
    ratios = [*with_progress(steps, "Comparing", starts * rounds)]
    return {shape.name: find_interval([each[shape.name] for each in ratios]) for shape in shapes}


def build_table(
    title: str, found: Mapping[str, Interval], again: Mapping[str, Interval]
) -> ReportTable:
    """Return a row for each shape, the worst first."""
    return ReportTable(
        f"Server CPU per request, as a multiple of {title}",
        ("", "median", "interval", "measured again", ""),
        [
            (
                name,
                f"{interval.median:.3f}",
                _format(interval),
                _format(again[name]) if name in again else "",
                _judge(interval, again.get(name)),
            )
            for name, interval in sorted(found.items(), key=lambda item: -item[1].median)
        ],
        note=f"Load average {machine.load_average():.1f}.",
    )


def _format(interval: Interval) -> str:
    return f"{interval.lower:.3f} to {interval.upper:.3f}"


def _judge(first: Interval, second: Interval | None) -> str:
    if second is not None:
        return "worse" if second.is_worse else "not confirmed"
    return "better" if first.is_better else ""


@click.command()
@click.argument("revision", required=False)
@click.option("--self", "is_self", is_flag=True, help="Compare this checkout with itself.")
@click.option("--starts", type=click.IntRange(1), default=3, show_default=True)
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    help="Rounds after each start of all gateways.",
)
@click.option("--units", type=click.IntRange(1_000), default=5_000, show_default=True)
@click.option("--only", "names", multiple=True, help="Only shapes with this text in their name.")
def main(
    revision: str | None,
    is_self: bool,
    starts: int,
    rounds: int,
    units: int,
    names: tuple[str, ...],
) -> None:
    """Compare this checkout with REVISION, by default where its branch left main (else HEAD~1)."""
    shapes = [shape for shape in SHAPES if not names or any(name in shape.name for name in names)]
    if not shapes:
        raise click.UsageError(f"--only: there are {'; '.join(shape.name for shape in SHAPES)}")
    if starts * rounds < MIN_ROUNDS:
        raise click.UsageError(f"--starts times --rounds must be {MIN_ROUNDS} at least")
    revision = revision or find_previous()
    title = "this checkout" if is_self else describe_revision(revision)
    with start_run() as run:
        base = CHECKOUT if is_self else extract_revision(revision, run.scratch / "base")
        sides = [
            Side(checkout, run.load_directory(units, name=name))
            for name, checkout in (("of_base", base), ("of_new", CHECKOUT))
        ]
        found = find_intervals(sides, shapes, starts, rounds, run.load)
        suspects = [shape for shape in shapes if found[shape.name].is_worse]
        again = find_intervals(sides, suspects, starts, rounds, run.load) if suspects else {}
    print_tables([build_table(title, found, again)], PIPED_COLUMNS)
    worse = [name for name, interval in again.items() if interval.is_worse]
    click.echo(f"Worse: {'; '.join(worse) or 'none'}")
    sys.exit(bool(worse))


if __name__ == "__main__":
    main()
