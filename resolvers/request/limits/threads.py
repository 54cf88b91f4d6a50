"""Work in threads, in which API keys take turns.

Python runs one thread at a time, so the work of many requests of one key would delay all others.
"""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import TypeVar, TypeVarTuple
from weakref import WeakValueDictionary

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

MAX_THREADS = 6

owner: ContextVar[str] = ContextVar("owner", default="")
"""The id of the API key that this task works for."""


class FairThreads:
    """Threads that do work of each owner one call after another, in the order of the calls."""

    def __init__(self, name: str, max_threads: int = MAX_THREADS) -> None:
        self._threads = ThreadPoolExecutor(max_threads, name)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        """By owner, while it has calls."""

    async def run(self, function: Callable[[*Ts], T], *arguments: *Ts) -> T:
        """Return what `function` returns in a thread."""
        turn = self._turns.setdefault(owner.get(), asyncio.Lock())
        run_in_context = contextvars.copy_context().run
        async with turn:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, run_in_context, function, *arguments)


run_in_thread = FairThreads("work").run
