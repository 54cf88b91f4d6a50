"""Caches of records by key, of trusted documents by digest, and of the saved endpoints."""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

from storage.administration.saved_endpoints import (
    ENDPOINTS_COLLECTION,
    SavedEndpoint,
    list_endpoints,
)
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
        self._values: Cache[RecordCacheKey, Any] = Cache(
            max_entries=max_records, feed=feed, name="records"
        )

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
            name="documents",
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


UNCONFIRMED_SECONDS = 0.5
"""How long the endpoints are used while it is not known whether they have changed."""


class SavedEndpointCache:
    """All saved endpoints, read again once any has changed."""

    def __init__(self, database: driver.Database, feed: ChangeFeed) -> None:
        self._database = database
        self._feed = feed
        self._current: Cache[str, tuple[SavedEndpoint, ...]] = Cache(max_entries=1, feed=feed)
        self._latest: tuple[SavedEndpoint, ...] = ()
        self._read_at = float("-inf")
        self._reading: asyncio.Task[tuple[SavedEndpoint, ...]] | None = None

    def get(self) -> tuple[SavedEndpoint, ...] | None:
        """Return the endpoints, the same object until one changes; None if one may have."""
        return self._current.get(ENDPOINTS_COLLECTION)

    async def load(self) -> tuple[SavedEndpoint, ...]:
        """Return the endpoints of this moment. Raises UnavailableError."""
        current = self.get()
        if current is not None:
            return current
        # Without the stream of changes, no flood of requests reads more often than this.
        is_recent = time.monotonic() - self._read_at < UNCONFIRMED_SECONDS
        if is_recent and self._feed.take_snapshot() is None:
            return self._latest
        if self._reading is not None and not self._reading.done():
            await asyncio.shield(self._reading)
            # It may have begun before a change that this request must see.
            if (current := self.get()) is not None:
                return current
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read())
        return await asyncio.shield(self._reading)

    async def _read(self) -> tuple[SavedEndpoint, ...]:
        began, snapshot = time.monotonic(), self._feed.take_snapshot()
        found = (*await list_endpoints(self._database),)
        if found != self._latest:
            self._latest = found
        self._read_at = began
        self._current.put(ENDPOINTS_COLLECTION, self._latest, snapshot, whole(ENDPOINTS_COLLECTION))
        return self._latest
