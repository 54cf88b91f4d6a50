"""Entity tags, 304 and compression for every complete response, whichever door made it."""

from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway import compression
from gateway.ready import Headers, Ready
from rest.endpoints import HEADERS

DEFAULTS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
"""For what brings none of its own, errors included: a shared cache would keep a 404 otherwise."""


class Delivery:
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
                    begun, message = _finished(scope, begun, message)
                await send(begun)
            await send(message)

        await self.app(scope, receive, deliver)


def _finished(scope: Scope, start: Message, message: Message) -> tuple[Message, Message]:
    headers: Headers = list(start["headers"])
    names = {name for name, _ in headers}
    body: bytes = message.get("body", b"")
    headers += [header for header in DEFAULTS if header[0] not in names]
    if b"etag" in names or b"content-encoding" in names or not body:
        return {**start, "headers": headers}, message
    if scope["method"] in ("GET", "HEAD") and start["status"] == 200:
        return Ready(headers, body).answer(scope)
    encoding = compression.encoding_for(_joined(scope, b"accept-encoding"), len(body))
    if encoding != "identity":
        body = compression.compress(body, encoding)
        headers = [*_without(headers, {b"content-length"}), _length(body)]
        headers.append((b"content-encoding", encoding.encode()))
    sent = b"" if scope["method"] == "HEAD" else body
    return {**start, "headers": headers}, {**message, "body": sent}


def _joined(scope: Scope, wanted: bytes) -> bytes | None:
    values = [value for name, value in scope["headers"] if name == wanted]
    return b", ".join(values) if values else None


def _without(headers: Iterable[tuple[bytes, bytes]], names: set[bytes]) -> Headers:
    return [(name, value) for name, value in headers if name not in names]


def _length(body: bytes) -> tuple[bytes, bytes]:
    return b"content-length", str(len(body)).encode()
