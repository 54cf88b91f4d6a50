"""Complete responses with entity tags, content codings and 304s, REST or GraphQL.

A `CachedResponse` computes each of them once, and `finish_response` adds them to all other
responses.
"""

import asyncio
import functools
import gzip
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import zstandard
from msgspec import Struct, field
from starlette.types import Message, Receive, Scope, Send

from gateway.exchange import Header, HeaderList, fields_of, parse_weights, serialize_headers
from rest.responses import (
    ENCODED_RESPONSE_HEADERS,
    ENCODINGS,
    Encoding,
    Precondition,
    compute_etag,
    etag_for_encoding,
    find_encoding,
)

# Content codings of complete response bodies (RFC 9110, 12.5.3).
#
# All functions are pure functions of bytes: the response cache stores their results.


MAX_BYTES_IN_EVENT_LOOP = 256_000
"""Larger bodies are compressed and digested in a thread: by zstd, these take 0.5 ms."""
GZIP_BYTES_IN_EVENT_LOOP = 64_000
"""The largest body for gzip in the event loop: it takes four times as long."""
MIN_COMPRESSED_BYTES = 500
"""The smallest body to compress: below, a Content-Encoding header costs more than is saved."""

_ENCODINGS_BY_NAME: dict[str, Encoding] = {
    "zstd": "zstd",
    "gzip": "gzip",
    "x-gzip": "gzip",
    "*": "gzip",  # every client that sends it can decode gzip
    "identity": "identity",
}
_GZIP_LEVEL = 4  # level 6 takes 50 % longer and saves 3 % on a list of units
_ZSTD_LEVEL = 3  # its window stays below the 8 MB that RFC 9659 allows


@functools.lru_cache(maxsize=256)
def negotiate_encoding(header: bytes | None) -> Encoding:
    """Choose the coding for an `Accept-Encoding` header. Join repeated headers with commas.

    The highest weight wins, and of equal ones the coding that the client names first: clients
    have named zstd at the end of a list without being able to decode it. If the client rejects
    all that is offered, send identity, which RFC 9110, 12.5.3 permits.

    >>> negotiate_encoding(b"gzip, deflate, br, zstd")
    'gzip'
    """
    if header is None:
        return "identity"
    weights = parse_weights(header.decode("latin-1"))
    if "gzip" in weights:
        weights.pop("*", None)
    offered = [name for name, weight in weights.items() if weight and name in _ENCODINGS_BY_NAME]
    if not offered:
        return "identity"
    return _ENCODINGS_BY_NAME[max(offered, key=weights.__getitem__)]


def choose_encoding(header: bytes | None, size_bytes: int) -> Encoding:
    """Choose the coding for a body of this size. Small bodies are not compressed."""
    return negotiate_encoding(header) if size_bytes >= MIN_COMPRESSED_BYTES else "identity"


def is_slow(size_bytes: int, encoding: Encoding) -> bool:
    is_gzip = encoding == "gzip"
    return size_bytes > (GZIP_BYTES_IN_EVENT_LOOP if is_gzip else MAX_BYTES_IN_EVENT_LOOP)


def compress(body: bytes, encoding: Encoding) -> bytes:
    """Encode the body. Equal bodies give equal bytes: gzip's timestamp is fixed."""
    if encoding == "zstd":
        return zstandard.ZstdCompressor(level=_ZSTD_LEVEL).compress(body)
    if encoding == "gzip":
        return gzip.compress(body, _GZIP_LEVEL, mtime=0)
    return body


SCOPE_CACHED_RESPONSE = "floorgate.cached_response"
"""Member of the ASGI scope: a weak reference to the `CachedResponse` that was sent."""
NOT_MODIFIED_HEADERS = frozenset(
    (b"cache-control", b"content-location", b"date", b"etag", b"expires", b"link", b"vary")
)
"""Headers that RFC 9110, 15.4.5, requires in a 304; also `Link`, for clients that page by it."""
TAGGED_METHODS = ("GET", "HEAD")
"""Methods of requests that `If-None-Match` makes conditional."""
ENTRY_OVERHEAD_BYTES = 2_000
"""Memory of a cached response apart from its body and key: headers, mappings, fast path."""

_EQUAL_HEADERS = frozenset((b"cache-control", b"content-type", b"vary"))
"""Headers with few different values, of which cached responses share the bytes."""


# Without garbage collection: a cache of 20,000 responses would hold the event loop for tens of
# milliseconds whenever all its objects are traversed.
class EncodedResponse(Struct, eq=False, gc=False):
    """A response in one content encoding: as ASGI messages and as header lines."""

    headers: tuple[Header, ...]
    """The headers that all encodings have."""
    encoding: Encoding
    etag: bytes
    content: bytes | None = None
    """None until it is requested: a 304 needs the ETag only."""
    _header_lines: bytes | None = None
    _lines_without_etag: bytes | None = None
    _not_modified_lines: bytes | None = None

    @property
    def header_lines(self) -> bytes:
        if self._header_lines is None:
            self._header_lines = serialize_headers(self.list_headers(is_tagged=True))
        return self._header_lines

    @property
    def header_lines_without_etag(self) -> bytes:
        if self._lines_without_etag is None:
            self._lines_without_etag = serialize_headers(self.list_headers(is_tagged=False))
        return self._lines_without_etag

    @property
    def not_modified_header_lines(self) -> bytes:
        if self._not_modified_lines is None:
            self._not_modified_lines = serialize_headers(self.list_not_modified_headers())
        return self._not_modified_lines

    def list_headers(self, *, is_tagged: bool) -> HeaderList:
        """Return the headers of the response; only GET and HEAD have conditional requests."""
        assert self.content is not None
        headers = [*self.headers, (b"content-length", str(len(self.content)).encode())]
        if self.encoding != "identity":
            headers.append((b"content-encoding", self.encoding.encode()))
        if is_tagged:
            headers.append((b"etag", self.etag))
        return headers

    def list_not_modified_headers(self) -> HeaderList:
        """Return the headers of a 304, for a client that already has this body."""
        kept = [(name, value) for name, value in self.headers if name in NOT_MODIFIED_HEADERS]
        return [*kept, (b"etag", self.etag)]

    def write_messages(
        self, method: str, *, is_match: bool, status: int = 200
    ) -> tuple[Message, Message]:
        if is_match:
            status, headers = 304, self.list_not_modified_headers()
        else:
            headers = self.list_headers(is_tagged=status == 200 and method in TAGGED_METHODS)
        body = b"" if is_match or method == "HEAD" else self.content
        start = {"type": "http.response.start", "status": status, "headers": headers}
        return start, {"type": "http.response.body", "body": body}


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
        """Return the start and body messages for a request: a 304 if `If-None-Match` matches.

        A large body is encoded in a thread. Requests that arrive meanwhile wait for the same one.
        """
        fields = fields_of(scope)
        accept_encoding = fields.get(b"accept-encoding")
        if_none_match = fields.get(b"if-none-match")
        if not self.is_ready(accept_encoding, if_none_match):
            encoding = choose_encoding(accept_encoding, len(self._body))
            await self._encode_in_thread(encoding)
        method: str = scope["method"]
        known = if_none_match if method in TAGGED_METHODS else None
        encoded, is_match = self.select_encoding(accept_encoding, known)
        _check_precondition(scope, self._etag)
        return encoded.write_messages(method, is_match=is_match)

    def is_ready(self, accept_encoding: bytes | None, if_none_match: bytes | None) -> bool:
        """Return whether a request can be answered without holding the event loop for long."""
        size_bytes = len(self._body)
        if size_bytes <= GZIP_BYTES_IN_EVENT_LOOP:
            return True
        encoding = choose_encoding(accept_encoding, size_bytes)
        if not is_slow(size_bytes, encoding):
            return True
        encoded = self._encoded_responses.get(encoding)
        if encoded is not None and encoded.content is not None:
            return True
        if self._etag is None:
            return False
        is_match = if_none_match and self._find_match(if_none_match, encoding)
        return bool(is_match) or encoding == "identity"

    def select_encoding(
        self, accept_encoding: bytes | None, if_none_match: bytes | None
    ) -> tuple[EncodedResponse, bool]:
        """Return the body for a GET's `Accept-Encoding`, and False; or, if `If-None-Match`
        names the body in any encoding, that encoding and True.
        """
        encoding = choose_encoding(accept_encoding, len(self._body))
        if if_none_match is not None:
            match = self._find_match(if_none_match, encoding)
            if match is not None:
                return match, True
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
        encoded = self._encoded_responses.get(encoding)
        if encoded is None:
            if self._etag is None:
                self._etag = compute_etag(self._body, self.headers)
            tag = etag_for_encoding(self._etag, encoding).encode()
            encoded = EncodedResponse(tuple(self.headers), encoding, tag)
            self._encoded_responses[encoding] = encoded
        return encoded

    def _find_match(self, if_none_match: bytes, asked: Encoding) -> EncodedResponse | None:
        for encoded in self._encoded_responses.values():
            if if_none_match == encoded.etag:
                return encoded
        if self._etag is None:
            self._etag = compute_etag(self._body, self.headers)
        encoding = find_encoding(if_none_match, self._etag, asked)
        return None if encoding is None else self._get_variant(encoding)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Weak, as a connection keeps its last scope.
        scope[SCOPE_CACHED_RESPONSE] = weakref.ref(self)
        for message in await self.prepare_messages(scope):
            await send(message)


def _check_precondition(scope: Scope, tag: str | None) -> None:
    """Raise PreconditionFailedError for a GET with an `If-Match` that does not match."""
    if_match = fields_of(scope).get(b"if-match")
    if if_match is not None and scope["method"] in TAGGED_METHODS:
        Precondition(if_match.decode("latin-1"), None).check(tag)


def _encode(
    body: bytes, encoding: Encoding, etag: str | None, headers: Sequence[Header] | None
) -> tuple[str | None, bytes]:
    """Return the entity tag of a body, unless it is known or there are no headers, and the body."""
    if headers is not None:
        etag = etag or compute_etag(body, headers)
    return etag, compress(body, encoding)


@functools.lru_cache(maxsize=256)
def _share_header(header: Header) -> Header:
    return header


class SharedResponses:
    """Responses by name. Each is made when first requested, with all encodings, in a thread.

    They are kept for ever, so their names must be few.
    """

    def __init__(self) -> None:
        self._responses: dict[str, asyncio.Task[CachedResponse]] = {}

    async def get_or_make(self, name: str, make: Callable[[], CachedResponse]) -> CachedResponse:
        """Return a response. Requests that arrive while it is made wait for the same one.

        Raises what `make` raises; then the next request calls it again.
        """
        making = self._responses.get(name)
        if making is None:
            making = asyncio.create_task(asyncio.to_thread(_make_with_encodings, make))
            self._responses[name] = making
            making.add_done_callback(partial(self._forget_failed, name))
        return await asyncio.shield(making)

    def _forget_failed(self, name: str, made: asyncio.Task[CachedResponse]) -> None:
        if made.cancelled() or made.exception() is not None:
            del self._responses[name]


def _make_with_encodings(make: Callable[[], CachedResponse]) -> CachedResponse:
    response = make()
    response.encode_all()
    return response


DEFAULT_HEADERS = ENCODED_RESPONSE_HEADERS
"""Added where absent, to errors too: a shared cache may store a 404 (RFC 9110, 15.1)."""
_DEFAULT_NAMES = dict(DEFAULT_HEADERS).keys()


async def finish_response(
    scope: Scope, start: Message, message: Message
) -> tuple[Message, Message]:
    """Return the messages of a complete response, with the headers that each response has.

    A 200 of GET and HEAD gets a strong `ETag`, or becomes a 304 if that is in `If-None-Match`.
    Any body is compressed, unless it has an `ETag` or a `Content-Encoding` already.
    """
    headers: HeaderList = start["headers"]
    names = dict(headers)
    if not names.keys() >= _DEFAULT_NAMES:
        defaults = [header for header in DEFAULT_HEADERS if header[0] not in names]
        headers = [*headers, *defaults]
        names.update(defaults)
    body: bytes = message.get("body", b"")
    if b"etag" in names or b"content-encoding" in names or not body:
        return {**start, "headers": headers}, message
    method, status, size_bytes = scope["method"], start["status"], len(body)
    fields = fields_of(scope)
    if_none_match = fields.get(b"if-none-match")
    encoding = choose_encoding(fields.get(b"accept-encoding"), size_bytes)
    tagged = headers if status == 200 and method in TAGGED_METHODS else None
    if size_bytes > GZIP_BYTES_IN_EVENT_LOOP and is_slow(size_bytes, encoding):
        tag, content = await asyncio.to_thread(_encode, body, encoding, None, tagged)
    else:
        tag, content = _encode(body, encoding, None, tagged)
    known = None
    if tag is not None:
        _check_precondition(scope, tag)
        if if_none_match is not None:
            known = find_encoding(if_none_match, tag, encoding)
            encoding = known or encoding
    if len(names) == len(headers):  # without a loop, which takes as long as all else here
        names.pop(b"content-length", None)
        common = tuple(names.items())
    else:
        common = tuple(header for header in headers if header[0] != b"content-length")
    etag = etag_for_encoding(tag, encoding).encode() if tag else b""
    encoded = EncodedResponse(common, encoding, etag, content)
    return encoded.write_messages(method, is_match=known is not None, status=status)
