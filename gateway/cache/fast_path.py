"""The fast path: answer a GET from its bytes when its response is cached.

The full pipeline (ASGI scope, middleware, routing, authentication, flags, variables) maps a GET to
a cache key. We remember that key under a SHA-256 of everything the pipeline looked at, so that an
identical request can skip the pipeline. Only three checks remain: the API key is still valid, its
rate limit is not exceeded, and the cached response is still valid. Anything unusual about a request
sends it through the pipeline. See docs/decisions/server/response-cache.md.

Entries hold neither API keys nor URLs in readable form.
"""

import hashlib
import time
from typing import NamedTuple

from starlette.types import Scope

from gateway.authentication import API_KEY_HEADER
from gateway.cache.cached_response import SCOPE_CACHE_KEY, serialize_headers
from gateway.cache.response_cache import ResponseCache
from gateway.exchange import (
    EXPLAIN_HEADER,
    MAX_WRITE_BYTES,
    SCOPE_AUTHENTICATED_KEY,
    RawHeaders,
)
from gateway.limits.rate_limit import RateLimiter
from rest.endpoints import CacheKey
from rest.scope_members import (
    SCOPE_DEPRECATION,
    SCOPE_IGNORED_PARAMETERS,
    SCOPE_OPERATION,
    SCOPE_ROUTE,
)
from storage.cache.api_key_cache import ApiKeyCache, AuthenticatedKey
from storage.cache.cache import Cache

MAX_ENTRIES = 20_000
"""An entry takes some 500 bytes."""
MAX_KEY_BYTES = 1_000
"""Maximum bytes of a cache key that gets an entry. Entries may outlive the cached response, so keep
them small. Keys of REST contain the URL and the variables; those of GraphQL contain a digest, so
that an operation and its variables may be as long as a URL."""

_KEY_HEADERS = (API_KEY_HEADER, b"experimental-flags", b"accept", b"host", b"x-forwarded-proto")
_NEGOTIATION_HEADERS = (b"accept-encoding", b"if-none-match")
_SLOW_PATH_HEADERS = frozenset(
    {
        b"content-length",
        b"transfer-encoding",
        b"expect",
        b"upgrade",
        b"connection",
        b"origin",
        EXPLAIN_HEADER,
    }
)
_INSPECTED_HEADERS = frozenset({*_KEY_HEADERS, *_NEGOTIATION_HEADERS, *_SLOW_PATH_HEADERS})


class FastResponse(NamedTuple):
    """A response, without the headers that every response has."""

    status: int
    header_lines: bytes
    body: bytes
    route: str
    key_id: str
    operation: str | None = None


class FastPathEntry(NamedTuple):
    """The cache key, API key and route that the pipeline determined for a request."""

    cache_key: CacheKey
    authenticated_key: AuthenticatedKey
    """As the pipeline saw it. If the key is read again, its permissions may have changed."""
    route: str
    operation: str | None


class FastPath:
    """An LRU cache from requests to the keys of their cached responses."""

    def __init__(
        self,
        response_cache: ResponseCache,
        key_cache: ApiKeyCache,
        rate_limiter: RateLimiter,
        extra_headers: bytes = b"",
    ) -> None:
        self._response_cache = response_cache
        self._key_cache = key_cache
        self._rate_limiter = rate_limiter
        self._extra_headers = extra_headers
        """Header lines that the pipeline adds to every response."""
        self._entries: Cache[bytes, FastPathEntry] = Cache(max_entries=MAX_ENTRIES)

    def find(self, target: bytes, headers: RawHeaders) -> FastResponse | None:
        """Return the cached response to a GET, or None to run the full pipeline."""
        inspected = _inspect_headers(headers)
        if inspected is None:
            return None
        digest = _request_digest(target, inspected)
        entry = self._entries.get(digest)
        if entry is None:
            return None
        record, key_digest = entry.authenticated_key
        # Identity: a record that was read again may have other permissions.
        is_same_key = self._key_cache.get_cached_key(key_digest) is record
        response = self._response_cache.get(entry.cache_key) if is_same_key else None
        if response is None:
            self._entries.discard(digest)
            return None
        negotiation = inspected.get(b"accept-encoding"), inspected.get(b"if-none-match")
        if not response.is_ready(*negotiation):
            return None  # the pipeline encodes it in a thread
        encoded, is_match = response.select_encoding(*negotiation)
        if not is_match and len(encoded.body_message["body"]) > MAX_WRITE_BYTES:
            return None  # the pipeline writes it piece by piece
        status = self._rate_limiter.check(record.id, time.monotonic())
        if status.wait_seconds is not None:
            return None  # let the pipeline produce the 429; a rejected request is not counted
        extra_headers = self._extra_headers + serialize_headers(status.headers)
        if is_match:
            head = encoded.not_modified_header_lines + extra_headers
            return FastResponse(304, head, b"", entry.route, record.id, entry.operation)
        head, body = encoded.header_lines + extra_headers, encoded.body_message["body"]
        return FastResponse(200, head, body, entry.route, record.id, entry.operation)

    def can_answer(self, scope: Scope) -> bool:
        """Return whether `find` would answer a request without its header `Floorgate-Explain`.

        The rate limit is not asked.
        """
        headers = [(name, value) for name, value in scope["headers"] if name != EXPLAIN_HEADER]
        inspected = _inspect_headers(headers) if scope["method"] == "GET" else None
        if inspected is None:
            return False
        entry = self._entries.peek(_request_digest(_get_target(scope), inspected), None)
        if entry is None:
            return False
        record, key_digest = entry.authenticated_key
        is_same_key = self._key_cache.get_cached_key(key_digest) is record
        return is_same_key and self._response_cache.contains(entry.cache_key)

    def remember(self, scope: Scope) -> None:
        """Add an entry for a request that the pipeline has led to a cached response."""
        cache_key = scope.get(SCOPE_CACHE_KEY)
        if cache_key is None or scope["method"] != "GET":
            return
        if SCOPE_IGNORED_PARAMETERS in scope or SCOPE_DEPRECATION in scope:
            return  # the cached response has none of the headers that say so
        inspected = _inspect_headers(scope["headers"])
        if inspected is None:
            return
        if sum(len(part) for part in cache_key if isinstance(part, (str, bytes))) > MAX_KEY_BYTES:
            return
        entry = FastPathEntry(
            cache_key,
            scope[SCOPE_AUTHENTICATED_KEY],
            scope[SCOPE_ROUTE],
            scope.get(SCOPE_OPERATION),
        )
        self._entries.put(_request_digest(_get_target(scope), inspected), entry)


def _get_target(scope: Scope) -> bytes:
    path, query = bytes(scope["raw_path"]), bytes(scope["query_string"])
    return path + b"?" + query if query else path


def _inspect_headers(headers: RawHeaders) -> dict[bytes, bytes] | None:
    """Return the headers that a response depends on, or None if the request is unusual."""
    inspected: dict[bytes, bytes] = {}
    for name, value in headers:
        if name in _INSPECTED_HEADERS:
            is_repeated = name in inspected
            if is_repeated or (name in _SLOW_PATH_HEADERS and not _is_keep_alive(name, value)):
                return None
            inspected[name] = value
    return inspected if inspected.get(API_KEY_HEADER, b"").strip() else None


def _is_keep_alive(name: bytes, value: bytes) -> bool:
    return name == b"connection" and value.lower() == b"keep-alive"


def _request_digest(target: bytes, inspected: dict[bytes, bytes]) -> bytes:
    # No header value contains a NUL or a newline, so parts cannot run into one another, and a
    # missing header differs from an empty one.
    parts = [target, *(inspected.get(name, b"\n") for name in _KEY_HEADERS)]
    return hashlib.sha256(b"\0".join(parts)).digest()
