"""Authentication: from a request's API key and experimental flags to its caller."""

import asyncio
import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_plus

from starlette.requests import Request
from starlette.types import Scope

from gateway.client_address import group_address
from gateway.exchange import (
    SCOPE_AUTHENTICATED_KEY,
    SCOPE_KEY_ID,
    SCOPE_RATE_LIMIT_HEADERS,
    SCOPE_WAITED_SECONDS,
    get_client_address,
)
from gateway.header_fields import fields_of
from gateway.limits.bad_keys import BadKeyThrottle
from gateway.limits.rate_limit import RateLimiter
from resolvers.request import threads
from resolvers.request.caller import FLAGS as KNOWN_FLAGS
from resolvers.request.caller import Caller
from rest.errors import (
    bad_keys_error,
    duplicate_key_error,
    invalid_key_error,
    missing_key_error,
    rate_limit_error,
    service_unavailable_error,
)
from storage.cache.api_key_cache import ApiKeyCache, AuthenticatedKey
from storage.errors import Cause, UnavailableError

API_KEY_HEADER: Final = b"api-key"
API_KEY_PARAMETER: Final = "api-key"
FLAGS_HEADER: Final = b"experimental-flags"
_KNOWN_FLAGS: Final = frozenset(KNOWN_FLAGS)


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Identify the caller of a request and apply the rate limit of its key."""

    get_key_cache: Callable[[], ApiKeyCache]
    """Raises HttpError before there is one."""
    rate_limiter: RateLimiter
    bad_keys: BadKeyThrottle
    timeout_seconds: float
    """How long to wait for the database, at most."""

    async def __call__(self, request: Request) -> Caller:
        """Return the caller of a request. Raises HttpError 401, 403, 429 or 503."""
        key_cache, started, scope = self.get_key_cache(), time.monotonic(), request.scope
        key = get_api_key(scope)
        valid_key = key_cache.find_authenticated_key(key)
        if valid_key is None:
            client = group_address(get_client_address(scope))
            valid_key = await self._look_up(key_cache, key, client)
        record, now = valid_key.record, time.monotonic()
        scope[SCOPE_AUTHENTICATED_KEY], scope[SCOPE_KEY_ID] = valid_key, record.id
        scope[SCOPE_WAITED_SECONDS] = now - started
        threads.owner.set(record.id)
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

    async def _look_up(self, key_cache: ApiKeyCache, key: str, client: str) -> AuthenticatedKey:
        """Return a key that is not cached. Raises HttpError 403, 429 or 503.

        A client over its limit cannot make us read the database for each key; we look at the
        digests of all keys instead, so that valid keys of others at its address still work.
        """
        excess = self.bad_keys.charge(client)
        valid_key = None
        try:
            async with asyncio.timeout(self.timeout_seconds):
                if excess is None or await key_cache.is_stored(key):
                    valid_key = await key_cache.get_authenticated_key(key)
        except (UnavailableError, TimeoutError) as error:
            if excess is None:
                self.bad_keys.refund(client)
            raise service_unavailable_error(Cause.DEADLINE) from error
        if valid_key is None:
            self.bad_keys.count(excess.client if excess else client, is_throttled=bool(excess))
            raise bad_keys_error(excess.wait_seconds) if excess else invalid_key_error()
        if excess is None:
            self.bad_keys.refund(client)
        return valid_key


def get_api_key(scope: Scope) -> str:
    """Return the API key of a request, from the header or else the query. Raises HttpError 401."""
    headers, parameters = _header_keys(scope), _query_keys(scope)
    if len(headers) > 1 or len(parameters) > 1:
        raise duplicate_key_error()
    key = _first_key(headers) or _first_key(parameters)
    if key is None:
        raise missing_key_error()
    return key


def find_api_key(scope: Scope) -> str | None:
    """Return the API key that `get_api_key` returns for the request, or None if it raises, except
    that duplicates are not looked for.
    """
    return _first_key(_header_keys(scope)) or _first_key(_query_keys(scope))


def _header_keys(scope: Scope) -> list[str]:
    return [value.decode("latin-1") for value in fields_of(scope).list_lines(API_KEY_HEADER)]


def _query_keys(scope: Scope) -> list[str]:
    query: bytes = scope["query_string"]
    if not query:
        return []
    pairs = (pair.partition("=") for pair in query.decode("latin-1").split("&"))
    return [unquote_plus(value) for name, _, value in pairs if _is_key_parameter(name)]


def _is_key_parameter(name: str) -> bool:
    return name == API_KEY_PARAMETER or ("%" in name and unquote_plus(name) == API_KEY_PARAMETER)


def _first_key(keys: list[str]) -> str | None:
    for key in keys:
        if stripped := key.strip():
            return stripped
    return None


@functools.lru_cache(maxsize=64)
def parse_flags(header: bytes | None) -> frozenset[str]:
    """Return the experimental features that a request opts in to. Ignore unknown names.

    >>> sorted(parse_flags(b"distances, changes,teleport"))
    ['changes', 'distances']
    """
    names = header.decode("latin-1").split(",") if header else ()
    return _KNOWN_FLAGS.intersection(name.strip(" \t") for name in names)
