"""Entity tags, 304 and compression for every complete response, REST or GraphQL."""

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway import compression
from gateway.cache.cached_response import (
    EMPTY_BODY_MESSAGE,
    NOT_MODIFIED_HEADERS,
    HeaderList,
    read_negotiation,
)
from rest.entity_tags import Encoding, compute_etag, etag_for_encoding, find_encoding
from rest.responses import ENCODED_RESPONSE_HEADERS

DEFAULT_HEADERS = ENCODED_RESPONSE_HEADERS
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
    names = dict(start["headers"])
    defaults = [header for header in DEFAULT_HEADERS if header[0] not in names]
    headers: HeaderList = [*start["headers"], *defaults]
    body: bytes = message.get("body", b"")
    if b"etag" in names or b"content-encoding" in names or not body:
        return {**start, "headers": headers}, message
    has_tag = scope["method"] in ("GET", "HEAD") and start["status"] == 200
    accept_encoding, if_none_match = read_negotiation(scope)
    encoding = compression.choose_encoding(accept_encoding, len(body))
    tagged = headers if has_tag else None
    if compression.is_slow(len(body), encoding):
        tag, content = await asyncio.to_thread(_encode, body, encoding, tagged)
    else:
        tag, content = _encode(body, encoding, tagged)
    if tag is not None:
        known = None if if_none_match is None else find_encoding(if_none_match, tag)
        etag = b"etag", etag_for_encoding(tag, known or encoding).encode()
        if known is not None:
            kept = [header for header in headers if header[0] in NOT_MODIFIED_HEADERS]
            return {**start, "status": 304, "headers": [*kept, etag]}, EMPTY_BODY_MESSAGE
        headers.append(etag)
    if encoding != "identity":
        headers = [header for header in headers if header[0] != b"content-length"]
        headers.append((b"content-length", str(len(content)).encode()))
        headers.append((b"content-encoding", encoding.encode()))
    sent_body = b"" if scope["method"] == "HEAD" else content
    return {**start, "headers": headers}, {**message, "body": sent_body}


def _encode(
    body: bytes, encoding: Encoding, headers: HeaderList | None
) -> tuple[str | None, bytes]:
    """Return the entity tag of a body with headers, None without, and the encoded body."""
    tag = None if headers is None else compute_etag(body, headers)
    return tag, compression.compress(body, encoding)
