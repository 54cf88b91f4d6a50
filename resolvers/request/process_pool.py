"""Run CPU-heavy work in a pool of reusable processes."""

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

import anyio
import anyio.to_process

A = TypeVarTuple("A")
T = TypeVar("T")


async def run_in_process_pool(
    work: Callable[[*A], T], deadline_seconds: float, *arguments: *A
) -> T:
    """Return or raise what `work` returns or raises in another process.

    At most one call per core runs at a time; the others wait, within their deadlines. At the
    deadline, raises TimeoutError and kills the process.
    """
    with anyio.fail_after(deadline_seconds):
        try:
            return await anyio.to_process.run_sync(work, *arguments, cancellable=True)
        except anyio.BrokenWorkerProcess:
            # An idle process was killed from outside; a new one replaces it.
            return await anyio.to_process.run_sync(work, *arguments, cancellable=True)
