"""Background tasks that use the MongoDB driver."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

CANCEL_RETRY_SECONDS = 0.1


@asynccontextmanager
async def run_in_background(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run a coroutine as a task while the context lasts, then cancel it and wait for its end."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        await cancel_and_wait(task)


async def cancel_and_wait(task: asyncio.Task[Any]) -> None:
    """Cancel a task and wait until it has ended. Its result or exception is discarded.

    The cancellation is repeated, because PyMongo's asyncio client swallows one that arrives while
    it waits for a server.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=CANCEL_RETRY_SECONDS)
    if not task.cancelled():
        task.exception()  # else asyncio logs that it was never retrieved
