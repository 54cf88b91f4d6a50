"""The LRU cache behind every cache of the gateway.

It is bounded in entries or in bytes. With a change feed it is exact as well: an entry is a hit only
while no change concerns what it was read from (see docs/decisions/server/response-cache.md).
"""

import sys
from collections import OrderedDict
from collections.abc import Callable
from enum import Enum
from typing import Any, Final, Generic, NamedTuple, TypeVar, overload

from msgspec import Struct

from storage.cache.change_feed import ChangeFeed, ChangeSnapshot, is_unchanged_since
from storage.cache.read_set import ReadSet

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")


class Missing(Enum):
    """The type of `MISSING`, a default for caches that store None."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING
NAMED: Final[dict[str, "Cache[Any, Any]"]] = {}
"""The latest cache with each name, for metrics."""
NOTHING: Final[ReadSet] = {}


class CacheCounters(NamedTuple):
    """The counters of a cache since it was created, and its size now."""

    hits: int = 0
    misses: int = 0
    invalidations: int = 0
    """Entries removed because their data changed."""
    evictions: int = 0
    """Entries removed to make room."""
    entries: int = 0
    size_bytes: int = 0


# Garbage collection does not look at entries: there are many, and they are in no cycle.
class _Entry(Struct, Generic[V], eq=False, gc=False):
    value: V
    snapshot: ChangeSnapshot | None
    reads: ReadSet
    size_bytes: int = 0


class Cache(Generic[K, V]):
    """Map keys to values, evicting the least recently used entries.

    >>> cache = Cache[str, int](max_entries=2)
    >>> _ = cache.put("a", 1), cache.put("b", 2)
    >>> cache.get("a")
    1
    >>> _ = cache.put("c", 3)  # evicts "b", which was used before "a"
    >>> cache.get("b") is None
    True
    >>> cache.counters
    CacheCounters(hits=1, misses=1, invalidations=0, evictions=1, entries=2, size_bytes=0)
    """

    def __init__(
        self,
        *,
        max_entries: int = sys.maxsize,
        max_bytes: int = sys.maxsize,
        weigh: Callable[[K, V], int] | None = None,
        min_entries: int = 0,
        feed: ChangeFeed | None = None,
        name: str = "",
    ) -> None:
        """Create an empty cache, of which metrics are shown if it has a name.

        `weigh` returns the bytes of an entry, for `max_bytes`. An entry larger than `max_bytes` is
        not stored, except that `min_entries` are kept at any size. With `feed`, entries need a
        snapshot and are invalidated by changes.
        """
        self.max_entries = max_entries
        self.max_bytes = max_bytes
        self._weigh = weigh
        self._min_entries = min_entries
        self._feed = feed
        self._entries: OrderedDict[K, _Entry[V]] = OrderedDict()
        self._hits = self._misses = self._invalidations = self._evictions = 0
        self._size_bytes = 0
        if name:
            NAMED[name] = self

    def __len__(self) -> int:
        """Return the number of entries, including those that a change has made invalid."""
        return len(self._entries)

    @property
    def is_weighed(self) -> bool:
        """True if the sizes of entries are counted."""
        return self._weigh is not None

    @property
    def counters(self) -> CacheCounters:
        """The counters at this moment."""
        return CacheCounters(
            self._hits,
            self._misses,
            self._invalidations,
            self._evictions,
            len(self._entries),
            self._size_bytes,
        )

    @overload
    def get(self, key: K) -> V | None: ...

    @overload
    def get(self, key: K, default: D, *, count_miss: bool = True) -> V | D: ...

    def get(self, key: K, default: D | None = None, *, count_miss: bool = True) -> V | D | None:
        """Return the valid value for `key`, which becomes the most recently used, or `default`.

        Pass `count_miss=False` where the caller looks the key up again after a miss.
        """
        entry = self._entries.get(key)
        if entry is not None:
            now = None if self._feed is None else self._feed.take_snapshot()
            # Mostly nothing has changed: the same snapshot, or none in a cache without a feed.
            if (now is entry.snapshot) or self._revalidate(key, entry, now):
                self._entries.move_to_end(key)
                self._hits += 1
                return entry.value
        self._misses += count_miss
        return default

    def contains(self, key: K) -> bool:
        """Return whether there is a valid value for `key`; neither count nor mark it as used."""
        entry = self._entries.get(key)
        if entry is None:
            return False
        now = None if self._feed is None else self._feed.take_snapshot()
        return now is entry.snapshot or self._revalidate(key, entry, now)

    def peek(self, key: K, default: D) -> V | D:
        """Return the value for `key` or `default`; neither validate, count nor mark it as used."""
        entry = self._entries.get(key)
        return default if entry is None else entry.value

    def put(
        self,
        key: K,
        value: V,
        snapshot: ChangeSnapshot | None = None,
        reads: ReadSet = NOTHING,
    ) -> bool:
        """Store a value and return True, or return False if it cannot be stored.

        In a cache with a feed, `value` depends on `reads` and was read after `snapshot` was taken.
        Without a snapshot nothing is stored, because changes might go unnoticed.
        """
        if self._feed is not None and snapshot is None:
            return False
        size_bytes = 0 if self._weigh is None else self._weigh(key, value)
        if size_bytes > self.max_bytes and not self._min_entries:
            self.discard(key)  # `value` replaces it
            return False
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(value, snapshot, reads)
        else:
            entry.value, entry.snapshot, entry.reads = value, snapshot, reads
            self._entries.move_to_end(key)
        self._size_bytes += size_bytes - entry.size_bytes
        entry.size_bytes = size_bytes
        if len(self._entries) > self.max_entries or self._size_bytes > self.max_bytes:
            self._evict()
        return True

    def reweigh(self, key: K) -> None:
        """Count the size of a value that has grown; ignore a key that is not cached."""
        entry = self._entries.get(key)
        if entry is None or self._weigh is None:
            return
        size_bytes = self._weigh(key, entry.value)
        if size_bytes > self.max_bytes and not self._min_entries:
            self.discard(key)
            self._evictions += 1
            return
        self._size_bytes += size_bytes - entry.size_bytes
        entry.size_bytes = size_bytes
        self._evict()

    def discard(self, key: K) -> None:
        """Remove the entry for `key`, if there is one."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._size_bytes -= entry.size_bytes

    def _revalidate(self, key: K, entry: _Entry[V], now: ChangeSnapshot | None) -> bool:
        if now is None or entry.snapshot is None:
            return False
        if not is_unchanged_since(entry.snapshot, now, entry.reads):
            self.discard(key)
            self._invalidations += 1
            return False
        entry.snapshot = now  # so that the next lookup compares identities only
        return True

    def _evict(self) -> None:
        while len(self._entries) > self.max_entries or (
            self._size_bytes > self.max_bytes and len(self._entries) > self._min_entries
        ):
            _, entry = self._entries.popitem(last=False)
            self._size_bytes -= entry.size_bytes
            self._evictions += 1
