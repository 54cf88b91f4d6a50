"""Answers kept in memory: exact, because what MongoDB tells of changes ends them.

An answer is kept under what it answers and for whom: the operation, its variables, and the assets
that the caller sees; callers who see the same share it. With it are kept the collections that it
was read from and the mark noted before the read, so that a change told meanwhile ends it too.
While changes may go unnoticed nothing is kept and nothing kept is used.
"""

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace

from starlette.responses import Response
from starlette.types import ASGIApp

from gateway.cache.cached_response import CachedResponse
from resolvers.request.context import Context
from rest.endpoints import CacheKey
from storage.cache.change_feed import ChangeFeed, VersionSnapshot, is_unchanged_since
from storage.mongo.tasks import cancel_and_wait

REPORT_INTERVAL_SECONDS = 60.0

_logger = logging.getLogger("floorgate.answers")


@dataclass(slots=True)
class CacheCounters:
    """How the answers served so far came about, and what is kept now."""

    hits: int = 0
    """Answered from memory."""
    misses: int = 0
    """Answered by running the operation."""
    invalidations: int = 0
    """Ended by a change."""
    evictions: int = 0
    """Gave way to others."""
    entries: int = 0
    size_bytes: int = 0


@dataclass(slots=True)
class _ResponseEntry:
    response: CachedResponse
    collections: frozenset[str]
    snapshot: VersionSnapshot
    key_bytes: int
    size_bytes: int = 0
    """As it was counted."""


class ResponseCache:
    """Complete answers by what they answer; the least recently used give way."""

    def __init__(self, change_feed: ChangeFeed, max_bytes: int) -> None:
        self.counters = CacheCounters()
        self._change_feed = change_feed
        self._max_bytes = max_bytes
        self._entries: OrderedDict[CacheKey, _ResponseEntry] = OrderedDict()

    @asynccontextmanager
    async def run_reporting(self) -> AsyncIterator["ResponseCache"]:
        """Logs the counters once a minute meanwhile, where they have changed."""
        reporting = asyncio.create_task(self._report_periodically())
        try:
            yield self
        finally:
            await cancel_and_wait(reporting)

    async def _report_periodically(self) -> None:
        reported = CacheCounters()
        while True:
            await asyncio.sleep(REPORT_INTERVAL_SECONDS)
            if self.counters != reported:
                reported = replace(self.counters)
                _logger.info("answers", extra={"fields": asdict(reported)})

    async def get_or_create(
        self, key: CacheKey, context: Context, create: Callable[[], Awaitable[Response]]
    ) -> ASGIApp:
        """The answer kept under `key`, else the one made now, which is kept if it may be.

        `make` reads with `context`, which says afterwards where the answer came from.
        """
        if (ready := self.get(key)) is not None:
            return ready
        self.counters.misses += 1
        if not self._max_bytes:
            return await create()
        mark = self._change_feed.take_snapshot()
        response = await create()
        is_whole = context.reads_tracked and bool(context.collections_read)
        if mark is None or not is_whole or response.status_code != 200:
            return response
        ready = CachedResponse(response.raw_headers, bytes(response.body), key, self._on_growth)
        entry = _ResponseEntry(
            ready, frozenset(context.collections_read), mark, _key_size_bytes(key)
        )
        if entry.key_bytes + ready.size_bytes > self._max_bytes:  # all others would give way
            return response
        self._store(key, entry)
        return ready

    def get(self, key: CacheKey) -> CachedResponse | None:
        """The answer kept under `key`, if it is still true."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        now = self._change_feed.take_snapshot()
        if now is None:
            return None
        if not is_unchanged_since(entry.snapshot, now, entry.collections):
            self._remove(key)
            self.counters.invalidations += 1
            return None
        entry.snapshot = now  # compared by identity next time
        self._entries.move_to_end(key)
        self.counters.hits += 1
        return entry.response

    def _store(self, key: CacheKey, entry: _ResponseEntry) -> None:
        if key in self._entries:
            self._remove(key)
        self._entries[key] = entry
        self.counters.entries += 1
        self._update_size(entry)

    def _on_growth(self, key: CacheKey) -> None:
        if (entry := self._entries.get(key)) is not None:
            self._update_size(entry)

    def _update_size(self, entry: _ResponseEntry) -> None:
        """Counts what an answer takes, which grows when it is coded, and makes room for it."""
        size_bytes = entry.key_bytes + entry.response.size_bytes
        if size_bytes == entry.size_bytes:
            return
        self.counters.size_bytes += size_bytes - entry.size_bytes
        entry.size_bytes = size_bytes
        while self.counters.size_bytes > self._max_bytes:
            self._remove(next(iter(self._entries)))
            self.counters.evictions += 1

    def _remove(self, key: CacheKey) -> None:
        entry = self._entries.pop(key)
        self.counters.entries -= 1
        self.counters.size_bytes -= entry.size_bytes


def _key_size_bytes(key: CacheKey) -> int:
    return sum(len(part) for part in key if isinstance(part, (str, bytes)))
