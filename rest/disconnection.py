"""Stop working for clients that have gone."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.types import Receive

from rest.request_body import ClientDisconnectedError

T = TypeVar("T")

WATCH_AFTER_SECONDS = 0.1
"""A shorter request is not watched: that would cost more than it could save."""


async def run_while_connected(work: Coroutine[Any, Any, T], receive: Receive) -> T:
    """Return what `work` returns; cancel it if the client closes the connection.

    Use it once the body has been read. Raises ClientDisconnectedError.
    """
    watch = _Watch(asyncio.current_task(), receive)
    timer = asyncio.get_running_loop().call_later(WATCH_AFTER_SECONDS, watch.start)
    try:
        return await work
    except asyncio.CancelledError:
        if watch.end_cancellation():
            raise ClientDisconnectedError from None
        raise
    finally:
        timer.cancel()
        watch.stop()


class _Watch:
    """Waits for the client to leave, and cancels a task then."""

    def __init__(self, work: asyncio.Task[Any] | None, receive: Receive) -> None:
        self._work = work
        self._earlier_cancellations = work.cancelling() if work else 0
        self._receive = receive
        self._task: asyncio.Task[None] | None = None
        self._is_disconnected = False

    def start(self) -> None:
        """Begin to wait."""
        self._task = asyncio.create_task(self._wait())

    def stop(self) -> None:
        """End to wait."""
        if self._task is not None:
            self._task.cancel()

    def end_cancellation(self) -> bool:
        """Return whether the work was cancelled by nothing else."""
        if not self._is_disconnected or self._work is None:
            return False
        return self._work.uncancel() <= self._earlier_cancellations

    async def _wait(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._is_disconnected = True
        if self._work is not None:
            self._work.cancel()
