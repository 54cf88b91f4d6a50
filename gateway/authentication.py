"""Authentication: from a request's API key and experimental flags to its caller."""

import math
import time
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_plus

from starlette.requests import Request

from gateway.exchange import SCOPE_API_KEY, SCOPE_KEY_ID
from gateway.rate_limit import RateLimiter
from resolvers.request.caller import FLAGS as KNOWN_FLAGS
from resolvers.request.caller import Caller
from rest.errors import RETRY_AFTER_HEADERS, HttpError
from storage.cache.key_cache import KeyCache
from storage.errors import UnavailableError

API_KEY_HEADER: Final = b"api-key"
API_KEY_PARAMETER: Final = "api-key"
FLAGS_HEADER: Final = b"experimental-flags"
_KNOWN_FLAGS: Final = frozenset(KNOWN_FLAGS)
AUTHENTICATE_HEADERS: Final = {"WWW-Authenticate": 'Key realm="floorgate"'}


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Identify the caller of a request and apply the rate limit of its key."""

    key_cache: KeyCache
    rate_limiter: RateLimiter

    async def __call__(self, request: Request) -> Caller:
        """Return the caller of a request. Raises HttpError 401, 403, 429 or 503."""
        key = get_api_key(request)
        try:
            record = await self.key_cache.get_valid_key(key)
        except UnavailableError as error:
            raise service_unavailable_error() from error
        if record is None:
            raise HttpError(403, "Invalid authentication credentials", "FORBIDDEN")
        request.scope[SCOPE_API_KEY], request.scope[SCOPE_KEY_ID] = record, record.id
        wait_seconds = self.rate_limiter.check(record.id, time.monotonic())
        if wait_seconds is not None:
            raise _rate_limit_error(wait_seconds)
        return Caller(record.id, record.scope, frozenset(record.permissions), parse_flags(request))


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
        raise _unauthenticated_error("Duplicate API key found")
    for key in (*headers, *parameters):
        if key.strip():
            return key.strip()
    raise _unauthenticated_error("No API key found in request")


def parse_flags(request: Request) -> frozenset[str]:
    """Return the experimental features that a request opts in to. Ignore unknown names."""
    values = [
        value.decode("latin-1") for name, value in request.scope["headers"] if name == FLAGS_HEADER
    ]
    flags = {flag.strip(" \t") for value in values for flag in value.split(",")}
    return _KNOWN_FLAGS & flags


def service_unavailable_error() -> HttpError:
    """Return the error for requests while MongoDB is unavailable."""
    return HttpError(503, "Service unavailable", "SERVICE_UNAVAILABLE", headers=RETRY_AFTER_HEADERS)


def _rate_limit_error(wait_seconds: float) -> HttpError:
    # Whole seconds (RFC 9110, 10.2.3), rounded up: any earlier retry would be rejected again.
    headers = {"Retry-After": str(math.ceil(wait_seconds))}
    return HttpError(429, "API rate limit exceeded", "RATE_LIMITED", headers=headers)


def _unauthenticated_error(message: str) -> HttpError:
    return HttpError(401, message, "UNAUTHENTICATED", headers=AUTHENTICATE_HEADERS)
