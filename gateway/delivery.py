"""Entity tags, 304 and compression for every complete response, whichever door made it."""

from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway import compression
from rest.endpoints import HEADERS

Headers = list[tuple[bytes, bytes]]

DEFAULTS = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
"""For what brings none of its own, errors included: a shared cache would keep a 404 otherwise."""

KEPT_WITH_304 = {b"cache-control", b"content-location", b"date", b"expires", b"link", b"vary"}
"""What RFC 9110, 15.4.5, wants repeated; `Link` besides, for clients that page by it."""


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
    encoding = compression.encoding_for(_joined(scope, b"accept-encoding"), len(body))
    if scope["method"] in ("GET", "HEAD") and start["status"] == 200:
        tag = compression.etag(body)
        asked = _joined(scope, b"if-none-match")
        for each in (encoding, *CODINGS):
            # A client that holds the body in another coding holds the same truth.
            coded = compression.for_encoding(tag, each)
            if compression.matches(asked, coded):
                kept = [(name, value) for name, value in headers if name in KEPT_WITH_304]
                return (
                    {**start, "status": 304, "headers": [*kept, (b"etag", coded.encode())]},
                    {**message, "body": b""},
                )
        headers.append((b"etag", compression.for_encoding(tag, encoding).encode()))
    if encoding != "identity":
        body = compression.compress(body, encoding)
        headers = [*_without(headers, {b"content-length"}), _length(body)]
        headers.append((b"content-encoding", encoding.encode()))
    sent = b"" if scope["method"] == "HEAD" else body
    return {**start, "headers": headers}, {**message, "body": sent}


CODINGS: tuple[compression.Encoding, ...] = ("identity", "gzip", "zstd")


def _joined(scope: Scope, wanted: bytes) -> bytes | None:
    values = [value for name, value in scope["headers"] if name == wanted]
    return b", ".join(values) if values else None


def _without(headers: Iterable[tuple[bytes, bytes]], names: set[bytes]) -> Headers:
    return [(name, value) for name, value in headers if name not in names]


def _length(body: bytes) -> tuple[bytes, bytes]:
    return b"content-length", str(len(body)).encode()
