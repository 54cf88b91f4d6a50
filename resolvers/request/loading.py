"""Batched loading: keys requested in one iteration of the event loop are read together."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

BatchLoad = Callable[[list[K]], Awaitable[Sequence[V]]]
"""Return a value for each of some distinct keys, in their order."""


class DataLoader(Generic[K, V]):
    """Load values by key, each once, and keep them as long as the loader.

    Callers in the same iteration of the event loop share one call of `load`. More than `max_keys`
    keys are loaded by several calls, one after another.

    >>> async def load(keys):
    ...     print("load", keys)
    ...     return [key * 2 for key in keys]
    >>> async def main():
    ...     loader = DataLoader(load, max_keys=100)
    ...     return await asyncio.gather(loader.load([3, 1]), loader.load_one(2), loader.load([1]))
    >>> asyncio.run(main())
    load [3, 1, 2]
    [[6, 2], 4, [2]]
    """

    def __init__(self, load: BatchLoad[K, V], max_keys: int) -> None:
        self._load = load
        self._max_keys = max_keys
        self._values: dict[K, V] = {}
        self._pending: dict[K, asyncio.Task[None]] = {}
        self._queued_keys: dict[K, None] = {}
        """The distinct keys of the next batch, in the order of their requests."""
        self._next_batch: asyncio.Task[None] | None = None
        self._batches: list[asyncio.Task[None]] = []

    async def load(self, keys: Sequence[K]) -> list[V]:
        """Return the value of each key, which may be the exception of this key alone.

        Raise what loading a batch raised.
        """
        values = self._values
        if missing := [key for key in keys if key not in values]:
            await self._fetch(missing)
        return [values[key] for key in keys]

    async def load_one(self, key: K) -> V:
        """Return the value of one key; raise what loading it raised."""
        if key not in self._values:
            await self._fetch((key,))
        value = self._values[key]
        if isinstance(value, Exception):
            raise value
        return value

    def cancel(self) -> None:
        """Cancel the loads in progress."""
        for batch in self._batches:
            batch.cancel()

    async def _fetch(self, keys: Sequence[K]) -> None:
        if new := [key for key in keys if key not in self._pending]:
            if self._next_batch is None:
                self._next_batch = asyncio.create_task(self._load_queued())
                self._batches.append(self._next_batch)
            self._queued_keys.update(dict.fromkeys(new))
            self._pending.update(dict.fromkeys(new, self._next_batch))
        for task in {self._pending[key] for key in keys}:
            # Other callers may wait for the same batch: do not cancel it with this one.
            await asyncio.shield(task)

    async def _load_queued(self) -> None:
        keys = [*self._queued_keys]
        self._queued_keys.clear()
        self._next_batch = None
        for start in range(0, len(keys), self._max_keys):
            part = keys[start : start + self._max_keys]
            self._values.update(zip(part, await self._load(part), strict=True))
