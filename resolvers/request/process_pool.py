"""Heavy work away from the event loop: in processes that are kept for the next piece of it."""

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

import anyio
import anyio.to_process

A = TypeVarTuple("A")
T = TypeVar("T")


async def run_in_process_pool(
    work: Callable[[*A], T], deadline_seconds: float, *arguments: *A
) -> T:
    """What `work` returns or raises, from another process.

    At most as many pieces run at a time as there are cores; others wait for their turn, within
    their deadline. Raises TimeoutError at the deadline, and then the process is ended.
    """
    with anyio.fail_after(deadline_seconds):
        try:
            return await anyio.to_process.run_sync(work, *arguments, cancellable=True)
        except anyio.BrokenWorkerProcess:
            # An idle process that somebody ended meanwhile; a new one takes its place.
            return await anyio.to_process.run_sync(work, *arguments, cancellable=True)
