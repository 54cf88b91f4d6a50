"""What one request reads, each thing once; what is asked for in one turn is read together."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

BatchLoad = Callable[[list[K]], Awaitable[Sequence[V]]]
"""From distinct keys to a value for each, in their order."""


class Loader(Generic[K, V]):
    """Values by key, kept as long as the loader.

    Whoever asks in the same turn of the event loop shares one call of `load`, of at most `most`
    keys.
    """

    def __init__(self, load: BatchLoad[K, V], max_keys: int) -> None:
        self._load = load
        self._max_keys = max_keys
        self._values: dict[K, V] = {}
        self._pending: dict[K, asyncio.Task[None]] = {}
        self._queued_keys: dict[K, None] = {}
        """The keys of the next call, each once, in the order in which they were asked for."""
        self._next_batch: asyncio.Task[None] | None = None

    async def load(self, keys: Sequence[K]) -> list[V]:
        """The value of each key; raises what loading it raised."""
        found = self._values
        if unknown := [key for key in keys if key not in found]:
            await self._fetch(unknown)
        return [found[key] for key in keys]

    async def _fetch(self, keys: list[K]) -> None:
        if new := [key for key in keys if key not in self._pending]:
            if self._next_batch is None:
                self._next_batch = asyncio.create_task(self._load_queued())
            self._queued_keys.update(dict.fromkeys(new))
            self._pending.update(dict.fromkeys(new, self._next_batch))
        for task in {self._pending[key] for key in keys}:
            # One who stops waiting must not end what others wait for.
            await asyncio.shield(task)

    async def _load_queued(self) -> None:
        keys = [*self._queued_keys]
        self._queued_keys.clear()
        self._next_batch = None
        for start in range(0, len(keys), self._max_keys):
            part = keys[start : start + self._max_keys]
            self._values.update(zip(part, await self._load(part), strict=True))
