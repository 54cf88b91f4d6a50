"""Overlapping the writing of one batch with the preparation of the next."""

import asyncio
from collections.abc import Coroutine
from typing import Any


class PipelinedWriter:
    """Runs one write in the background at a time."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None

    async def submit(self, write: Coroutine[Any, Any, None]) -> None:
        """Start a write once the previous one has finished. Raises the error of that one."""
        try:
            await self.drain()
        except BaseException:
            write.close()
            raise
        self._task = asyncio.create_task(write)

    async def drain(self) -> None:
        """Wait for the last write. Raises its error."""
        running, self._task = self._task, None
        if running is not None:
            await running
