"""Entity tags, 304 and compression for every complete response, whichever door made it."""

from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.cache.cached_response import CachedResponse, HeaderList
from gateway.middleware import compression
from rest.endpoints import RESPONSE_HEADERS

DEFAULT_HEADERS = [
    (name.lower().encode(), value.encode()) for name, value in RESPONSE_HEADERS.items()
]
"""For what brings none of its own, errors included: a shared cache would keep a 404 otherwise."""


class ConditionalMiddleware:
    """Adds a strong `ETag` to each 200 of GET and HEAD, answers `If-None-Match`, compresses.

    Responses that come in pieces, or bring their own tag or coding, pass unchanged.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start: Message | None = None

        async def deliver(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            if start is not None:
                begun, start = start, None
                if not message.get("more_body"):
                    begun, message = _finalize_response(scope, begun, message)
                await send(begun)
            await send(message)

        await self.app(scope, receive, deliver)


def _finalize_response(scope: Scope, start: Message, message: Message) -> tuple[Message, Message]:
    headers: HeaderList = list(start["headers"])
    names = {name for name, _ in headers}
    body: bytes = message.get("body", b"")
    headers += [header for header in DEFAULT_HEADERS if header[0] not in names]
    if b"etag" in names or b"content-encoding" in names or not body:
        return {**start, "headers": headers}, message
    if scope["method"] in ("GET", "HEAD") and start["status"] == 200:
        return CachedResponse(headers, body).select_messages(scope)
    encoding = compression.choose_encoding(
        _join_header_values(scope, b"accept-encoding"), len(body)
    )
    if encoding != "identity":
        body = compression.compress(body, encoding)
        headers = [*_remove_headers(headers, {b"content-length"}), _content_length_header(body)]
        headers.append((b"content-encoding", encoding.encode()))
    sent = b"" if scope["method"] == "HEAD" else body
    return {**start, "headers": headers}, {**message, "body": sent}


def _join_header_values(scope: Scope, header_name: bytes) -> bytes | None:
    values = [value for name, value in scope["headers"] if name == header_name]
    return b", ".join(values) if values else None


def _remove_headers(headers: Iterable[tuple[bytes, bytes]], names: set[bytes]) -> HeaderList:
    return [(name, value) for name, value in headers if name not in names]


def _content_length_header(body: bytes) -> tuple[bytes, bytes]:
    return b"content-length", str(len(body)).encode()
