"""Authentication: from a request's API key and experimental flags to its caller.

Requests with invalid keys are limited for each client address.
See docs/decisions/server/rate-limits.md.
"""

import asyncio
import functools
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import unquote_plus

from starlette.requests import Request
from starlette.types import Scope

from gateway.cors import CorsPolicy
from gateway.exchange import (
    SCOPE_AUTHENTICATED_KEY,
    SCOPE_KEY_ID,
    SCOPE_RATE_LIMIT_HEADERS,
    SCOPE_WAITED_SECONDS,
    fields_of,
    get_client_address,
    group_address,
)
from gateway.rate_limits import ArrivalTable, RateLimiter
from resolvers.request import threads
from resolvers.request.caller import FLAGS as KNOWN_FLAGS
from resolvers.request.caller import Caller
from rest.errors import (
    bad_keys_error,
    bound_key_in_address_error,
    duplicate_key_error,
    invalid_key_error,
    missing_key_error,
    origin_error,
    rate_limit_error,
    service_unavailable_error,
)
from storage.administration.api_keys import ApiKey, KeyDigest, hash_key
from storage.cache.api_key_cache import ApiKeyCache, AuthenticatedKey
from storage.cache.cache import Cache
from storage.errors import UnavailableCause, UnavailableError

ADDRESSES_AT_LIMIT = 50
"""All addresses together may send as many invalid keys as this many at their limit."""
LOG_INTERVAL_SECONDS = 60.0
_ALL_ADDRESSES = "all"
_COUNTED_CLIENTS = 10_000

_logger = logging.getLogger("floorgate.keys")


class Excess(NamedTuple):
    """A limit that is exceeded."""

    client: str
    """The client, or all of them."""
    wait_seconds: float


@dataclass(slots=True)
class _Count:
    bad_keys: int = 0
    """Since the last log line."""
    next_line_at: float = 0.0


class BadKeyThrottle:
    """Rate-limit requests with unknown keys, and log the clients that exceed the limit."""

    def __init__(self, per_second: float, burst: int, arrivals: ArrivalTable) -> None:
        self._each = RateLimiter(per_second, burst, arrivals)
        self._all = RateLimiter(
            per_second * ADDRESSES_AT_LIMIT, burst * ADDRESSES_AT_LIMIT, arrivals
        )
        self._counts: Cache[str, _Count] = Cache(max_entries=_COUNTED_CLIENTS)

    def charge(self, client: str) -> Excess | None:
        """Count a request before its key is looked up, so that concurrent ones count as well.

        Return the limit that it exceeds, if any.
        """
        now = time.monotonic()
        wait_seconds = self._each.check(client, now).wait_seconds
        if wait_seconds is not None:
            return Excess(client, wait_seconds)
        wait_seconds = self._all.check(_ALL_ADDRESSES, now).wait_seconds
        if wait_seconds is None:
            return None
        self._each.refund(client)
        return Excess(_ALL_ADDRESSES, wait_seconds)

    def refund(self, client: str) -> None:
        """Take back a charge: the key is valid, or could not be looked up."""
        self._each.refund(client)
        self._all.refund(_ALL_ADDRESSES)

    def count(self, client: str, *, is_throttled: bool) -> None:
        """Count an invalid key. Log a line when the client is throttled, then one a minute.

        With a line for each key, a client could fill the disk.
        """
        count = self._counts.get(client)
        if count is None:
            count = _Count()
            self._counts.put(client, count)
        count.bad_keys += 1
        now = time.monotonic()
        if is_throttled and now >= count.next_line_at:
            fields = {"client": client, "bad_keys": count.bad_keys}
            _logger.warning("invalid API keys are throttled", extra={"fields": fields})
            count.bad_keys, count.next_line_at = 0, now + LOG_INTERVAL_SECONDS


API_KEY_HEADER: Final = b"api-key"
API_KEY_PARAMETER: Final = "api-key"
FLAGS_HEADER: Final = b"experimental-flags"
_SCOPE_PRESENTED_KEY: Final = "floorgate.presented_key"
_KNOWN_FLAGS: Final = frozenset(KNOWN_FLAGS)


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Identify the caller of a request and apply the rate limit of its key."""

    get_key_cache: Callable[[], ApiKeyCache]
    """Raises HttpError before there is one."""
    rate_limiter: RateLimiter
    bad_keys: BadKeyThrottle
    cors: CorsPolicy
    timeout_seconds: float
    """The time to wait for the database, at most."""

    async def __call__(self, request: Request) -> Caller:
        """Return the caller of a request. Raises HttpError 401, 403, 429 or 503."""
        key_cache, started, scope = self.get_key_cache(), time.monotonic(), request.scope
        key = find_api_key(scope)
        if key.is_repeated:
            raise duplicate_key_error()
        if not key.text:
            raise missing_key_error()
        record = key_cache.get_cached_key(key.digest)
        if record is None:
            scope[SCOPE_KEY_ID] = key_cache.find_key_id(key.text)  # for the log, if it has to wait
            client = group_address(get_client_address(scope))
            record = await self._look_up(key_cache, key.text, client)
        now = time.monotonic()
        scope[SCOPE_AUTHENTICATED_KEY] = AuthenticatedKey(record, key.digest)
        scope[SCOPE_KEY_ID] = record.id
        scope[SCOPE_WAITED_SECONDS] = now - started
        threads.owner.set(record.id)
        if record.origins:  # before the request counts: other sites must not use up the rate
            self._check_origin(record, scope)
        status = self.rate_limiter.check(record.id, now)
        scope[SCOPE_RATE_LIMIT_HEADERS] = status.headers
        if status.wait_seconds is not None:
            raise rate_limit_error(status.wait_seconds)
        return Caller(
            record.id,
            record.scope,
            frozenset(record.permissions),
            parse_flags(fields_of(scope).get(FLAGS_HEADER)),
            record.expires_at,
        )

    def _check_origin(self, record: ApiKey, scope: Scope) -> None:
        """Raise HttpError 403 if a browser sends a key from a page that may not use it.

        For a picture or a link to an address with the key in it, no browser says from what page.
        """
        fields = fields_of(scope)
        if b"origin" not in fields and API_KEY_HEADER not in fields:
            raise bound_key_in_address_error()
        refused = self.cors.find_refused_origin(scope, record.origins.__contains__)
        if refused is not None:
            raise origin_error(refused)

    async def _look_up(self, key_cache: ApiKeyCache, key: str, client: str) -> ApiKey:
        """Return a key that is not cached. Raises HttpError 403, 429 or 503.

        A client over its limit cannot make us read the database for each key; we look at the
        digests of all keys instead, so that valid keys of others at its address still work.
        """
        excess = self.bad_keys.charge(client)
        valid_key = None
        try:
            async with asyncio.timeout(self.timeout_seconds):
                if excess is None or await key_cache.is_stored(key):
                    valid_key = await key_cache.get_valid_key(key)
        except (UnavailableError, TimeoutError) as error:
            if excess is None:
                self.bad_keys.refund(client)
            cause = getattr(error, "cause", None) or key_cache.find_loss()
            raise service_unavailable_error(cause or UnavailableCause.DEADLINE_EXCEEDED) from error
        if valid_key is None:
            self.bad_keys.count(excess.client if excess else client, is_throttled=bool(excess))
            raise bad_keys_error(excess.wait_seconds) if excess else invalid_key_error()
        if excess is None:
            self.bad_keys.refund(client)
        return valid_key


class PresentedKey(NamedTuple):
    """The API key of a request, of which nothing is known yet."""

    headers: Sequence[tuple[bytes, bytes]]
    """The headers that it was found with."""
    text: str
    """Empty if there is none."""
    digest: KeyDigest
    is_repeated: bool
    """Tells whether there is more than one in the header, or in the query."""


def find_api_key(scope: Scope) -> PresentedKey:
    """Return the API key of a request, from the header or else the query.

    It is found and hashed once: admission asks for it, and then authentication.
    """
    presented: PresentedKey | None = scope.get(_SCOPE_PRESENTED_KEY)
    if presented is None or presented.headers is not scope["headers"]:  # that of another request
        lines = fields_of(scope).list_lines(API_KEY_HEADER)
        in_header = [value.decode("latin-1").strip() for value in lines]
        in_query = _query_keys(scope["query_string"]) if scope["query_string"] else []
        text = next(filter(None, in_header + in_query), "")
        is_repeated = len(in_header) > 1 or len(in_query) > 1
        presented = PresentedKey(scope["headers"], text, hash_key(text), is_repeated)
        scope[_SCOPE_PRESENTED_KEY] = presented
    return presented


def _query_keys(query: bytes) -> list[str]:
    pairs = (pair.partition("=") for pair in query.decode("latin-1").split("&"))
    return [
        unquote_plus(value).strip()
        for name, _, value in pairs
        if name == API_KEY_PARAMETER or ("%" in name and unquote_plus(name) == API_KEY_PARAMETER)
    ]


@functools.lru_cache(maxsize=64)
def parse_flags(header: bytes | None) -> frozenset[str]:
    """Return the experimental features that a request opts in to. Ignore unknown names.

    >>> sorted(parse_flags(b"distances, changes,teleport"))
    ['changes', 'distances']
    """
    names = header.decode("latin-1").split(",") if header else ()
    return _KNOWN_FLAGS.intersection(name.strip(" \t") for name in names)
