"""From a request to its caller: the key where the specification says, the flags beside it."""

import math
import time
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_plus

from starlette.requests import Request

from gateway.access import KEY, KEY_ID
from gateway.admission import RateLimiter
from resolvers.caller import FLAGS as KNOWN_FLAGS
from resolvers.caller import Caller
from rest.errors import RETRY_AFTER, HttpError
from storage.errors import Unavailable
from storage.keyring import KeyRing

HEADER: Final = b"api-key"
PARAMETER: Final = "api-key"
FLAGS: Final = b"experimental-flags"
_KNOWN: Final = frozenset(KNOWN_FLAGS)
CHALLENGE: Final = {"WWW-Authenticate": 'Key realm="floorgate"'}


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Finds out who asks."""

    ring: KeyRing
    limiter: RateLimiter

    async def __call__(self, request: Request) -> Caller:
        """The caller of a request. Raises HttpError 401, 403, 429 or 503."""
        key = find_key(request)
        try:
            record = await self.ring.check(key)
        except Unavailable as error:
            raise unavailable() from error
        if record is None:
            raise HttpError(403, "Invalid authentication credentials", "FORBIDDEN")
        request.scope[KEY], request.scope[KEY_ID] = record, record.id
        wait_seconds = self.limiter.check(record.id, time.monotonic())
        if wait_seconds is not None:
            raise _over_rate(wait_seconds)
        return Caller(record.id, record.scope, frozenset(record.permissions), flags(request))


def find_key(request: Request) -> str:
    """The key that a request carries; the header counts before the query. Raises HttpError 401."""
    headers: list[str] = [
        value.decode("latin-1") for name, value in request.scope["headers"] if name == HEADER
    ]
    parameters = [
        unquote_plus(value)
        for name, _, value in (
            pair.partition("=")
            for pair in request.scope["query_string"].decode("latin-1").split("&")
        )
        if unquote_plus(name) == PARAMETER
    ]
    if len(headers) > 1 or len(parameters) > 1:
        raise _unauthenticated("Duplicate API key found")
    for key in (*headers, *parameters):
        if key.strip():
            return key.strip()
    raise _unauthenticated("No API key found in request")


def flags(request: Request) -> frozenset[str]:
    """The experimental features that a request opts in to; names of no feature are left out."""
    values = [value.decode("latin-1") for name, value in request.scope["headers"] if name == FLAGS]
    given = {flag.strip(" \t") for value in values for flag in value.split(",")}
    return _KNOWN & given


def unavailable() -> HttpError:
    """The answer while MongoDB is away."""
    return HttpError(503, "Service unavailable", "SERVICE_UNAVAILABLE", headers=RETRY_AFTER)


def _over_rate(wait_seconds: float) -> HttpError:
    # whole seconds (RFC 9110, 10.2.3), rounded up: earlier would be refused again
    headers = {"Retry-After": str(math.ceil(wait_seconds))}
    return HttpError(429, "API rate limit exceeded", "RATE_LIMITED", headers=headers)


def _unauthenticated(message: str) -> HttpError:
    return HttpError(401, message, "UNAUTHENTICATED", headers=CHALLENGE)
