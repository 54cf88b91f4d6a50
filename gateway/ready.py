"""A complete answer as bytes: its entity tag, and its codings, each made once."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

from starlette.types import Message, Receive, Scope, Send

from gateway import compression
from gateway.compression import Encoding

Headers = list[tuple[bytes, bytes]]

ANSWER = "floorgate.answer"
"""Scope member with the key of the kept answer that a request was given."""
CODINGS: tuple[Encoding, ...] = ("identity", "gzip", "zstd")
KEPT_WITH_304 = frozenset(
    (b"cache-control", b"content-location", b"date", b"etag", b"expires", b"link", b"vary")
)
"""What RFC 9110, 15.4.5, wants repeated; `Link` besides, for clients that page by it."""
OVERHEAD_BYTES = 3_000
"""What keeping an answer takes beside its bytes: headers, messages, keys and mappings."""


class Coded:
    """An answer in one coding: what an application sends, and the bytes that go over the wire."""

    def __init__(self, headers: Headers, tag: bytes, body: bytes) -> None:
        self.tag = tag
        self._untagged = headers
        self._tagged = [*headers, (b"etag", tag)]
        self.body: Message = {"type": "http.response.body", "body": body}

    @cached_property
    def start(self) -> Message:
        """Begins the answer to a GET or HEAD."""
        return _start(200, self._tagged)

    @cached_property
    def untagged(self) -> Message:
        """For methods that know no conditional requests."""
        return _start(200, self._untagged)

    @cached_property
    def not_modified(self) -> Message:
        """For a client that has these bytes already."""
        return _start(304, self._kept)

    @cached_property
    def head(self) -> bytes:
        """The header lines of `start`."""
        return sent(self._tagged)

    @cached_property
    def not_modified_head(self) -> bytes:
        """The header lines of `not_modified`."""
        return sent(self._kept)

    @property
    def _kept(self) -> Headers:
        return [each for each in self._tagged if each[0] in KEPT_WITH_304]


class Ready:
    """A 200 with its headers, of which the coding and the length are not yet part."""

    def __init__(
        self,
        headers: Headers,
        body: bytes,
        key: Any = None,
        grew: Callable[[Any], None] | None = None,
    ) -> None:
        self.key = key
        """Under which it is kept, if it is."""
        self._grew = grew
        """Is told the key of an answer that takes more memory than before."""
        self._headers = [each for each in headers if each[0] != b"content-length"]
        self._body = body
        self._coded: dict[Encoding, Coded] = {}
        self.size_bytes = OVERHEAD_BYTES + len(body)
        """What it takes in memory; another coding adds to it."""

    @cached_property
    def _tag(self) -> str:
        return compression.etag(self._body)

    def answer(self, scope: Scope) -> tuple[Message, Message]:
        """The two messages: 304 where a GET or HEAD names bytes that the client has already."""
        accepted = asked = None
        for name, value in scope["headers"]:
            if name == b"accept-encoding":
                accepted = value if accepted is None else accepted + b", " + value
            elif name == b"if-none-match":
                asked = value if asked is None else asked + b", " + value
        if scope["method"] not in ("GET", "HEAD"):
            coded = self._as(compression.encoding_for(accepted, len(self._body)))
            return coded.untagged, coded.body
        coded, is_held = self.get(accepted, asked)
        if is_held:
            return coded.not_modified, _NO_BODY
        return coded.start, _NO_BODY if scope["method"] == "HEAD" else coded.body

    def get(self, accepted: bytes | None, asked: bytes | None) -> tuple[Coded, bool]:
        """The coding for a GET's `Accept-Encoding`, and whether `If-None-Match` names it."""
        coded = self._as(compression.encoding_for(accepted, len(self._body)))
        held = None if asked is None else self._held(coded, asked)
        return (coded, False) if held is None else (held, True)

    def _as(self, encoding: Encoding) -> Coded:
        coded = self._coded.get(encoding)
        if coded is None:
            coded = self._coded[encoding] = self._code(encoding)
            if encoding != "identity":
                self.size_bytes += len(coded.body["body"])
                if self._grew is not None:
                    self._grew(self.key)
        return coded

    def _held(self, coded: Coded, asked: bytes) -> Coded | None:
        if asked == coded.tag:
            return coded
        # A client that holds the body in another coding holds the same truth.
        for encoding in CODINGS:
            if compression.matches(asked, compression.for_encoding(self._tag, encoding)):
                return self._as(encoding)
        return None

    def _code(self, encoding: Encoding) -> Coded:
        body = compression.compress(self._body, encoding)
        tag = compression.for_encoding(self._tag, encoding).encode()
        headers = [*self._headers, (b"content-length", str(len(body)).encode())]
        if encoding != "identity":
            headers.append((b"content-encoding", encoding.encode()))
        return Coded(headers, tag, body)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers as an ASGI application."""
        scope[ANSWER] = self.key
        start, body = self.answer(scope)
        await send(start)
        await send(body)


def _start(status: int, headers: Headers) -> Message:
    return {"type": "http.response.start", "status": status, "headers": headers}


def sent(headers: Headers) -> bytes:
    """Header lines as they are sent."""
    return b"".join(b"%b: %b\r\n" % header for header in headers)


_NO_BODY: Message = {"type": "http.response.body", "body": b""}
