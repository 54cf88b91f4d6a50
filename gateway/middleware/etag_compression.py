"""Entity tags, 304 and compression for every complete response, REST or GraphQL."""

import asyncio
from collections.abc import Iterable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway import compression
from gateway.cache.cached_response import CachedResponse, HeaderList
from rest.endpoints import RESPONSE_HEADERS

DEFAULT_HEADERS = [
    (name.lower().encode(), value.encode()) for name, value in RESPONSE_HEADERS.items()
]
"""Added where absent, to errors too: a shared cache may store a 404 (RFC 9110, 15.1)."""


class EtagCompressionMiddleware:
    """Add a strong `ETag` to each 200 of GET and HEAD, answer `If-None-Match`, and compress.

    Streamed responses, and those that already have an `ETag` or `Content-Encoding`, only get
    the default headers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        pending_start: Message | None = None

        async def send_finalized(message: Message) -> None:
            nonlocal pending_start
            if message["type"] == "http.response.start":
                pending_start = message  # its headers depend on the body
                return
            if pending_start is not None:
                start, pending_start = pending_start, None
                if not message.get("more_body"):
                    start, message = await _finalize_response(scope, start, message)
                await send(start)
            await send(message)

        await self.app(scope, receive, send_finalized)


async def _finalize_response(
    scope: Scope, start: Message, message: Message
) -> tuple[Message, Message]:
    headers: HeaderList = list(start["headers"])
    names = {name for name, _ in headers}
    body: bytes = message.get("body", b"")
    headers += [header for header in DEFAULT_HEADERS if header[0] not in names]
    if b"etag" in names or b"content-encoding" in names or not body:
        return {**start, "headers": headers}, message
    if scope["method"] in ("GET", "HEAD") and start["status"] == 200:
        return await CachedResponse(headers, body).prepare_messages(scope)
    encoding = compression.choose_encoding(
        _join_header_values(scope, b"accept-encoding"), len(body)
    )
    if encoding != "identity":
        if compression.is_slow(len(body), encoding):
            body = await asyncio.to_thread(compression.compress, body, encoding)
        else:
            body = compression.compress(body, encoding)
        headers = [*_remove_headers(headers, {b"content-length"}), _content_length_header(body)]
        headers.append((b"content-encoding", encoding.encode()))
    sent_body = b"" if scope["method"] == "HEAD" else body
    return {**start, "headers": headers}, {**message, "body": sent_body}


def _join_header_values(scope: Scope, header_name: bytes) -> bytes | None:
    values = [value for name, value in scope["headers"] if name == header_name]
    return b", ".join(values) if values else None


def _remove_headers(headers: Iterable[tuple[bytes, bytes]], names: set[bytes]) -> HeaderList:
    return [(name, value) for name, value in headers if name not in names]


def _content_length_header(body: bytes) -> tuple[bytes, bytes]:
    return b"content-length", str(len(body)).encode()
