"""`make bench-gate`: fail if a shape takes more CPU time than in an earlier revision.

Gateways of both revisions run at the same time, each on a database of its own, and get the same
requests in small batches, in turn.
"""

import signal
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.progress import track

from bench.data.directory import load_directory
from bench.gate.comparison import Side, compare_sides
from bench.gate.intervals import MIN_ROUNDS, Interval, find_interval
from bench.gate.revision import (
    RevisionError,
    describe_revision,
    extract_revision,
    find_previous,
)
from bench.gate.shapes import SHAPES, Shape
from bench.load import machine
from bench.load.generator import LoadError, LoadGenerator, start_load_generator
from bench.load.servers import CHECKOUT, PeerError
from bench.load.start_time import scratch_directory
from bench.report.tables import ReportTable
from storage.embedded import embedded_mongo

PIPED_COLUMNS = 120


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
    # Exiting by an exception lets context managers stop every gateway.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    shapes = [shape for shape in SHAPES if not names or any(name in shape.name for name in names)]
    if not shapes:
        raise click.UsageError(f"--only: there are {'; '.join(shape.name for shape in SHAPES)}")
    if starts * rounds < MIN_ROUNDS:
        raise click.UsageError(f"--starts times --rounds must be {MIN_ROUNDS} at least")
    revision = revision or find_previous()
    title = "this checkout" if is_self else describe_revision(revision)
    try:
        with (
            scratch_directory() as scratch,
            machine.pin_to_cores(machine.LOAD_CORE),
            embedded_mongo.run_embedded_mongo(scratch / "data") as mongo_url,
            start_load_generator() as load,
        ):
            base = CHECKOUT if is_self else extract_revision(revision, scratch / "base")
            sides = [
                Side(checkout, load_directory(mongo_url, name, units, _make(scratch / name)))
                for name, checkout in (("of_base", base), ("of_new", CHECKOUT))
            ]
            gate = _Gate(sides, starts, rounds, load)
            found = gate.compare(shapes, "Comparing")
            suspects = [shape for shape in shapes if found[shape.name].is_worse]
            again = gate.compare(suspects, "Comparing again") if suspects else {}
    except (PeerError, LoadError, RevisionError) as error:
        raise click.ClickException(str(error)) from error
    console = Console(width=None if sys.stdout.isatty() else PIPED_COLUMNS)
    console.print(build_table(title, found, again).to_rich_table())
    worse = find_worse(found, again)
    click.echo(f"Worse: {'; '.join(worse) or 'none'}")
    sys.exit(bool(worse))


@dataclass(frozen=True, slots=True)
class _Gate:
    """Two sides, and how to compare them."""

    sides: Sequence[Side]
    starts: int
    rounds: int
    load: LoadGenerator

    def compare(self, shapes: Sequence[Shape], what: str) -> dict[str, Interval]:
        """Return the interval of each shape, from processes of their own."""
        steps = (
            ratios
            for start in range(self.starts)
            for ratios in compare_sides(
                self.sides, shapes, self.rounds, self.load, is_reversed=start % 2 == 1
            )
        )
        ratios = _with_progress(steps, what, self.starts * self.rounds)
        return {shape.name: find_interval([r[shape.name] for r in ratios]) for shape in shapes}


def _with_progress(
    steps: Iterable[dict[str, float]], what: str, total: int
) -> list[dict[str, float]]:
    console, quiet = Console(stderr=True), not sys.stderr.isatty()
    return list(track(steps, what, total, console=console, transient=True, disable=quiet))


def _make(directory: Path) -> Path:
    directory.mkdir()
    return directory


def find_worse(found: dict[str, Interval], again: dict[str, Interval]) -> list[str]:
    """Return the shapes that were worse both times."""
    return [name for name in found if found[name].is_worse and again[name].is_worse]


def build_table(title: str, found: dict[str, Interval], again: dict[str, Interval]) -> ReportTable:
    """Return a row for each shape, the worst first."""
    rows = sorted(found.items(), key=lambda item: -item[1].median)
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
            for name, interval in rows
        ],
        note=f"Load average {machine.load_average():.1f}.",
    )


def _format(interval: Interval) -> str:
    return f"{interval.lower:.3f} to {interval.upper:.3f}"


def _judge(first: Interval, second: Interval | None) -> str:
    if second is not None:
        return "worse" if second.is_worse else "not confirmed"
    return "better" if first.is_better else ""


if __name__ == "__main__":
    main()
