"""Caches of records by key, and of trusted documents by digest."""

import sys
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

from storage.administration.trusted_documents import DOCUMENTS_COLLECTION, find_document
from storage.cache.cache import MISSING, Cache
from storage.cache.change_feed import ChangeFeed
from storage.cache.read_set import read_key, whole
from storage.mongo import driver
from storage.records.visibility import AssetScope

T = TypeVar("T")

MAX_RECORDS = 2_000


class RecordCacheKey(NamedTuple):
    """A record, or one of its fields, as a caller with this scope sees it."""

    collection: str
    field: str
    """Empty for the whole record."""
    scope: AssetScope
    key: str


class RecordCache:
    """Cache records until they change."""

    def __init__(self, feed: ChangeFeed, max_records: int = MAX_RECORDS) -> None:
        self._feed = feed
        self._values: Cache[RecordCacheKey, Any] = Cache(max_entries=max_records, feed=feed)

    async def get_or_load(
        self, key: RecordCacheKey, load: Callable[[], Awaitable[T | None]]
    ) -> T | None:
        """Return the cached value for `key`, or load it and cache it unless it is None."""
        cached: T | None = self._values.get(key)
        if cached is not None:
            return cached
        snapshot = self._feed.take_read_snapshot()  # before the read: a change during it counts
        value = await load()
        if value is not None:
            self._values.put(key, value, snapshot, read_key(key.collection, key.key))
        return value

    def contains(self, key: RecordCacheKey) -> bool:
        """Return whether a value is cached."""
        return self._values.contains(key)


class BypassedRecordCache(RecordCache):
    """Load every value, and count which of them another cache has."""

    def __init__(self, cache: RecordCache) -> None:
        self._cache = cache
        self.hits = self.misses = 0

    async def get_or_load(
        self, key: RecordCacheKey, load: Callable[[], Awaitable[T | None]]
    ) -> T | None:
        """Load the value for `key`; neither the cache nor its counters change."""
        is_hit = self._cache.contains(key)
        self.hits += is_hit
        self.misses += not is_hit
        return await load()


MAX_CACHED_DOCUMENTS = 10_000
MAX_CACHED_DOCUMENT_BYTES = 16_000_000


class TrustedDocumentCache:
    """Look up the texts of registered documents."""

    def __init__(self, database: driver.Database, feed: ChangeFeed) -> None:
        self._database = database
        self._feed = feed
        self._texts: Cache[str, str | None] = Cache(
            max_entries=MAX_CACHED_DOCUMENTS,
            max_bytes=MAX_CACHED_DOCUMENT_BYTES,
            weigh=lambda id, text: sys.getsizeof(id) + sys.getsizeof(text),
            feed=feed,
        )

    async def find_text(self, id: str) -> str | None:
        """Return the text of the document with this id. Raises UnavailableError."""
        cached = self._texts.get(id, MISSING)
        if cached is not MISSING:
            return cached
        snapshot = self._feed.take_snapshot()  # before the read: a change during it counts
        document = await find_document(self._database, id)
        text = None if document is None else document.text
        self._texts.put(id, text, snapshot, whole(DOCUMENTS_COLLECTION))
        return text
