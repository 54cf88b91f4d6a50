"""Retries of what fails for a while: 429, 503 and lost connections."""

import ssl
from typing import TypeAlias

import httpx
from httpx_retries import Retry, RetryTransport

from floorgate_client.errors import error_of

Trust: TypeAlias = ssl.SSLContext | bool

MAX_PAUSE_SECONDS = 60
STATUSES = (429, 503)
"""The service says in `Retry-After` when to try again. Every endpoint may be repeated: writes
replace or remove, and doing so twice is the same as once."""
RETRY = Retry(
    total=4,
    allowed_methods=("GET", "HEAD", "PUT", "POST"),
    status_forcelist=STATUSES,
    # Pauses where there is no `Retry-After`: of at most so many seconds, later ones longer.
    backoff_factor=0.1,
)


def retry(proxy: str | None, verify: Trust) -> RetryTransport:
    """Return a transport that tries again."""
    return RetryTransport(_ReadingTransport(proxy=proxy, verify=verify), RETRY)


def retry_async(proxy: str | None, verify: Trust) -> RetryTransport:
    """Return a transport for asyncio that tries again."""
    return RetryTransport(_AsyncReadingTransport(proxy=proxy, verify=verify), RETRY)


class _ReadingTransport(httpx.HTTPTransport):
    """A transport that reads bodies, so that losing the connection meanwhile is noticed here."""

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        response.request = request
        response.read()
        _refuse_long_pause(response)
        return response


class _AsyncReadingTransport(httpx.AsyncHTTPTransport):
    """The same for asyncio."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        response.request = request
        await response.aread()
        _refuse_long_pause(response)
        return response


def _refuse_long_pause(response: httpx.Response) -> None:
    """Raise FloorgateError if the service says to try again only after a longer pause."""
    if response.status_code not in STATUSES:
        return
    error = error_of(response)
    if (error.retry_after or 0) > MAX_PAUSE_SECONDS:
        raise error
