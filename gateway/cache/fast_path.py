"""The shortest way to an answer that is kept: from a request's bytes to the response's.

The long way (scope, middleware, route, key, flags, variables) leads a GET whose answer is kept to
the name of that answer. It is remembered under a digest of all that the long way looked at, so that
the same request again needs none of it: only that the key is still valid, its rate not exceeded,
and the answer still true. Whatever is unusual about a request sends it the long way.

Nothing readable of a request is held: neither its key nor its address.
"""

import hashlib
import time
from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

from starlette.types import Scope

from gateway.authentication import API_KEY_HEADER as API_KEY
from gateway.cache.cached_response import SCOPE_CACHE_KEY
from gateway.cache.response_cache import ResponseCache
from gateway.exchange import SCOPE_API_KEY, SCOPE_ROUTE
from gateway.rate_limit import RateLimiter
from rest.endpoints import CacheKey
from storage import keys
from storage.cache.key_cache import KeyCache
from storage.keys import ApiKey, KeyDigest

RawHeaders = Iterable[tuple[bytes, bytes]]

MAX_ENTRIES = 20_000
"""A way takes some 500 bytes."""
MAX_REQUEST_BYTES = 1_000
"""Of the address and headers of a request that is remembered: a way may outlive its answer."""

_KEY_HEADERS = (API_KEY, b"experimental-flags", b"accept", b"host", b"x-forwarded-proto")
_NEGOTIATION_HEADERS = (b"accept-encoding", b"if-none-match")
_SLOW_PATH_HEADERS = frozenset(
    {b"content-length", b"transfer-encoding", b"expect", b"upgrade", b"connection", b"origin"}
)
_INSPECTED_HEADERS = frozenset({*_KEY_HEADERS, *_NEGOTIATION_HEADERS, *_SLOW_PATH_HEADERS})


class FastResponse(NamedTuple):
    """A response, all but what every response carries."""

    status: int
    header_lines: bytes
    """Header lines."""
    body: bytes
    route: str
    key_id: str


class FastPathEntry(NamedTuple):
    cache_key: CacheKey
    key_digest: KeyDigest
    api_key: ApiKey
    """What was known of the key: another record may have other rights."""
    route: str


class FastPath:
    """Ways to kept answers, the least recently used given up first."""

    def __init__(
        self,
        response_cache: ResponseCache,
        key_cache: KeyCache,
        rate_limiter: RateLimiter,
        extra_headers: bytes = b"",
    ) -> None:
        self._response_cache = response_cache
        self._key_cache = key_cache
        self._rate_limiter = rate_limiter
        self._extra_headers = extra_headers
        """Header lines that the long way adds to every answer."""
        self._entries: OrderedDict[bytes, FastPathEntry] = OrderedDict()

    def find(self, target: bytes, headers: RawHeaders) -> FastResponse | None:
        """The kept answer to a GET; None where only the long way tells."""
        given = _inspect_headers(headers)
        if given is None:
            return None
        digest = _request_digest(target, given)
        way = self._entries.get(digest)
        if way is None:
            return None
        record = self._key_cache.get_cached_key(way.key_digest)
        ready = self._response_cache.get(way.cache_key) if record is way.api_key else None
        if record is None or ready is None:
            del self._entries[digest]
            return None
        if self._rate_limiter.check(record.id, time.monotonic()) is not None:
            return None  # a refusal costs the key nothing: the long way gives the same
        self._entries.move_to_end(digest)
        coded, is_held = ready.select_encoding(
            given.get(b"accept-encoding"), given.get(b"if-none-match")
        )
        if is_held:
            head = coded.not_modified_header_lines + self._extra_headers
            return FastResponse(304, head, b"", way.route, record.id)
        return FastResponse(
            200,
            coded.header_lines + self._extra_headers,
            coded.body_message["body"],
            way.route,
            record.id,
        )

    def remember(self, scope: Scope) -> None:
        """Notes where the long way has led a request, if it was to a kept answer."""
        answer = scope.get(SCOPE_CACHE_KEY)
        if answer is None or scope["method"] != "GET":
            return
        given = _inspect_headers(scope["headers"])
        if given is None:
            return
        query: bytes = scope["query_string"]
        target = scope["raw_path"] + b"?" + query if query else scope["raw_path"]
        if len(target) + sum(map(len, given.values())) > MAX_REQUEST_BYTES:
            return
        key = keys.hash_key(given[API_KEY].decode("latin-1").strip())
        self._entries[_request_digest(target, given)] = FastPathEntry(
            answer, key, scope[SCOPE_API_KEY], scope[SCOPE_ROUTE]
        )
        if len(self._entries) > MAX_ENTRIES:
            self._entries.popitem(last=False)


def _inspect_headers(headers: RawHeaders) -> dict[bytes, bytes] | None:
    """The headers that an answer depends on; None for a request that is unusual."""
    given: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in _INSPECTED_HEADERS:
            if name in given or (name in _SLOW_PATH_HEADERS and not _is_keep_alive(name, value)):
                return None
            given[name] = value
    return given if given.get(API_KEY, b"").strip() else None


def _is_keep_alive(name: bytes, value: bytes) -> bool:
    return name == b"connection" and value.lower() == b"keep-alive"


def _request_digest(target: bytes, given: dict[bytes, bytes]) -> bytes:
    # No header holds a NUL or a newline; an absent one differs from an empty one.
    parts = [target, *(given.get(name, b"\n") for name in _KEY_HEADERS)]
    return hashlib.sha256(b"\0".join(parts)).digest()
