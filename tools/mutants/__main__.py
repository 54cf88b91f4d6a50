"""Plant faults at random places of the product, and print those that no test notices.

    make mutants COUNT=200 SEED=1

The tests of `make test` run once with probes, which note the tests that reach each place. Then each
fault is tried: the tests of its place run until one fails, or until the time for it is used up. A
test that also fails without the fault counts as nothing. All of this happens in copies of the
checkout. What is in the directory `--work` is not done again: the places, the reach, the results.
"""

import os
import shlex
import shutil
import tempfile
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

import click
import msgspec
from msgspec import Struct
from pymongo import MongoClient

from storage.embedded.embedded_mongo import run_embedded_mongo
from tools.mutants import probe
from tools.mutants.copies import Copy
from tools.mutants.places import KINDS, PACKAGES, Place, choose_places
from tools.mutants.reach import PROBE, Reach, add_probes, order_tests, read_reach

T = TypeVar("T")
ROOT = Path(__file__).parents[2]
MEMORY = Path("/dev/shm")
FORGET_QUICKLY = {"minSnapshotHistoryWindowInSeconds": 120, "syncdelay": 5}
"""Parameters of mongod: else it keeps the files of dropped databases open for five minutes."""


class Result(Struct):
    """Tells the end of a fault: caught, hung, survived, gone (not in this version) or unclear."""

    outcome: str
    tests: int
    """Counts the functions of the tests that were to run."""
    by: list[str] = []
    """The tests that caught it."""
    unstable: list[str] = []
    """The tests that failed without the fault too."""


def find_reach(checkout: Path, scratch: Path, places: list[Place], selection: list[str]) -> Reach:
    """Run the suite once, with probes."""
    copy = Copy(checkout, scratch / "probed")
    add_probes(copy.root, places)
    shutil.copy(probe.__file__, copy.packages / f"{PROBE}.py")
    (copy.packages / probe.HITS.name).mkdir()
    copy.pytest("-n", "2", "--dist", "loadgroup", "-p", PROBE, *selection)
    return read_reach(copy.packages)


class Trials:
    """Tries faults, each in a copy that no other trial uses meanwhile."""

    def __init__(
        self, copies: list[Copy], reach: Reach, limit_seconds: float, selection: list[str]
    ) -> None:
        self.reach, self.limit_seconds, self.selection = reach, limit_seconds, selection
        self.free_copies = SimpleQueue[Copy]()
        for copy in copies:
            self.free_copies.put(copy)

    def attempt(self, number: int, place: Place) -> Result:
        """Run the tests of a place until one fails with the fault, and passes without it."""
        copy = self.free_copies.get()
        try:
            stages = order_tests(place, number, self.reach, self.limit_seconds)
            result = Result("survived", sum(map(len, stages)))
            for tests in stages:
                while tests and result.outcome == "survived":
                    tests = self._run(copy, place, tests, result)
            return result
        finally:
            self.free_copies.put(copy)

    def _run(self, copy: Copy, place: Place, tests: list[str], result: Result) -> list[str]:
        """Run tests with the fault; return those that are still to run."""
        with copy.planted(place) as is_planted:
            if not is_planted:
                result.outcome = "gone"
                return []
            status, failed = self._pytest(copy, tests)
        if status in (0, 5):  # all passed, or all are left out of the selection
            return []
        known = [test for test in tests if test in failed]
        if self._pytest(copy, known or tests)[0] == 0:
            result.outcome, result.by = "hung" if status is None else "caught", known
        elif known:
            result.unstable += known
            return [test for test in tests if test not in failed]
        else:
            result.outcome = "unclear"
        return []

    def _pytest(self, copy: Copy, tests: list[str]) -> tuple[int | None, set[str]]:
        names = copy.root.with_suffix(".tests")
        names.write_text("\n".join(tests))
        seconds = 90 + 4 * sum(self.reach.seconds[test] for test in tests)
        return copy.pytest("-x", *self.selection, f"@{names}", seconds=seconds)


@contextmanager
def mongod(scratch: Path) -> Iterator[None]:
    """Run a mongod that all trials use, as FLOORGATE_TEST_MONGO_URL says."""
    with run_embedded_mongo(scratch) as url:
        with MongoClient[dict[str, Any]](url) as client:
            for name, value in FORGET_QUICKLY.items():
                client.admin.command({"setParameter": 1, name: value})
        os.environ["FLOORGATE_TEST_MONGO_URL"] = url
        yield


def report(places: list[Place], results: dict[int, Result]) -> Iterator[str]:
    """Yield the faults that survived, and the share caught by package."""
    for number, result in sorted(results.items()):
        if result.outcome in ("survived", "unclear"):
            place = places[number]
            yield f"{place.file}:{place.line} {result.outcome} {result.tests} tests"
            yield textwrap.indent(place.lines.rstrip("\n"), "- ", lambda _: True)
            yield textwrap.indent(place.faulty().rstrip("\n"), "+ ", lambda _: True)
    tried, caught = Counter[str](), Counter[str]()
    for number, result in results.items():
        if result.outcome in ("survived", "caught", "hung"):
            for row in (places[number].file.partition("/")[0], places[number].kind, "all"):
                tried[row] += 1
                caught[row] += result.outcome != "survived"
    for row in (*PACKAGES, *KINDS, "all"):
        if tried[row]:
            yield f"{row:12}{caught[row]:4} of {tried[row]:4} caught{caught[row] / tried[row]:7.1%}"


def load_or_make(file: Path, kind: type[T], make: Callable[[], T]) -> T:
    """Return what a file has, or make and save it."""
    if not file.exists():
        save(file, make())
    return msgspec.json.decode(file.read_bytes(), type=kind)


def save(file: Path, value: object) -> None:
    """Write a file whole, or not at all."""
    new = file.with_suffix(".new")
    new.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=1))
    new.replace(file)


@click.command(help=__doc__)
@click.option("--count", default=200, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--jobs", default=2, show_default=True, help="Faults tried at a time.")
@click.option("--limit-seconds", default=40.0, show_default=True, help="Time of tests for a fault.")
@click.option("--selection", default='-m "not slow"', help="Options of pytest.", show_default=True)
@click.option("--checkout", default=ROOT, type=click.Path(file_okay=False, path_type=Path))
@click.option("--work", type=click.Path(file_okay=False, path_type=Path), help="Kept, and resumed.")
def main(
    count: int,
    seed: int,
    jobs: int,
    limit_seconds: float,
    selection: str,
    checkout: Path,
    work: Path | None,
) -> None:
    """Try the faults, and report."""
    with ExitStack() as stack:
        parent = MEMORY if MEMORY.is_dir() else None
        temporary = tempfile.TemporaryDirectory(prefix="mutants-", dir=parent)
        scratch = Path(stack.enter_context(temporary))
        work = work or scratch / "work"
        work.mkdir(parents=True, exist_ok=True)
        places = load_or_make(
            work / "places.json", list[Place], lambda: choose_places(checkout, count, seed)
        )
        options = shlex.split(selection)
        reach = load_or_make(
            work / "reach.json", Reach, lambda: find_reach(checkout, scratch, places, options)
        )
        results = load_or_make(work / "results.json", dict[int, Result], dict)
        pending = [number for number in range(len(places)) if number not in results]
        if pending:
            stack.enter_context(mongod(scratch))
            copies = [Copy(checkout, scratch / f"copy{job}") for job in range(jobs)]
            trials = Trials(copies, reach, limit_seconds, options)
            pool = stack.enter_context(ThreadPoolExecutor(jobs))
            running = {pool.submit(trials.attempt, n, places[n]): n for n in pending}
            for future in as_completed(running):
                number = running[future]
                results[number] = future.result()
                save(work / "results.json", results)
                place, result = places[number], results[number]
                click.echo(
                    f"{len(results)}/{len(places)} {place.file}:{place.line} {place.kind} "
                    f"{result.outcome} {' '.join(result.by)}"
                )
        click.echo("\n".join(report(places, results)))


if __name__ == "__main__":
    main()
