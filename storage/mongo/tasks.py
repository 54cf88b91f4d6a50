"""Ending background tasks that speak to MongoDB."""

import asyncio
from typing import Any

CANCEL_RETRY_SECONDS = 0.1


async def cancel_and_wait(task: asyncio.Task[Any]) -> None:
    """Cancels a task until it has ended; what it raised is nobody's concern any more.

    Once is not enough: PyMongo's asyncio client loses a cancellation that arrives while it waits
    for a server.
    """
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=CANCEL_RETRY_SECONDS)
    if not task.cancelled():
        task.exception()
