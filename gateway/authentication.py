"""Authentication: from a request's API key and experimental flags to its caller."""

import time
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_plus

from starlette.requests import Request

from gateway.client_address import group_address
from gateway.exchange import (
    SCOPE_AUTHENTICATED_KEY,
    SCOPE_KEY_ID,
    SCOPE_RATE_LIMIT_HEADERS,
    get_client_address,
)
from gateway.limits.bad_keys import BadKeyThrottle
from gateway.limits.rate_limit import RateLimiter
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
from storage.errors import UnavailableError

API_KEY_HEADER: Final = b"api-key"
API_KEY_PARAMETER: Final = "api-key"
FLAGS_HEADER: Final = b"experimental-flags"
_KNOWN_FLAGS: Final = frozenset(KNOWN_FLAGS)


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Identify the caller of a request and apply the rate limit of its key."""

    key_cache: ApiKeyCache
    rate_limiter: RateLimiter
    bad_keys: BadKeyThrottle

    async def __call__(self, request: Request) -> Caller:
        """Return the caller of a request. Raises HttpError 401, 403, 429 or 503."""
        key = get_api_key(request)
        valid_key = self.key_cache.find_authenticated_key(key)
        if valid_key is None:
            client = group_address(get_client_address(request.scope))
            valid_key = await self._look_up(key, client)
        record = valid_key.record
        request.scope[SCOPE_AUTHENTICATED_KEY], request.scope[SCOPE_KEY_ID] = valid_key, record.id
        status = self.rate_limiter.check(record.id, time.monotonic())
        request.scope[SCOPE_RATE_LIMIT_HEADERS] = status.headers
        if status.wait_seconds is not None:
            raise rate_limit_error(status.wait_seconds)
        return Caller(
            record.id,
            record.scope,
            frozenset(record.permissions),
            parse_flags(request),
            record.expires_at,
        )

    async def _look_up(self, key: str, client: str) -> AuthenticatedKey:
        """Return a key that is not cached. Raises HttpError 403, 429 or 503.

        A client over its limit cannot make us read the database for each key; we look at the
        digests of all keys instead, so that valid keys of others at its address still work.
        """
        excess = self.bad_keys.charge(client)
        valid_key = None
        try:
            if excess is None or await self.key_cache.is_stored(key):
                valid_key = await self.key_cache.get_authenticated_key(key)
        except UnavailableError as error:
            if excess is None:
                self.bad_keys.refund(client)
            raise service_unavailable_error() from error
        if valid_key is None:
            self.bad_keys.count(excess.client if excess else client, is_throttled=bool(excess))
            raise bad_keys_error(excess.wait_seconds) if excess else invalid_key_error()
        if excess is None:
            self.bad_keys.refund(client)
        return valid_key


def get_api_key(request: Request) -> str:
    """Return the API key of a request, from the header or else the query. Raises HttpError 401."""
    headers: list[str] = [
        value.decode("latin-1")
        for name, value in request.scope["headers"]
        if name == API_KEY_HEADER
    ]
    parameters = [
        unquote_plus(value)
        for name, _, value in (
            pair.partition("=")
            for pair in request.scope["query_string"].decode("latin-1").split("&")
        )
        if unquote_plus(name) == API_KEY_PARAMETER
    ]
    if len(headers) > 1 or len(parameters) > 1:
        raise duplicate_key_error()
    for key in (*headers, *parameters):
        if key.strip():
            return key.strip()
    raise missing_key_error()


def parse_flags(request: Request) -> frozenset[str]:
    """Return the experimental features that a request opts in to. Ignore unknown names."""
    values = [
        value.decode("latin-1") for name, value in request.scope["headers"] if name == FLAGS_HEADER
    ]
    flags = {flag.strip(" \t") for value in values for flag in value.split(",")}
    return _KNOWN_FLAGS & flags
