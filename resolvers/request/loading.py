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
        self._batches: dict[K, _Batch[K]] = {}
        """The batch in which each key is loaded, or failed to."""
        self._next_batch: _Batch[K] | None = None

    async def load(self, keys: Sequence[K]) -> list[V]:
        """Return the value of each key, which may be the exception of this key alone.

        Raise what loading a batch raised.
        """
        values = self._values
        if missing := [key for key in keys if key not in values]:
            await self._fetch(missing)
        return [values[key] for key in keys]

    def keep(self, key: K, value: V) -> None:
        """Have the value of a key, so that it is not loaded."""
        self._values[key] = value

    async def load_one(self, key: K) -> V:
        """Return the value of one key; raise what loading it raised."""
        if key not in self._values:
            if self._next_batch is None and key not in self._batches:
                await self._lead(_Batch((key,)))
            else:
                await self._fetch((key,))
        value = self._values[key]
        if isinstance(value, Exception):
            raise value
        return value

    async def _fetch(self, keys: Sequence[K]) -> None:
        while missing := [key for key in keys if key not in self._values]:
            new = [key for key in missing if key not in self._batches]
            batch = self._next_batch if new else self._batches[missing[0]]
            if batch is None:
                await self._lead(_Batch(new))
            else:
                batch.keys.update(dict.fromkeys(new))
                self._batches.update(dict.fromkeys(new, batch))
                await batch.wait()

    async def _lead(self, batch: "_Batch[K]") -> None:
        """Load a batch for all its callers, in the task of the first: a new task costs more."""
        self._next_batch = batch
        self._batches.update(dict.fromkeys(batch.keys, batch))
        try:
            await asyncio.sleep(0)  # others may add keys
            self._next_batch = None
            keys = [*batch.keys]
            for start in range(0, len(keys), self._max_keys):
                part = keys[start : start + self._max_keys]
                self._values.update(zip(part, await self._load(part), strict=True))
        except Exception as error:
            batch.error = error
            raise
        except BaseException:  # this caller is cancelled; another one leads then
            for key in batch.keys:
                del self._batches[key]
            raise
        finally:
            if self._next_batch is batch:
                self._next_batch = None
            batch.end()


class _Batch(Generic[K]):
    """Keys that are loaded together."""

    __slots__ = ("_ended", "_is_over", "error", "keys")

    def __init__(self, keys: Sequence[K]) -> None:
        self.keys: dict[K, None] = dict.fromkeys(keys)
        """Distinct, in the order of their requests."""
        self.error: Exception | None = None
        self._is_over = False
        self._ended: asyncio.Event | None = None

    async def wait(self) -> None:
        """Wait until the caller who loads the batch has ended; raise what loading it raised."""
        if not self._is_over:
            if self._ended is None:
                self._ended = asyncio.Event()
            await self._ended.wait()
        if self.error is not None:
            raise self.error

    def end(self) -> None:
        """Let those continue who wait."""
        self._is_over = True
        if self._ended is not None:
            self._ended.set()
