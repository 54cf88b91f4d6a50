"""What one request reads, each thing once; what is asked for in one turn is read together."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")

Load = Callable[[list[K]], Awaitable[Sequence[V]]]
"""From distinct keys to a value for each, in their order."""


class Loader(Generic[K, V]):
    """Values by key, kept as long as the loader.

    Whoever asks in the same turn of the event loop shares one call of `load`, of at most `most`
    keys.
    """

    def __init__(self, load: Load[K, V], most: int) -> None:
        self._load = load
        self._most = most
        self._found: dict[K, V] = {}
        self._asked: dict[K, asyncio.Task[None]] = {}
        self._gathering: dict[K, None] = {}
        """The keys of the next call, each once, in the order in which they were asked for."""
        self._next: asyncio.Task[None] | None = None

    async def load(self, keys: Sequence[K]) -> list[V]:
        """The value of each key; raises what loading it raised."""
        found = self._found
        if unknown := [key for key in keys if key not in found]:
            await self._fetch(unknown)
        return [found[key] for key in keys]

    async def _fetch(self, keys: list[K]) -> None:
        if new := [key for key in keys if key not in self._asked]:
            if self._next is None:
                self._next = asyncio.create_task(self._read())
            self._gathering.update(dict.fromkeys(new))
            self._asked.update(dict.fromkeys(new, self._next))
        for task in {self._asked[key] for key in keys}:
            # One who stops waiting must not end what others wait for.
            await asyncio.shield(task)

    async def _read(self) -> None:
        keys = [*self._gathering]
        self._gathering.clear()
        self._next = None
        for start in range(0, len(keys), self._most):
            part = keys[start : start + self._most]
            self._found.update(zip(part, await self._load(part), strict=True))
