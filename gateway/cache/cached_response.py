"""A complete response as bytes, with its ETag and its content encodings, each computed once."""

import asyncio
import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct, field
from starlette.types import Message, Receive, Scope, Send

from gateway import compression
from gateway.header_fields import fields_of
from rest.entity_tags import (
    ENCODINGS,
    Encoding,
    compute_etag,
    etag_for_encoding,
    find_encoding,
)

Header = tuple[bytes, bytes]
HeaderList = list[Header]

SCOPE_CACHED_RESPONSE = "floorgate.cached_response"
"""Member of the ASGI scope: a weak reference to the `CachedResponse` that was sent."""
NOT_MODIFIED_HEADERS = frozenset(
    (b"cache-control", b"content-location", b"date", b"etag", b"expires", b"link", b"vary")
)
"""Headers that RFC 9110, 15.4.5, requires in a 304; also `Link`, for clients that page by it."""
ENTRY_OVERHEAD_BYTES = 2_000
"""Memory of a cached response apart from its body and key: headers, mappings, fast path."""

_EQUAL_HEADERS = frozenset((b"cache-control", b"content-type", b"vary"))
"""Headers with few different values, of which cached responses share the bytes."""


# Without garbage collection: a cache of 20,000 responses would hold the event loop for tens of
# milliseconds whenever all its objects are traversed.
class EncodedResponse(Struct, eq=False, gc=False):
    """A response in one content encoding: as ASGI messages and as header lines."""

    headers: tuple[Header, ...]
    """Those that all encodings have."""
    encoding: Encoding
    etag: bytes
    content: bytes | None = None
    """None until it is requested: a 304 needs the ETag only."""
    _header_lines: bytes | None = None
    _lines_without_etag: bytes | None = None
    _not_modified_lines: bytes | None = None

    @property
    def body_message(self) -> Message:
        """The body of the response."""
        return {"type": "http.response.body", "body": self.content}

    @property
    def start_message(self) -> Message:
        """Start of the response to a GET or HEAD."""
        return _start_message(200, [*self._list_headers(), (b"etag", self.etag)])

    @property
    def start_message_without_etag(self) -> Message:
        """Start of the response to other methods, which have no conditional requests."""
        return _start_message(200, self._list_headers())

    @property
    def not_modified_message(self) -> Message:
        """Start of a 304, for a client that already has this body."""
        return _start_message(304, self._list_not_modified_headers())

    @property
    def header_lines(self) -> bytes:
        """The header lines of `start_message`."""
        if self._header_lines is None:
            self._header_lines = serialize_headers([*self._list_headers(), (b"etag", self.etag)])
        return self._header_lines

    @property
    def header_lines_without_etag(self) -> bytes:
        """The header lines of `start_message_without_etag`."""
        if self._lines_without_etag is None:
            self._lines_without_etag = serialize_headers(self._list_headers())
        return self._lines_without_etag

    @property
    def not_modified_header_lines(self) -> bytes:
        """The header lines of `not_modified_message`."""
        if self._not_modified_lines is None:
            self._not_modified_lines = serialize_headers(self._list_not_modified_headers())
        return self._not_modified_lines

    def _list_headers(self) -> HeaderList:
        assert self.content is not None
        headers = [*self.headers, (b"content-length", str(len(self.content)).encode())]
        if self.encoding != "identity":
            headers.append((b"content-encoding", self.encoding.encode()))
        return headers

    def _list_not_modified_headers(self) -> HeaderList:
        kept = [(name, value) for name, value in self.headers if name in NOT_MODIFIED_HEADERS]
        return [*kept, (b"etag", self.etag)]


class CachedResponse(Struct, eq=False, weakref=True):
    """A 200 response in all its content encodings; each is computed when first requested."""

    headers: Sequence[Header]
    _body: bytes
    cache_key: Any = None
    """Cache key, or None if not cached."""
    _on_growth: Callable[[Any], None] | None = None
    """Called with the cache key when a new encoding makes the entry larger."""
    size_bytes: int = 0
    """Estimated memory; grows with each encoding."""
    _etag: str | None = None
    _encoded_responses: dict[Encoding, EncodedResponse] = field(default_factory=dict)
    _work: dict[Encoding, asyncio.Task[None]] | None = None
    """Encodings that are computed in threads."""

    def __post_init__(self) -> None:
        self.headers = tuple(
            _share_header(header) if header[0] in _EQUAL_HEADERS else header
            for header in self.headers
            if header[0] != b"content-length"
        )
        self.size_bytes = ENTRY_OVERHEAD_BYTES + len(self._body)

    async def prepare_messages(self, scope: Scope) -> tuple[Message, Message]:
        """Return what `select_messages` returns, after encoding a large body in a thread.

        Requests that arrive while it is encoded wait for the same thread.
        """
        accept_encoding, if_none_match = read_negotiation(scope)
        if not self.is_ready(accept_encoding, if_none_match):
            encoding = compression.choose_encoding(accept_encoding, len(self._body))
            await self._encode_in_thread(encoding)
        return self._select_messages(scope["method"], accept_encoding, if_none_match)

    def is_ready(self, accept_encoding: bytes | None, if_none_match: bytes | None) -> bool:
        """Return whether a request can be answered without holding the event loop for long."""
        size_bytes = len(self._body)
        if size_bytes <= compression.GZIP_BYTES_IN_EVENT_LOOP:
            return True
        encoding = compression.choose_encoding(accept_encoding, size_bytes)
        if not compression.is_slow(size_bytes, encoding):
            return True
        encoded = self._encoded_responses.get(encoding)
        if encoded is not None and encoded.content is not None:
            return True
        if self._etag is None:
            return False
        is_match = if_none_match is not None and self._find_match(if_none_match) is not None
        return is_match or encoding == "identity"

    def select_messages(self, scope: Scope) -> tuple[Message, Message]:
        """Return the start and body messages for a request: a 304 if `If-None-Match` matches."""
        return self._select_messages(scope["method"], *read_negotiation(scope))

    def _select_messages(
        self, method: str, accept_encoding: bytes | None, if_none_match: bytes | None
    ) -> tuple[Message, Message]:
        if method not in ("GET", "HEAD"):
            encoded, _ = self.select_encoding(accept_encoding, None)
            return encoded.start_message_without_etag, encoded.body_message
        encoded, is_match = self.select_encoding(accept_encoding, if_none_match)
        if is_match:
            return encoded.not_modified_message, EMPTY_BODY_MESSAGE
        return encoded.start_message, (
            EMPTY_BODY_MESSAGE if method == "HEAD" else encoded.body_message
        )

    def select_encoding(
        self, accept_encoding: bytes | None, if_none_match: bytes | None
    ) -> tuple[EncodedResponse, bool]:
        """Return the body for a GET's `Accept-Encoding`, and False; or, if `If-None-Match`
        names the body in any encoding, that encoding and True.
        """
        if if_none_match is not None:
            match = self._find_match(if_none_match)
            if match is not None:
                return match, True
        encoding = compression.choose_encoding(accept_encoding, len(self._body))
        return self._get_encoded(encoding), False

    def encode_all(self) -> None:
        """Compute all encodings now, for a response that is kept."""
        for encoding in ENCODINGS:
            self._get_encoded(encoding)

    async def _encode_in_thread(self, encoding: Encoding) -> None:
        task = self._work.get(encoding) if self._work else None
        if task is None:
            self._work = self._work or {}
            task = self._work[encoding] = asyncio.create_task(self._encode_and_keep(encoding))
        await asyncio.shield(task)  # others may wait for it when this request is cancelled

    async def _encode_and_keep(self, encoding: Encoding) -> None:
        try:
            work = asyncio.to_thread(_encode, self._body, encoding, self._etag, self.headers)
            self._etag, content = await work
            self._keep_content(encoding, content)
        finally:
            assert self._work is not None
            del self._work[encoding]
            self._work = self._work or None

    def _get_encoded(self, encoding: Encoding) -> EncodedResponse:
        """Return the response in this encoding, with its body."""
        encoded = self._encoded_responses.get(encoding)
        if encoded is None or encoded.content is None:
            self._etag, content = _encode(self._body, encoding, self._etag, self.headers)
            encoded = self._keep_content(encoding, content)
        return encoded

    def _keep_content(self, encoding: Encoding, content: bytes) -> EncodedResponse:
        encoded = self._get_variant(encoding)
        if encoded.content is None:
            encoded.content = content
            if encoding != "identity":
                self.size_bytes += len(content)
                if self._on_growth is not None:
                    self._on_growth(self.cache_key)
        return encoded

    def _get_variant(self, encoding: Encoding) -> EncodedResponse:
        """Return the response in this encoding, with or without its body."""
        encoded = self._encoded_responses.get(encoding)
        if encoded is None:
            if self._etag is None:
                self._etag = compute_etag(self._body, self.headers)
            tag = etag_for_encoding(self._etag, encoding).encode()
            encoded = EncodedResponse(tuple(self.headers), encoding, tag)
            self._encoded_responses[encoding] = encoded
        return encoded

    def _find_match(self, if_none_match: bytes) -> EncodedResponse | None:
        for encoded in self._encoded_responses.values():
            if if_none_match == encoded.etag:
                return encoded
        if self._etag is None:
            self._etag = compute_etag(self._body, self.headers)
        encoding = find_encoding(if_none_match, self._etag)
        return None if encoding is None else self._get_variant(encoding)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response, as an ASGI application."""
        # Weak, as a connection keeps its last scope.
        scope[SCOPE_CACHED_RESPONSE] = weakref.ref(self)
        for message in await self.prepare_messages(scope):
            await send(message)


def _encode(
    body: bytes, encoding: Encoding, etag: str | None, headers: Sequence[Header]
) -> tuple[str, bytes]:
    """Return the entity tag of a body, unless it is known, and the encoded body."""
    return etag or compute_etag(body, headers), compression.compress(body, encoding)


@functools.lru_cache(maxsize=256)
def _share_header(header: Header) -> Header:
    """Return the equal header that is shared by cached responses."""
    return header


def read_negotiation(scope: Scope) -> tuple[bytes | None, bytes | None]:
    """Return `Accept-Encoding` and `If-None-Match` of a request."""
    fields = fields_of(scope)
    return fields.get(b"accept-encoding"), fields.get(b"if-none-match")


def _start_message(status: int, headers: HeaderList) -> Message:
    return {"type": "http.response.start", "status": status, "headers": headers}


def serialize_headers(headers: HeaderList) -> bytes:
    """Return header lines as sent over the wire."""
    return b"".join(b"%b: %b\r\n" % header for header in headers)


EMPTY_BODY_MESSAGE: Message = {"type": "http.response.body", "body": b""}
