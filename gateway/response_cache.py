"""The cache of complete responses.

The key of a response has everything it depends on except the data: the operation, its variables,
the base address, and what the caller may see; callers who may see the same share an entry. An entry
is valid while no change since a snapshot taken before the read concerns what it was read from.
Requests that miss while an equal one creates the response wait for it.
See docs/decisions/server/response-cache.md and single-flight.md.
"""

import asyncio
import functools
import hashlib
import time
import weakref
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeAlias

from msgspec import Struct
from starlette.responses import Response
from starlette.types import ASGIApp, Scope

from gateway.authentication import API_KEY_HEADER
from gateway.cors import CorsPolicy
from gateway.exchange import (
    EXPLAIN_HEADER,
    MAX_WRITE_BYTES,
    SCOPE_AUTHENTICATED_KEY,
    RawHeaders,
    serialize_headers,
)
from gateway.rate_limits import RateLimiter
from gateway.responses import SCOPE_CACHED_RESPONSE, CachedResponse
from resolvers.request.context import Context
from rest.bodies import MAX_REPEATED_BODY_BYTES
from rest.endpoints import CacheKey
from rest.scope_members import (
    SCOPE_BODY_DIGEST,
    SCOPE_COUNTED_AS,
    SCOPE_DEPRECATION,
    SCOPE_IGNORED_PARAMETERS,
    SCOPE_KEEPS_DOCUMENT,
    SCOPE_OPERATION,
    SCOPE_ROUTE,
    ClientDisconnectedError,
)
from storage.cache.api_key_cache import ApiKeyCache, AuthenticatedKey
from storage.cache.cache import Cache, CacheCounters
from storage.cache.change_feed import ChangeFeed
from storage.cache.read_set import measure_tags
from storage.mongo.spans import Span

FLIGHTS_TO_WAIT_FOR = 2
"""Equal requests that a request waits for, one after the other, before it reads for itself."""
WAIT_SECONDS = 1.0
"""How long a request waits for them together: no other client can hold it up for longer."""


class _Flight:
    """A response that a request creates, and others wait for."""

    __slots__ = ("ended", "is_private", "response")

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self.response: CachedResponse | None = None
        """None if the request has left before, or failed."""
        self.is_private = False
        """True if the outcome concerns this request only: it is useless to wait for another."""


class ResponseCache:
    """An LRU cache of complete responses, bounded in bytes. A `max_bytes` of 0 turns it off."""

    def __init__(self, feed: ChangeFeed, max_bytes: int) -> None:
        self._feed = feed
        self._responses: Cache[CacheKey, CachedResponse] = Cache(
            max_bytes=max_bytes, weigh=_weigh, feed=feed, name="responses"
        )
        self._flights: dict[CacheKey, _Flight] = {}

    @property
    def counters(self) -> CacheCounters:
        """The counters of responses; a miss is a request that ran its operation."""
        return self._responses.counters

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
        """True if no response is ever cached."""
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
        with Span("wait equal request"):
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


# The fast path: answer a request that only reads from its bytes when its response is cached.
#
# The full pipeline (ASGI scope, middleware, routing, authentication, flags, variables) maps a GET
# or POST to a cached response. We remember that under a SHA-256 of everything the pipeline looked
# at, so that an identical request can skip the pipeline. Only three checks remain: the API key is
# still valid, its rate limit is not exceeded, and the cached response is still valid. Anything
# unusual about a request sends it through the pipeline. See docs/decisions/server/fast-path.md.
#
# Entries hold neither API keys nor URLs nor bodies in readable form.


MAX_REQUESTS = 30_000
"""Requests that the fast path knows, of some 500 bytes each, and heads of POSTs."""
_CONTENT_LENGTH = b"content-length"
_KEY_HEADERS = (
    API_KEY_HEADER,
    b"experimental-flags",
    b"accept",
    b"host",
    b"x-forwarded-proto",
    b"content-type",
    b"origin",
)
_HEADERS_OF_RESPONSES = (b"accept-encoding", b"if-none-match")
_SLOW_PATH_HEADERS = frozenset(
    {
        b"transfer-encoding",
        b"content-encoding",
        b"expect",
        b"upgrade",
        b"connection",
        b"if-match",
        EXPLAIN_HEADER,
    }
)
_INSPECTED_HEADERS = frozenset(
    {*_KEY_HEADERS, *_HEADERS_OF_RESPONSES, *_SLOW_PATH_HEADERS, _CONTENT_LENGTH}
)


class FastResponse(NamedTuple):
    """A response, without the headers that every response has."""

    status: int
    header_lines: bytes
    body: bytes
    route: str
    key_id: str
    operation: str | None = None
    counted_as: str | None = None
    """The name of the operation for metrics."""
    look_up_again: "Callable[[], FastResponse | None] | None" = None
    """Looks up the same request at another time; None if it has to be read again for that."""


BodyLookup: TypeAlias = Callable[[bytes], FastResponse | None]
"""Returns the cached response to a POST with this body, or None to run the full pipeline."""


class FastPathEntry(NamedTuple):
    """What the pipeline determined for a request."""

    response: weakref.ref[CachedResponse]
    """What the request got, while it is cached. Another response with its key may be of another
    request: a registered document can be named by an id, and removed, and the id given to another
    one."""
    authenticated_key: AuthenticatedKey
    """The key as the pipeline saw it. If it is read again, its permissions may have changed."""
    route: str
    operation: str | None
    counted_as: str | None


# Without garbage collection: servers keep many, and what they refer to lives as long.
class _Lookup(Struct, frozen=True, eq=False, gc=False):
    """The lookup of one request, which may be repeated."""

    fast_path: "FastPath"
    digest: bytes
    is_get: bool
    accept_encoding: bytes | None
    if_none_match: bytes | None
    origin: bytes | None

    def __call__(self) -> FastResponse | None:
        """Return the cached response, or None to run the full pipeline."""
        return self.fast_path.look_up(self)


# Without garbage collection, as there are many.
class RepeatedRequest(Struct, frozen=True, eq=False, gc=False):
    """What is known of a request by the bytes in which it arrived, before it is parsed.

    A client sends equal requests in equal bytes. What the parser and the fast path found in them
    the first time holds whenever they arrive again as a whole, so only the lookup of the cached
    response remains.
    """

    look_up: Callable[[], FastResponse | None]
    method: str
    forwarded_address: str
    """The client's address if a proxy vouches for it; else empty."""


class FastPath:
    """An LRU index from requests to their cached responses, which it does not keep in memory.

    A request stands in it by a digest of what the pipeline looked at, and also by one of its bytes,
    which hold the API key.
    """

    def __init__(
        self,
        response_cache: ResponseCache,
        key_cache: ApiKeyCache,
        rate_limiter: RateLimiter,
        cors: CorsPolicy,
    ) -> None:
        self._response_cache = response_cache
        self._key_cache = key_cache
        self._rate_limiter = rate_limiter
        self._cors = cors
        self._requests: Cache[bytes, FastPathEntry | RepeatedRequest | bool] = Cache(
            max_entries=MAX_REQUESTS, name="requests"
        )
        """What is known of a request, by digest; True for the head of POSTs with an entry."""

    def find(self, target: bytes, headers: RawHeaders) -> FastResponse | None:
        """Return the cached response to a GET, or None to run the full pipeline."""
        inspected = _inspect_headers(headers, has_body=False)
        if inspected is None:
            return None
        return self._find(_digest_request(target, inspected), inspected, is_get=True)

    def find_repeated(self, request: bytes) -> RepeatedRequest | None:
        known = self._requests.get(hashlib.sha256(request).digest())
        return known if isinstance(known, RepeatedRequest) else None

    def remember_repeated(
        self, request: bytes, answered: FastResponse, method: str, forwarded_address: str
    ) -> None:
        """Keep what the bytes of a request, and nothing else, determine."""
        if answered.look_up_again is not None:
            known = RepeatedRequest(answered.look_up_again, method, forwarded_address)
            self._requests.put(hashlib.sha256(request).digest(), known)

    def find_by_body(self, target: bytes, headers: RawHeaders) -> BodyLookup | None:
        """Return the lookup by its body of a POST with this head.

        None runs the full pipeline without waiting for the body, which may reject the head: it has
        led no request with this head to a cached response.
        """
        inspected = _inspect_headers(headers, has_body=True)
        if inspected is None or self._requests.get(_digest_request(target, inspected)) is not True:
            return None
        return functools.partial(self._find_body, target, inspected)

    def _find_body(
        self, target: bytes, inspected: dict[bytes, bytes], body: bytes
    ) -> FastResponse | None:
        digest = _digest_request(target, inspected, hashlib.sha256(body).digest())
        return self._find(digest, inspected, is_get=False)

    def _find(
        self, digest: bytes, inspected: dict[bytes, bytes], *, is_get: bool
    ) -> FastResponse | None:
        # Only a GET has conditional requests.
        if_none_match = inspected.get(b"if-none-match") if is_get else None
        accept_encoding = inspected.get(b"accept-encoding")
        origin = inspected.get(b"origin")
        return self.look_up(_Lookup(self, digest, is_get, accept_encoding, if_none_match, origin))

    def look_up(self, lookup: _Lookup) -> FastResponse | None:
        """Return the cached response to a request, or None to run the full pipeline."""
        entry = self._requests.get(lookup.digest)
        if not isinstance(entry, FastPathEntry):
            return None
        record, key_digest = entry.authenticated_key
        response = entry.response()
        if (
            response is None
            # Identity: a record that was read again may have other permissions.
            or self._key_cache.get_cached_key(key_digest) is not record
            or self._response_cache.get(response.cache_key) is not response
        ):
            self._requests.discard(lookup.digest)
            return None
        negotiation = lookup.accept_encoding, lookup.if_none_match
        if not response.is_ready(*negotiation):
            return None  # the pipeline encodes it in a thread
        encoded, is_match = response.select_encoding(*negotiation)
        body: bytes = b"" if is_match else encoded.content or b""
        if len(body) > MAX_WRITE_BYTES:
            return None  # the pipeline writes it piece by piece
        status = self._rate_limiter.check(record.id, time.monotonic())
        if status.wait_seconds is not None:
            return None  # let the pipeline produce the 429; a rejected request is not counted
        if is_match:
            head = encoded.not_modified_header_lines
        elif lookup.is_get:
            head = encoded.header_lines
        else:
            head = encoded.header_lines_without_etag
        if lookup.origin is not None:
            head += serialize_headers(self._cors.get_headers(lookup.origin))
        if status.policy is not None:
            head += serialize_headers(status.headers)
        *_, route, operation, counted_as = entry
        return FastResponse(
            304 if is_match else 200, head, body, route, record.id, operation, counted_as, lookup
        )

    def can_answer(self, scope: Scope) -> bool:
        """Return whether the fast path would answer a request without `Floorgate-Explain`.

        The pipeline has read its body. The rate limit is not asked.
        """
        headers = [(name, value) for name, value in scope["headers"] if name != EXPLAIN_HEADER]
        digest = _digest_scope(scope, headers)
        entry = None if digest is None else self._requests.peek(digest, None)
        if not isinstance(entry, FastPathEntry):
            return False
        record, key_digest = entry.authenticated_key
        response = entry.response()
        return (
            response is not None
            and self._key_cache.get_cached_key(key_digest) is record
            and self._response_cache.contains(response.cache_key)
        )

    def remember(self, scope: Scope) -> None:
        """Add an entry for a request that the pipeline has led to a cached response."""
        sent: weakref.ref[CachedResponse] | None = scope.get(SCOPE_CACHED_RESPONSE)
        response = None if sent is None else sent()
        if sent is None or response is None or response.cache_key is None:
            return
        if SCOPE_IGNORED_PARAMETERS in scope or SCOPE_DEPRECATION in scope:
            return  # the cached response has none of the headers that say so
        if SCOPE_KEEPS_DOCUMENT in scope:
            return  # the pipeline does that each time
        digest = _digest_scope(scope, scope["headers"])
        if digest is None:
            return
        entry = FastPathEntry(
            sent,
            scope[SCOPE_AUTHENTICATED_KEY],
            scope[SCOPE_ROUTE],
            scope.get(SCOPE_OPERATION),
            scope.get(SCOPE_COUNTED_AS),
        )
        self._requests.put(digest, entry)
        if scope["method"] == "POST":
            inspected = _inspect_headers(scope["headers"], has_body=True) or {}
            self._requests.put(_digest_request(_get_target(scope), inspected), True)


def _digest_scope(scope: Scope, headers: RawHeaders) -> bytes | None:
    """Return the digest of a request with these headers, or None if it is unusual."""
    body_digest: bytes | None = scope.get(SCOPE_BODY_DIGEST)
    has_body = body_digest is not None
    if scope["method"] != ("POST" if has_body else "GET"):
        return None
    inspected = _inspect_headers(headers, has_body=has_body)
    if inspected is None:
        return None
    return _digest_request(_get_target(scope), inspected, body_digest)


def _get_target(scope: Scope) -> bytes:
    path, query = bytes(scope["raw_path"]), bytes(scope["query_string"])
    return path + b"?" + query if query else path


def _inspect_headers(headers: RawHeaders, *, has_body: bool) -> dict[bytes, bytes] | None:
    """Return the headers that a response depends on, or None if the request is unusual."""
    inspected: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in _INSPECTED_HEADERS:
            is_repeated = name in inspected
            if is_repeated or (name in _SLOW_PATH_HEADERS and not _is_keep_alive(name, value)):
                return None
            inspected[name] = value
    length = inspected.get(_CONTENT_LENGTH)
    if (length is not None) != has_body or (length is not None and not _is_short(length)):
        return None
    return inspected if inspected.get(API_KEY_HEADER, b"").strip() else None


def _is_short(length: bytes) -> bool:
    return length.isdigit() and len(length) < 10 and 0 < int(length) <= MAX_REPEATED_BODY_BYTES


def _is_keep_alive(name: bytes, value: bytes) -> bool:
    return name == b"connection" and value.lower() == b"keep-alive"


def _digest_request(
    target: bytes, inspected: dict[bytes, bytes], body_digest: bytes | None = None
) -> bytes:
    # No target or header value contains a NUL or a newline, so parts cannot run into one another,
    # and a missing header differs from an empty one. The digest may, and is the last part.
    parts = [target, *[inspected.get(name, b"\n") for name in _KEY_HEADERS]]
    if body_digest is not None:
        parts.append(body_digest)
    return hashlib.sha256(b"\0".join(parts)).digest()
