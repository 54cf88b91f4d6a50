"""Trying the plans of seeds, and making those that fail as small as they can be."""

import itertools
import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from bench.soak import ProcessSample, read_process
from tests.faults.checking.verdict import Verdict, describe
from tests.faults.simulation.plan import draw
from tests.faults.simulation.play import Bounds, Site, open_site

TRIES = 2
"""Runs of a part of a plan, of which one has to fail: each run takes other times."""
_held = ExitStack()
_sites: list[Site] = []


class Outcome(NamedTuple):
    """What the plan of a seed has shown, and which of its events are enough for that."""

    seed: int
    verdict: Verdict
    numbers: Sequence[int]
    process: tuple[int, ProcessSample] | None = None
    """The worker that has played it, and what that held afterwards."""

    def describe(self) -> Iterator[str]:
        """Say what failed, with the command that fails again."""
        plan = draw(self.seed)
        yield f"seed {self.seed} failed:"
        yield from (f"  {line}" for line in describe(self.verdict.violations))
        if len(self.numbers) == len(plan):
            yield "no part of it failed again; the whole plan:"
            only = "all"
        else:
            yield "enough for that:"
            yield from (f"  {number}. {plan[number]}" for number in self.numbers)
            only = ",".join(map(str, self.numbers))
        yield f"python -m tests.faults.simulation --seed {self.seed} --only {only}"


def shrink(numbers: Sequence[int], fails: Callable[[Sequence[int]], bool]) -> Sequence[int]:
    """Return numbers of events that still fail, and of which none can be left out.

    This is delta debugging (Zeller and Hildebrandt, 2002).

    >>> shrink(range(20), lambda numbers: {3, 11} <= {*numbers})
    [3, 11]
    """
    numbers, parts = [*numbers], 2
    while len(numbers) > 1:
        size = -(-len(numbers) // parts)
        starts = range(0, len(numbers), size)
        rests = ([*numbers[:start], *numbers[start + size :]] for start in starts)
        smaller = next((rest for rest in rests if rest and fails(rest)), None)
        if smaller is not None:
            numbers, parts = smaller, max(parts - 1, 2)
        elif size == 1:
            break
        else:
            parts = min(2 * parts, len(numbers))
    return numbers


def try_seed(
    site: Site, seed: int, numbers: Sequence[int], bounds: Bounds, shrink_seconds: float
) -> Outcome:
    """Play events of the plan of a seed; if they fail, find those that are enough."""
    plan = draw(seed)

    def play(numbers: Sequence[int]) -> Verdict:
        return site.play([plan[number] for number in numbers], bounds)

    verdict, deadline = play(numbers), time.monotonic() + shrink_seconds

    def fails(numbers: Sequence[int]) -> bool:
        tries = (play(numbers) for _ in range(TRIES) if time.monotonic() < deadline)
        return any(each.violations for each in tries)

    return Outcome(seed, verdict, shrink(numbers, fails) if verdict.violations else numbers)


def open_worker(directory: str) -> None:
    """Start the mongod of a worker, which ends with it."""
    _sites.append(_held.enter_context(open_site(Path(mkdtemp(dir=directory)))))
    logging.disable(logging.WARNING)
    logging.lastResort = None


def try_in_worker(seed: int, shrink_seconds: float) -> Outcome:
    """Try the plan of a seed in a worker."""
    outcome = try_seed(_sites[0], seed, range(len(draw(seed))), Bounds(), shrink_seconds)
    return outcome._replace(process=(os.getpid(), read_process(os.getpid())))


def try_seeds(
    seeds: Iterator[int], workers: int, directory: str, shrink_seconds: float
) -> Iterator[Outcome]:
    """Try seeds until there are no more, some at a time."""
    start = get_context("spawn"), open_worker, (directory,)
    with ProcessPoolExecutor(workers, *start) as pool:
        running = set[Future[Outcome]]()
        while True:
            for seed in itertools.islice(seeds, workers - len(running)):
                running.add(pool.submit(try_in_worker, seed, shrink_seconds))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (each.result() for each in done)
