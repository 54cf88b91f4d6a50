"""The cache of complete responses.

The key of a response has everything it depends on except the data: the operation, its variables,
the base address, and what the caller may see; callers who may see the same share an entry. An entry
is valid while no change since a snapshot taken before the read concerns what it was read from.
See docs/decisions/server/response-cache.md.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from starlette.responses import Response
from starlette.types import ASGIApp

from gateway.cache.cached_response import CachedResponse
from resolvers.request.context import Context
from rest.endpoints import CacheKey
from storage.cache.cache import Cache, CacheCounters
from storage.cache.change_feed import ChangeFeed
from storage.mongo.tasks import run_in_background

REPORT_INTERVAL_SECONDS = 60.0

_logger = logging.getLogger("floorgate.cache")


class ResponseCache:
    """An LRU cache of complete responses, bounded in bytes. A `max_bytes` of 0 turns it off."""

    def __init__(self, feed: ChangeFeed, max_bytes: int) -> None:
        self._feed = feed
        self._responses: Cache[CacheKey, CachedResponse] = Cache(
            max_bytes=max_bytes, weigh=_weigh, feed=feed
        )

    @property
    def counters(self) -> CacheCounters:
        """The counters of responses; a miss is a request that ran its operation."""
        return self._responses.counters

    @asynccontextmanager
    async def run_reporting(self) -> AsyncIterator["ResponseCache"]:
        """Log the counters once a minute if they have changed."""
        async with run_in_background(self._report_periodically()):
            yield self

    async def _report_periodically(self) -> None:
        reported = CacheCounters()
        while True:
            await asyncio.sleep(REPORT_INTERVAL_SECONDS)
            if self.counters != reported:
                reported = self.counters
                _logger.info("response cache", extra={"fields": reported._asdict()})

    async def get_or_create(
        self, key: CacheKey, context: Context, create: Callable[[], Awaitable[Response]]
    ) -> ASGIApp:
        """Return the cached response for `key`, or create it and cache it if it is cacheable.

        `create` must read through `context`, so that its read log is complete.
        """
        if (cached := self._responses.get(key)) is not None:
            return cached
        if not self._responses.max_bytes:
            return await create()
        snapshot = self._feed.take_snapshot()
        response = await create()
        reads = context.reads
        if not is_cacheable(response, context):
            return response
        new = CachedResponse(
            response.raw_headers, bytes(response.body), key, self._responses.reweigh
        )
        return new if self._responses.put(key, new, snapshot, reads.build_read_set()) else response

    def contains(self, key: CacheKey) -> bool:
        """Return whether the response for `key` is cached; nothing is counted."""
        return self._responses.contains(key)

    @property
    def is_off(self) -> bool:
        """Whether no response is ever cached."""
        return not self._responses.max_bytes

    def get(self, key: CacheKey) -> CachedResponse | None:
        """Return the cached response for `key`, for the fast path.

        A miss is not counted, because the full pipeline then looks up the same key.
        """
        return self._responses.get(key, None, count_miss=False)


def is_cacheable(response: Response, context: Context) -> bool:
    """Return whether a response that was read through a context may be cached."""
    reads = context.reads
    # A response that read nothing would never be invalidated.
    return reads.is_complete and bool(reads.collections) and response.status_code == 200


def _weigh(key: CacheKey, response: CachedResponse) -> int:
    return response.size_bytes + sum(len(part) for part in key if isinstance(part, (str, bytes)))
