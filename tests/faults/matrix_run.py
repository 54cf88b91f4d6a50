"""`make fault-matrix`: try all cells on several services, and fail if a promise is broken."""

import asyncio
import itertools
import logging
import sys
import time
import traceback
import zlib
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from multiprocessing import get_context
from multiprocessing.util import Finalize
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import click

from bench.report import ReportTable, rewrite_section
from tests.faults.__main__ import PAGE
from tests.faults.matrix import OPERATIONS, WAYS, Cell, Matrix, Verdict, parse_cell
from tests.faults.service import DEADLINE_SECONDS, run_service_here
from tests.faults.wire import Fault, Wire
from tests.storage.mongo.replica_set_of_three import run_primary

REPRODUCE = "#how-a-cell-is-reproduced"
QUICK_SHARE = 10
"""One cell of so many is in the test suite."""
MEMORY = Path("/dev/shm")
"""MongoDB waits for the disk where it has one."""
_PROGRESS = 100
_runner = asyncio.Runner()
_held = AsyncExitStack()
_matrices: list[Matrix] = []
"""A worker has one, once its service is open."""


def is_quick(cell: Cell) -> bool:
    """Return whether a cell is of the fixed tenth of those that are quick.

    They wait for no deadline, start no process, and need not wait for what a gateway does now and
    then.
    """
    if cell.operation.is_command or cell.operation.is_work:
        return False
    if cell.way.is_lasting or cell.way.fault in (Fault.LATE, Fault.HELD):
        return False
    return zlib.crc32(cell.name.encode()) % QUICK_SHARE == 0


@asynccontextmanager
async def open_matrix(
    directory: Path, deadline_seconds: int = DEADLINE_SECONDS
) -> AsyncIterator[Matrix]:
    """Start a service with a MongoDB of its own, and this deadline of requests."""
    directory.mkdir(parents=True, exist_ok=True)
    with (
        run_primary(directory / "mongod") as member,
        Wire(member).run() as wire,
        Wire(member).run() as command_wire,
    ):
        async with run_service_here(
            *(member, wire, command_wire, directory, deadline_seconds)
        ) as service:
            yield Matrix(service)


def open_worker(directory: str) -> None:
    """Start the service of a worker. It is ended before the worker waits for its processes."""
    logging.getLogger().setLevel(logging.CRITICAL)
    opening = _held.enter_async_context(open_matrix(Path(mkdtemp(dir=directory))))
    _matrices.append(_runner.run(opening))
    Finalize(None, lambda: _runner.run(_held.aclose()), exitpriority=1)


def list_in_worker(operation: str) -> list[str]:
    """Return the names of the cells of an operation."""
    cells = _runner.run(_matrices[0].list_cells(OPERATIONS[operation]))
    return [cell.name for cell in cells]


def try_in_worker(name: str) -> Verdict:
    """Try a cell in a worker."""
    try:
        return _runner.run(_matrices[0].try_cell(parse_cell(name)))
    except Exception as error:
        return Verdict(name, problems=["".join(traceback.format_exception(error))])


def try_cells(patterns: Sequence[str], directory: str, processes: int) -> Iterator[Verdict]:
    """Yield what came of all cells with such names, which as many processes try."""
    start = get_context("spawn"), open_worker, (directory,)
    with ProcessPoolExecutor(processes, *start) as pool:
        heads = [pattern.split("/")[0] for pattern in patterns]
        operations = [name for name in OPERATIONS if any(fnmatchcase(name, each) for each in heads)]
        names = itertools.chain.from_iterable(pool.map(list_in_worker, operations))
        chosen = [name for name in names if any(fnmatchcase(name, each) for each in patterns)]
        tries = [pool.submit(try_in_worker, name) for name in chosen]
        yield from (each.result() for each in as_completed(tries))


def build_table(verdicts: Sequence[Verdict]) -> ReportTable:
    """Return the table of the page: operations by ways, with the number of commands that failed."""
    tried: dict[str, Counter[str]] = defaultdict(Counter)
    broken: dict[str, Counter[str]] = defaultdict(Counter)
    for verdict in verdicts:
        operation, way, _ = verdict.cell.split("/", 2)
        if verdict.answer != "not met":
            tried[operation][way] += 1
            broken[operation][way] += bool(verdict.problems)
    names = [way.name for way in WAYS]

    def show(operation: str, way: str) -> str:
        number, bad = tried[operation][way], broken[operation][way]
        if not number:
            return "–"
        text = f"**{bad} of {number} broken**" if bad else str(number)
        return f'[{text}]({REPRODUCE} "ONLY={operation}/{way}/*")'

    rows = [(operation, *(show(operation, way) for way in names)) for operation in tried]
    totals = [sum(counts[way] for counts in tried.values()) for way in names]
    return ReportTable("Faults", ("operation", *names), [*rows, ("all", *map(str, totals))])


@click.command()
@click.option("--only", multiple=True, help="Only cells with such names; * stands for anything.")
@click.option("--processes", type=click.IntRange(1), default=3, show_default=True)
@click.option("--write-docs", is_flag=True, help="Write the table into docs/reliability.md.")
def main(only: tuple[str, ...], processes: int, write_docs: bool) -> None:
    """Let each command of each operation fail in each way; fail if a promise is broken."""
    began, verdicts = time.monotonic(), list[Verdict]()
    with TemporaryDirectory(
        prefix="floorgate-matrix-", dir=MEMORY if MEMORY.is_dir() else None
    ) as scratch:
        for verdict in try_cells(only or ("*",), scratch, processes):
            verdicts.append(verdict)
            if len(verdicts) % _PROGRESS == 0:
                click.echo(f"{len(verdicts):,} cells so far", err=True)
            if verdict.problems or only:
                click.echo(f"{verdict.cell}: {verdict.answer}, {verdict.seconds:.1f} s")
            for problem in verdict.problems:
                click.echo(f"  {problem[-1500:]}")
    minutes = (time.monotonic() - began) / 60
    met = [each for each in verdicts if each.answer != "not met"]
    broken = sum(bool(each.problems) for each in verdicts)
    answers = Counter(each.answer for each in met)
    summary = (
        f"{len(met):,} cells, {broken} broken, {answers['done']:,} times the operation was done all"
        f" the same, {answers['503']:,} times it was answered 503; {minutes:.0f} minutes."
    )
    click.echo(summary)
    if write_docs:
        rewrite_section(PAGE, "fault-matrix", build_table(verdicts).to_markdown())
        rewrite_section(PAGE, "fault-matrix-run", f"{datetime.now(UTC):%Y-%m-%d}: {summary}")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
