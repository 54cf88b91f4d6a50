"""What was looked up by key lately, in memory: exact, because changes of its collection end it.

With each value is kept the mark noted before it was read. While changes may go unnoticed nothing
is kept and nothing kept is used. What was not found is looked for again each time.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from storage.cache.change_feed import ChangeFeed, VersionSnapshot, is_unchanged_since
from storage.records.visibility import Scope

T = TypeVar("T")

MAX_RECORDS = 2_000


class RecordCacheKey(NamedTuple):
    """What is looked up, and for whom."""

    collection: str
    field: str
    """Empty: the whole record."""
    scope: Scope
    key: str


@dataclass(slots=True)
class _CacheEntry:
    value: Any
    snapshot: VersionSnapshot


class RecordCache:
    """Values by what was looked up; the least recently used give way."""

    def __init__(self, feed: ChangeFeed, max_records: int = MAX_RECORDS) -> None:
        self._feed = feed
        self._max_records = max_records
        self._entries: OrderedDict[RecordCacheKey, _CacheEntry] = OrderedDict()

    async def get_or_load(
        self, key: RecordCacheKey, load: Callable[[], Awaitable[T | None]]
    ) -> T | None:
        """The value that is known, if it is still true, else the one that `read` finds now."""
        now = self._feed.take_snapshot()
        if now is None:
            return await load()
        found = self._entries.get(key)
        if found is not None and is_unchanged_since(found.snapshot, now, (key.collection,)):
            found.snapshot = now  # compared by identity next time
            self._entries.move_to_end(key)
            value: T = found.value
            return value
        read_now = await load()
        if read_now is not None:
            self._put(key, _CacheEntry(read_now, now))
        return read_now

    def _put(self, key: RecordCacheKey, entry: _CacheEntry) -> None:
        self._entries[key] = entry
        self._entries.move_to_end(key)
        if len(self._entries) > self._max_records:
            self._entries.popitem(last=False)
