"""The cache of complete responses.

The key of a response has everything it depends on except the data: the operation, its variables,
the base address, and what the caller may see; callers who may see the same share an entry. An entry
is valid while no change since a snapshot taken before the read concerns what it was read from.
Requests that miss while an equal one creates the response wait for it.
See docs/decisions/server/response-cache.md and single-flight.md.
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
from rest.request_body import ClientDisconnectedError
from storage.cache.cache import Cache, CacheCounters
from storage.cache.change_feed import ChangeFeed
from storage.cache.read_set import measure_tags
from storage.mongo.tasks import run_in_background

REPORT_INTERVAL_SECONDS = 60.0
FLIGHTS_TO_WAIT_FOR = 2
"""Equal requests that a request waits for, one after the other, before it reads for itself."""
WAIT_SECONDS = 1.0
"""How long a request waits for them together: no other client can hold it up for longer."""

_logger = logging.getLogger("floorgate.cache")


class _Flight:
    """A response that a request creates, and others wait for."""

    __slots__ = ("ended", "is_private", "response")

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self.response: CachedResponse | None = None
        """None if the request has left before, or failed."""
        self.is_private = False
        """Whether the outcome concerns this request only: it is useless to wait for another."""


class ResponseCache:
    """An LRU cache of complete responses, bounded in bytes. A `max_bytes` of 0 turns it off."""

    def __init__(self, feed: ChangeFeed, max_bytes: int) -> None:
        self._feed = feed
        self._responses: Cache[CacheKey, CachedResponse] = Cache(
            max_bytes=max_bytes, weigh=_weigh, feed=feed
        )
        self._flights: dict[CacheKey, _Flight] = {}

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
        self,
        key: CacheKey,
        context: Context,
        create: Callable[[], Awaitable[Response]],
        is_read: bool = True,
    ) -> ASGIApp:
        """Return the cached response for `key`, or create it and cache it if it is cacheable.

        `create` must read through `context`, so that its read log is complete. Without `is_read`,
        it may do more than read, and runs at once.
        """
        waits_left = FLIGHTS_TO_WAIT_FOR if is_read else 0
        while True:
            flight = self._flights.get(key) if self._flights and waits_left else None
            cached = self._responses.get(key, None, count_miss=flight is None)
            if cached is not None:
                return cached
            if flight is None:
                break
            is_second = waits_left == FLIGHTS_TO_WAIT_FOR - 1
            waits_left = await _wait(flight, context, waits_left)
            # The first flight may have read before a write that this request must see, so what it
            # has created is looked up like any cached response. The second began after this
            # request had arrived: its reads are as new as those that this request would send.
            if is_second and flight.response is not None:
                return flight.response
        if not self._responses.max_bytes:
            return await create()
        if not is_read or key in self._flights:
            return await self._create(key, context, create, _Flight())
        flight = self._flights[key] = _Flight()
        try:
            return await self._create(key, context, create, flight)
        finally:
            del self._flights[key]
            flight.ended.set()

    async def _create(
        self,
        key: CacheKey,
        context: Context,
        create: Callable[[], Awaitable[Response]],
        flight: _Flight,
    ) -> ASGIApp:
        snapshot = self._feed.take_snapshot()
        try:
            response = await create()
        except ClientDisconnectedError:
            raise
        except Exception:
            flight.is_private = True
            raise
        reads = context.reads
        if not is_cacheable(response, context):
            flight.is_private = True
            return response
        key = tuple(_trim(part) if isinstance(part, bytes) else part for part in key)
        new = CachedResponse(
            response.raw_headers, _trim(response.body), key, self._responses.reweigh
        )
        read_set = reads.build_read_set()
        new.size_bytes += measure_tags(read_set)
        if not self._responses.put(key, new, snapshot, read_set):
            new.cache_key = None
        flight.response = new
        return new

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
    is_known = reads.is_complete and (reads.is_constant or bool(reads.collections))
    return is_known and response.status_code == 200


async def _wait(flight: _Flight, context: Context, waits_left: int) -> int:
    """Wait for the end of a flight, and return how many more flights to wait for.

    The time counts for the deadline of the request.
    """
    get_time = asyncio.get_running_loop().time
    began = get_time()
    try:
        async with asyncio.timeout(WAIT_SECONDS - context.budget.waited_seconds):
            await flight.ended.wait()
    except TimeoutError:
        return 0
    finally:
        context.budget.waited_seconds += get_time() - began
    return 0 if flight.is_private else waits_left - 1


def _trim(value: bytes | memoryview) -> bytes:
    """Return a copy of a value in as much memory as it needs.

    What orjson returns keeps the memory that it was written into, of 4 KB at least and up to twice
    the value.
    """
    return bytes(memoryview(value))


def _weigh(key: CacheKey, response: CachedResponse) -> int:
    return response.size_bytes + sum(len(part) for part in key if isinstance(part, (str, bytes)))
