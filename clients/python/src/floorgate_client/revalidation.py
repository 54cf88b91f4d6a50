"""Reuse of responses: a GET sends the ETag of the last response, and a 304 stands for its body."""

from collections import OrderedDict
from threading import Lock
from typing import NamedTuple

import httpx

MAX_BYTES = 50_000_000
"""Of all bodies that are kept."""
_KEY_HEADERS = ("api-key", "experimental-flags", "accept")


class _Kept(NamedTuple):
    etag: str
    headers: httpx.Headers
    body: bytes


class Revalidation:
    """The responses that may be used again, the least recently used leaving first."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._lock = Lock()
        self._kept: OrderedDict[tuple[str, ...], _Kept] = OrderedDict()

    def prepare(self, request: httpx.Request) -> _Kept | None:
        """Add `If-None-Match` to a GET and return the response that it names, if there is one."""
        if request.method != "GET" or "if-none-match" in request.headers:
            return None
        key = _key_of(request)
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                return None
            self._kept.move_to_end(key)
        request.headers["If-None-Match"] = kept.etag
        return kept

    def restore(self, kept: _Kept, response: httpx.Response) -> httpx.Response:
        """Return the whole response that a 304 stands for."""
        headers = [
            *(
                (name, value)
                for name, value in kept.headers.items()
                if name not in response.headers
            ),
            *response.headers.items(),
        ]
        return httpx.Response(200, headers=headers, content=kept.body)

    def keep(self, request: httpx.Request, response: httpx.Response) -> None:
        """Keep a response that has been read, if it has an ETag."""
        etag = response.headers.get("etag")
        if request.method != "GET" or response.status_code != 200 or etag is None:
            return
        key = _key_of(request)
        headers = httpx.Headers(
            [
                (name, value)
                for name, value in response.headers.items()
                # The body is kept decoded.
                if name not in ("content-encoding", "content-length", "transfer-encoding")
            ]
        )
        with self._lock:
            if previous := self._kept.pop(key, None):
                self._bytes -= len(previous.body)
            self._kept[key] = _Kept(etag, headers, response.content)
            self._bytes += len(response.content)
            while self._bytes > self._max_bytes:
                _, dropped = self._kept.popitem(last=False)
                self._bytes -= len(dropped.body)


def _key_of(request: httpx.Request) -> tuple[str, ...]:
    return (str(request.url), *(request.headers.get(name, "") for name in _KEY_HEADERS))


class RevalidatingTransport(httpx.BaseTransport):
    """A transport that reuses the responses of another, which reads them."""

    def __init__(self, transport: httpx.BaseTransport) -> None:
        self._transport = transport
        self._revalidation = Revalidation()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request."""
        kept = self._revalidation.prepare(request)
        response = self._transport.handle_request(request)
        if kept is not None and response.status_code == 304:
            return self._revalidation.restore(kept, response)
        self._revalidation.keep(request, response)
        return response

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()


class AsyncRevalidatingTransport(httpx.AsyncBaseTransport):
    """The same for asyncio."""

    def __init__(self, transport: httpx.AsyncBaseTransport) -> None:
        self._transport = transport
        self._revalidation = Revalidation()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request."""
        kept = self._revalidation.prepare(request)
        response = await self._transport.handle_async_request(request)
        if kept is not None and response.status_code == 304:
            return self._revalidation.restore(kept, response)
        self._revalidation.keep(request, response)
        return response

    async def aclose(self) -> None:
        """Close the connections."""
        await self._transport.aclose()
