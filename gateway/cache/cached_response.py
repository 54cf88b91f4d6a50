"""A complete response as bytes, with its ETag and its content encodings, each computed once."""

import asyncio
from collections.abc import Callable
from functools import cached_property
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from gateway import compression
from rest.entity_tags import (
    ENCODINGS,
    Encoding,
    compute_etag,
    etag_for_encoding,
    etag_matches,
)

HeaderList = list[tuple[bytes, bytes]]

SCOPE_CACHE_KEY = "floorgate.cache_key"
"""Member of the ASGI scope: the cache key of the response, None if it is not cached."""
NOT_MODIFIED_HEADERS = frozenset(
    (b"cache-control", b"content-location", b"date", b"etag", b"expires", b"link", b"vary")
)
"""Headers that RFC 9110, 15.4.5, requires in a 304; also `Link`, for clients that page by it."""
ENTRY_OVERHEAD_BYTES = 3_000
"""Memory of a cached response apart from its body: headers, messages, keys and mappings."""


class EncodedResponse:
    """A response in one content encoding: as ASGI messages and as header lines."""

    def __init__(self, headers: HeaderList, etag: bytes, body: bytes) -> None:
        self.etag = etag
        self._headers = headers
        self._headers_with_etag = [*headers, (b"etag", etag)]
        self.body_message: Message = {"type": "http.response.body", "body": body}

    @cached_property
    def start_message(self) -> Message:
        """Start of the response to a GET or HEAD."""
        return _start_message(200, self._headers_with_etag)

    @cached_property
    def start_message_without_etag(self) -> Message:
        """Start of the response to other methods, which have no conditional requests."""
        return _start_message(200, self._headers)

    @cached_property
    def not_modified_message(self) -> Message:
        """Start of a 304, for a client that already has this body."""
        return _start_message(304, self._not_modified_headers)

    @cached_property
    def header_lines(self) -> bytes:
        """The header lines of `start_message`."""
        return serialize_headers(self._headers_with_etag)

    @cached_property
    def not_modified_header_lines(self) -> bytes:
        """The header lines of `not_modified_message`."""
        return serialize_headers(self._not_modified_headers)

    @property
    def _not_modified_headers(self) -> HeaderList:
        return [
            (name, value) for name, value in self._headers_with_etag if name in NOT_MODIFIED_HEADERS
        ]


class CachedResponse:
    """A 200 response in all its content encodings; each is computed when first requested."""

    def __init__(
        self,
        headers: HeaderList,
        body: bytes,
        cache_key: Any = None,
        on_growth: Callable[[Any], None] | None = None,
    ) -> None:
        self.cache_key = cache_key
        """Cache key, or None if not cached."""
        self._on_growth = on_growth
        """Called with the cache key when a new encoding makes the entry larger."""
        self._headers = [(name, value) for name, value in headers if name != b"content-length"]
        self._body = body
        self._encoded_responses: dict[Encoding, EncodedResponse] = {}
        self.size_bytes = ENTRY_OVERHEAD_BYTES + len(body)
        """Estimated memory; grows with each encoding."""

    @cached_property
    def _etag(self) -> str:
        return compute_etag(self._body)

    async def prepare_messages(self, scope: Scope) -> tuple[Message, Message]:
        """Return what `select_messages` returns, after encoding a large body in a thread."""
        if len(self._body) > compression.MAX_BYTES_IN_EVENT_LOOP:
            # Threads may do it twice, with the same result.
            return await asyncio.to_thread(self.select_messages, scope)
        return self.select_messages(scope)

    def select_messages(self, scope: Scope) -> tuple[Message, Message]:
        """Return the start and body messages for a request: a 304 if `If-None-Match` matches."""
        accept_encoding = if_none_match = None
        for name, value in scope["headers"]:
            if name == b"accept-encoding":
                accept_encoding = _join_values(accept_encoding, value)
            elif name == b"if-none-match":
                if_none_match = _join_values(if_none_match, value)
        if scope["method"] not in ("GET", "HEAD"):
            encoded = self._get_encoded(
                compression.choose_encoding(accept_encoding, len(self._body))
            )
            return encoded.start_message_without_etag, encoded.body_message
        encoded, is_match = self.select_encoding(accept_encoding, if_none_match)
        if is_match:
            return encoded.not_modified_message, _EMPTY_BODY_MESSAGE
        is_head = scope["method"] == "HEAD"
        return encoded.start_message, _EMPTY_BODY_MESSAGE if is_head else encoded.body_message

    def select_encoding(
        self, accept_encoding: bytes | None, if_none_match: bytes | None
    ) -> tuple[EncodedResponse, bool]:
        """Return the body for a GET's `Accept-Encoding`, and False; or, if `If-None-Match`
        names the body in any encoding, that body and True.
        """
        encoded = self._get_encoded(compression.choose_encoding(accept_encoding, len(self._body)))
        match = None if if_none_match is None else self._find_match(encoded, if_none_match)
        return (encoded, False) if match is None else (match, True)

    def encode_all(self) -> None:
        """Compute all encodings now, for a response that is kept."""
        for encoding in ENCODINGS:
            self._get_encoded(encoding)

    def _get_encoded(self, encoding: Encoding) -> EncodedResponse:
        encoded = self._encoded_responses.get(encoding)
        if encoded is None:
            encoded = self._encoded_responses[encoding] = self._encode(encoding)
            if encoding != "identity":
                self.size_bytes += len(encoded.body_message["body"])
                if self._on_growth is not None:
                    self._on_growth(self.cache_key)
        return encoded

    def _find_match(
        self, preferred: EncodedResponse, if_none_match: bytes
    ) -> EncodedResponse | None:
        if if_none_match == preferred.etag:
            return preferred
        # A client that has the body in another encoding has the same content.
        for encoding in ENCODINGS:
            etag = etag_for_encoding(self._etag, encoding)
            if etag_matches(if_none_match, etag):
                return self._get_encoded(encoding)
        return None

    def _encode(self, encoding: Encoding) -> EncodedResponse:
        body = compression.compress(self._body, encoding)
        etag = etag_for_encoding(self._etag, encoding).encode()
        headers = [*self._headers, (b"content-length", str(len(body)).encode())]
        if encoding != "identity":
            headers.append((b"content-encoding", encoding.encode()))
        return EncodedResponse(headers, etag, body)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response, as an ASGI application."""
        scope[SCOPE_CACHE_KEY] = self.cache_key
        for message in await self.prepare_messages(scope):
            await send(message)


def _join_values(first: bytes | None, second: bytes) -> bytes:
    # Lines of one header field are one list (RFC 9110, 5.3).
    return second if first is None else first + b", " + second


def _start_message(status: int, headers: HeaderList) -> Message:
    return {"type": "http.response.start", "status": status, "headers": headers}


def serialize_headers(headers: HeaderList) -> bytes:
    """Return header lines as sent over the wire."""
    return b"".join(b"%b: %b\r\n" % header for header in headers)


_EMPTY_BODY_MESSAGE: Message = {"type": "http.response.body", "body": b""}
