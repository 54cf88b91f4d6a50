"""What a call costs, in times of a fixed piece of work: the same on slow and on busy machines."""

import gc
import json
import time
from collections.abc import Callable

TRIES = 3
"""The cheapest counts: what is too dear is so each time; what else the machine does is not."""


def measure_cost(call: Callable[[], object]) -> float:
    """Return the CPU time of `call` in times of `work`, without collections of garbage.

    What other tests left on the heap makes a collection cost more than the code under test.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return min(measure_cpu_time(call) / measure_cpu_time(work) for _ in range(TRIES))
    finally:
        if collects:
            gc.enable()


def measure_cpu_time(call: Callable[[], object]) -> float:
    """Return the seconds of CPU time that `call` takes in its thread."""
    started = time.thread_time()
    call()
    return time.thread_time() - started


def work() -> None:
    """Do what takes 5 ms of CPU time on the machine on which the limits were set."""
    json.loads(json.dumps([{"id": f"u{n}", "name": [n] * 5} for n in range(2_000)]))
