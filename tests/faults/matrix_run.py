"""`make fault-matrix`: try all cells on several services, and fail if a promise is broken."""

import asyncio
import logging
import sys
import time
import traceback
import zlib
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from multiprocessing import get_context
from multiprocessing.queues import Queue
from pathlib import Path
from queue import Empty
from tempfile import TemporaryDirectory

import click
import httpx

from bench.report import ReportTable, rewrite_section
from tests.faults.__main__ import PAGE
from tests.faults.matrix import WAYS, Cell, Matrix, Verdict
from tests.faults.operations import list_operations
from tests.faults.service import DEADLINE_SECONDS, run_service_here
from tests.faults.wire import Fault, Wire
from tests.storage.mongo.replica_set_of_three import run_primary

REPRODUCE = "#how-a-cell-is-reproduced"
QUICK_SHARE = 10
"""One cell of so many is in the test suite."""
MEMORY = Path("/dev/shm")
"""MongoDB waits for the disk where it has one."""
_PROGRESS = 100
_LOOK_SECONDS = 10.0
"""Between looks whether the processes are alive."""
IsChosen = Callable[[Cell], bool]


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


async def try_cells(
    matrix: Matrix, is_chosen: IsChosen, share: int = 0, shares: int = 1
) -> AsyncIterator[Verdict]:
    """Yield what came of a share of the chosen cells."""
    for operation in list_operations():
        for cell in filter(is_chosen, await matrix.list_cells(operation)):
            if zlib.crc32(cell.name.encode()) % shares == share:
                try:
                    yield await matrix.try_cell(cell)
                except (httpx.HTTPError, TimeoutError) as error:
                    yield Verdict(cell.name, problems=[f"no answer: {type(error).__name__}"])


def run_share(
    verdicts: "Queue[Verdict | str]", patterns: Sequence[str], place: Path, share: int, shares: int
) -> None:
    """Try a share of the cells in this process, and put what came of them into the queue."""

    def is_chosen(cell: Cell) -> bool:
        return not patterns or any(fnmatchcase(cell.name, each) for each in patterns)

    async def run() -> None:
        async with open_matrix(place) as matrix:
            async for verdict in try_cells(matrix, is_chosen, share, shares):
                verdicts.put(verdict)

    logging.getLogger().setLevel(logging.CRITICAL)
    try:
        asyncio.run(run())
    except Exception as error:
        verdicts.put("".join(traceback.format_exception(error)))
    else:
        verdicts.put("")


def run_shares(patterns: Sequence[str], directory: Path, shares: int) -> Iterator[Verdict]:
    """Yield what came of all chosen cells, which as many processes try."""
    context = get_context("spawn")
    verdicts: Queue[Verdict | str] = context.Queue()
    processes = [
        context.Process(
            target=run_share, args=(verdicts, patterns, directory / str(share), share, shares)
        )
        for share in range(shares)
    ]
    for process in processes:
        process.start()
    running = shares
    while running:
        try:
            verdict = verdicts.get(timeout=_LOOK_SECONDS)
        except Empty:
            if any(process.exitcode for process in processes):
                verdict = "a process has died"
            else:
                continue
        if isinstance(verdict, Verdict):
            yield verdict
        else:
            running -= 1
            if verdict:
                yield Verdict("the matrix itself/-/-", problems=[verdict])
    for process in processes:
        process.join()


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
        for verdict in run_shares(only, Path(scratch), processes):
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
