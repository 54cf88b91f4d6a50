"""A complete answer as bytes: its entity tag, and its codings, each made once."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from gateway import compression
from gateway.compression import Encoding

HeaderList = list[tuple[bytes, bytes]]

SCOPE_CACHE_KEY = "floorgate.answer"
"""Scope member with the key of the kept answer that a request was given."""
ENCODINGS: tuple[Encoding, ...] = ("identity", "gzip", "zstd")
NOT_MODIFIED_HEADERS = frozenset(
    (b"cache-control", b"content-location", b"date", b"etag", b"expires", b"link", b"vary")
)
"""What RFC 9110, 15.4.5, wants repeated; `Link` besides, for clients that page by it."""
ENTRY_OVERHEAD_BYTES = 3_000
"""What keeping an answer takes beside its bytes: headers, messages, keys and mappings."""


class EncodedBody:
    """An answer in one coding: what an application sends, and the bytes that go over the wire."""

    def __init__(self, headers: HeaderList, etag: bytes, body: bytes) -> None:
        self.etag = etag
        self._headers = headers
        self._headers_with_etag = [*headers, (b"etag", etag)]
        self.body_message: Message = {"type": "http.response.body", "body": body}

    @cached_property
    def start_message(self) -> Message:
        """Begins the answer to a GET or HEAD."""
        return _start_message(200, self._headers_with_etag)

    @cached_property
    def start_message_without_etag(self) -> Message:
        """For methods that know no conditional requests."""
        return _start_message(200, self._headers)

    @cached_property
    def not_modified_message(self) -> Message:
        """For a client that has these bytes already."""
        return _start_message(304, self._not_modified_headers)

    @cached_property
    def header_lines(self) -> bytes:
        """The header lines of `start`."""
        return serialize_headers(self._headers_with_etag)

    @cached_property
    def not_modified_header_lines(self) -> bytes:
        """The header lines of `not_modified`."""
        return serialize_headers(self._not_modified_headers)

    @property
    def _not_modified_headers(self) -> HeaderList:
        return [each for each in self._headers_with_etag if each[0] in NOT_MODIFIED_HEADERS]


class CachedResponse:
    """A 200 with its headers, of which the coding and the length are not yet part."""

    def __init__(
        self,
        headers: HeaderList,
        body: bytes,
        cache_key: Any = None,
        on_growth: Callable[[Any], None] | None = None,
    ) -> None:
        self.cache_key = cache_key
        """Under which it is kept, if it is."""
        self._on_growth = on_growth
        """Is told the key of an answer that takes more memory than before."""
        self._headers = [each for each in headers if each[0] != b"content-length"]
        self._body = body
        self._encoded_bodies: dict[Encoding, EncodedBody] = {}
        self.size_bytes = ENTRY_OVERHEAD_BYTES + len(body)
        """What it takes in memory; another coding adds to it."""

    @cached_property
    def _etag(self) -> str:
        return compression.compute_etag(self._body)

    def select_messages(self, scope: Scope) -> tuple[Message, Message]:
        """The two messages: 304 where a GET or HEAD names bytes that the client has already."""
        accepted = asked = None
        for name, value in scope["headers"]:
            if name == b"accept-encoding":
                accepted = value if accepted is None else accepted + b", " + value
            elif name == b"if-none-match":
                asked = value if asked is None else asked + b", " + value
        if scope["method"] not in ("GET", "HEAD"):
            coded = self._get_encoded(compression.choose_encoding(accepted, len(self._body)))
            return coded.start_message_without_etag, coded.body_message
        coded, is_held = self.select_encoding(accepted, asked)
        if is_held:
            return coded.not_modified_message, _EMPTY_BODY_MESSAGE
        return coded.start_message, _EMPTY_BODY_MESSAGE if scope[
            "method"
        ] == "HEAD" else coded.body_message

    def select_encoding(
        self, accept_encoding: bytes | None, if_none_match: bytes | None
    ) -> tuple[EncodedBody, bool]:
        """The coding for a GET's `Accept-Encoding`, and whether `If-None-Match` names it."""
        coded = self._get_encoded(compression.choose_encoding(accept_encoding, len(self._body)))
        held = None if if_none_match is None else self._find_client_copy(coded, if_none_match)
        return (coded, False) if held is None else (held, True)

    def _get_encoded(self, encoding: Encoding) -> EncodedBody:
        coded = self._encoded_bodies.get(encoding)
        if coded is None:
            coded = self._encoded_bodies[encoding] = self._encode(encoding)
            if encoding != "identity":
                self.size_bytes += len(coded.body_message["body"])
                if self._on_growth is not None:
                    self._on_growth(self.cache_key)
        return coded

    def _find_client_copy(self, coded: EncodedBody, asked: bytes) -> EncodedBody | None:
        if asked == coded.etag:
            return coded
        # A client that holds the body in another coding holds the same truth.
        for encoding in ENCODINGS:
            if compression.etag_matches(asked, compression.etag_for_encoding(self._etag, encoding)):
                return self._get_encoded(encoding)
        return None

    def _encode(self, encoding: Encoding) -> EncodedBody:
        body = compression.compress(self._body, encoding)
        tag = compression.etag_for_encoding(self._etag, encoding).encode()
        headers = [*self._headers, (b"content-length", str(len(body)).encode())]
        if encoding != "identity":
            headers.append((b"content-encoding", encoding.encode()))
        return EncodedBody(headers, tag, body)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers as an ASGI application."""
        scope[SCOPE_CACHE_KEY] = self.cache_key
        start, body = self.select_messages(scope)
        await send(start)
        await send(body)


def _start_message(status: int, headers: HeaderList) -> Message:
    return {"type": "http.response.start", "status": status, "headers": headers}


def serialize_headers(headers: HeaderList) -> bytes:
    """Header lines as they are sent."""
    return b"".join(b"%b: %b\r\n" % header for header in headers)


_EMPTY_BODY_MESSAGE: Message = {"type": "http.response.body", "body": b""}
