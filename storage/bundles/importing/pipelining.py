"""Overlapping the reading and writing of batches with the work on the one between."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing, suppress
from typing import Any, TypeVar

T = TypeVar("T")


async def read_ahead(batches: AsyncGenerator[T]) -> AsyncGenerator[T]:
    """Yield batches; each is read while the consumer works on the one before."""
    async with aclosing(batches):
        reading = asyncio.ensure_future(anext(batches, None))
        try:
            while (batch := await reading) is not None:
                reading = asyncio.ensure_future(anext(batches, None))
                await asyncio.sleep(0)  # let it begin: the consumer may not wait for anything
                yield batch
        finally:
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading


class PipelinedWriter:
    """Runs writes in the background: one at a time, or a few if their order does not matter."""

    def __init__(self, at_once: int = 1) -> None:
        self._at_once = at_once
        self._running: deque[asyncio.Task[None]] = deque()

    async def submit(self, write: Coroutine[Any, Any, None]) -> None:
        """Start a write once there is room for it. Raises the error of an earlier one."""
        try:
            while len(self._running) >= self._at_once:
                await self._running.popleft()
        except BaseException:
            write.close()
            raise
        self._running.append(asyncio.create_task(write))
        await asyncio.sleep(0)  # let it begin: the caller may not wait for anything

    async def drain(self) -> None:
        """Wait for the last writes. Raises the error of the first that failed."""
        running, self._running = self._running, deque()
        outcomes = await asyncio.gather(*running, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
