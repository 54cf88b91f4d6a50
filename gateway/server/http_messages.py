"""HTTP/1.1 messages (RFC 9112): rules for the head of a request, and the exchange of one request.

`Exchange` is what an application receives and sends (ASGI 3), as bytes on a connection.
"""

import asyncio
import http
import logging
import re
from collections.abc import Sized
from typing import Protocol

import httptools
from starlette.types import ASGIApp, Message, Scope

from gateway.exchange import HeaderList, serialize_headers
from gateway.server.config import ConnectionLimits
from rest.errors import (
    HttpError,
    headers_too_large_error,
    http_version_error,
    unknown_coding_error,
    url_too_long_error,
)

CODES = {
    400: "BAD_REQUEST",
    408: "REQUEST_TIMEOUT",
    414: "URI_TOO_LONG",
    431: "HEADERS_TOO_LARGE",
    501: "NOT_IMPLEMENTED",
    505: "HTTP_VERSION_NOT_SUPPORTED",
}
"""Codes of the errors of the protocol, by status."""

_logger = logging.getLogger("floorgate.server")
_PHRASES = {status.value: status.phrase for status in http.HTTPStatus}
STATUS_LINES = {
    status: f"HTTP/1.1 {status} {_PHRASES.get(status, '')}\r\n".encode()
    for status in range(100, 600)
}
_CONTROL_CHARACTER = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_HOST = re.compile(rb"[0-9A-Za-z._~%!$&'()*+,;=:\[\]-]+\Z")  # RFC 3986, 3.2.2 and 3.2.3
_ABSOLUTE_TARGET = re.compile(rb"https?://([^/?#]+)/?", re.IGNORECASE)


class ProtocolError(HttpError):
    """A request rejected by the protocol itself, with this status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message, CODES[status])


def invalid_url_error() -> ProtocolError:
    """Return the error for a request target that is no URL."""
    return ProtocolError(400, "Malformed HTTP request: invalid URL")


def to_protocol_error(error: httptools.HttpParserError) -> ProtocolError:
    """Convert an error of the parser. Its messages are fixed: they quote nothing of the request."""
    if isinstance(error, httptools.HttpParserCallbackError):
        return invalid_url_error()
    return ProtocolError(400, f"Malformed HTTP request: {error}")


def to_url_error(limits: ConnectionLimits) -> ProtocolError:
    """Return the error for a target that is too long."""
    return ProtocolError(414, url_too_long_error(limits.max_url_bytes).message)


def to_headers_error(limits: ConnectionLimits) -> ProtocolError:
    """Return the error for headers that are too large."""
    return ProtocolError(431, headers_too_large_error(limits.max_header_bytes).message)


def check_sizes(
    target: bytes, headers: HeaderList, limits: ConnectionLimits, may_be_large: bool
) -> None:
    """Check the size of a head; its headers are added up only if they `may_be_large`.

    Raises ProtocolError.
    """
    if len(target) > limits.max_url_bytes:
        raise to_url_error(limits)
    if len(headers) > limits.max_headers:
        raise ProtocolError(431, f"A request must not have more than {limits.max_headers} headers")
    if may_be_large:
        size = sum(len(name) + len(value) for name, value in headers)
        if size > limits.max_header_bytes:
            raise to_headers_error(limits)


def check_head(http_version: str, headers: HeaderList) -> None:
    """Check the version, the framing and the Host of a request, which the parser does not.

    Raises ProtocolError.
    """
    if http_version not in ("1.0", "1.1"):
        raise ProtocolError(505, http_version_error(http_version).message)
    codings, hosts = list[bytes](), list[bytes]()
    for name, value in headers:
        if name == b"host":
            hosts.append(value)
        elif name == b"transfer-encoding":
            codings.append(value)
    if codings and http_version == "1.0":  # RFC 9112, 6.1: the framing is faulty
        raise ProtocolError(400, "A request of HTTP/1.0 must not have a Transfer-Encoding header")
    if codings and [value.strip().lower() for value in codings] != [b"chunked"]:
        raise ProtocolError(501, unknown_coding_error().message)
    # A missing, repeated or malformed Host is an error (RFC 9112, 3.2).
    if len(hosts) != 1 and (hosts or http_version != "1.0"):
        raise ProtocolError(400, "A request must have exactly one Host header")
    if hosts and not _HOST.match(hosts[0]):
        raise ProtocolError(400, "The Host header must be a host and an optional port")


def to_origin_form(target: bytes, headers: HeaderList) -> bytes:
    """Return the path and query of a target, and let the host of an absolute one be the Host.

    A server must ignore the Host header of a request with an absolute target (RFC 9112, 3.2.2).
    Raises ProtocolError.
    """
    if target.startswith(b"/") or target == b"*":
        return target
    absolute = _ABSOLUTE_TARGET.match(target)
    if absolute is None:
        raise invalid_url_error()
    authority = absolute[1]
    try:
        httptools.parse_url(target)
    except httptools.HttpParserInvalidURLError as error:
        raise invalid_url_error() from error
    if not _HOST.match(authority):  # a user name is an error too (RFC 9110, 4.2.4)
        raise invalid_url_error()
    headers[:] = [header for header in headers if header[0] != b"host"]
    headers.append((b"host", authority))
    return b"/" + target[absolute.end() :]


class _HeaderLines:
    """The header lines of every response, serialized once for as long as they stay the same."""

    def __init__(self) -> None:
        self._headers: HeaderList = []
        self._lines = b""

    def get(self, headers: HeaderList) -> bytes:
        """Return the lines; uvicorn makes a new list when the date changes."""
        if headers is not self._headers:
            self._headers, self._lines = headers, serialize_headers(headers)
        return self._lines


default_lines = _HeaderLines()


class FlowControl:
    """Pauses reading from a client, and waits for it to read what was written."""

    def __init__(self, transport: asyncio.Transport, unparsed: Sized) -> None:
        self._transport = transport
        self._unparsed = unparsed
        self.read_paused = False
        self.write_paused = False
        self._writable = asyncio.Event()
        self._writable.set()

    def pause_reading(self) -> None:
        """Leave what the client sends in the kernel."""
        if not self.read_paused:
            self.read_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read on, unless something that was read is not parsed yet."""
        if self.read_paused and not self._unparsed:
            self.read_paused = False
            self._transport.resume_reading()

    def pause_writing(self) -> None:
        """Let responses wait for the client."""
        self.write_paused = True
        self._writable.clear()

    def resume_writing(self) -> None:
        """Let responses go on."""
        self.write_paused = False
        self._writable.set()

    async def wait_until_writable(self) -> None:
        """Wait until the client has read most of what was written."""
        await self._writable.wait()


class ServedConnection(Protocol):
    """What an exchange needs of its connection."""

    transport: asyncio.Transport
    flow: FlowControl

    @property
    def default_headers(self) -> HeaderList:
        """The headers of every response."""

    def announce_close(self) -> bool:
        """Return whether the response that begins has to say that the connection closes."""

    def on_response_complete(self) -> None:
        """Go on with the next request."""


class Exchange:
    """One request and its response, as the application receives and sends them (ASGI 3)."""

    def __init__(
        self, connection: ServedConnection, scope: Scope, *, keep_alive: bool, expects_100: bool
    ) -> None:
        self.scope = scope
        self.keep_alive = keep_alive
        self.waiting_for_100_continue = expects_100
        self.disconnected = False
        self.body = bytearray()
        """What has arrived and the application has not received yet."""
        self.response_started = False
        self.response_complete = False
        self.unsent_bytes = 0
        """Bytes of the response by its `Content-Length` that are still to come."""
        self._is_complete = False
        """Whether all of the request has arrived."""
        self._is_chunked = False
        self._connection = connection
        self._changed = asyncio.Event()

    def receive_body(self, piece: bytes) -> None:
        """Keep a piece of the body for the application."""
        self.body += piece
        self._changed.set()

    def complete_body(self) -> None:
        """Note that all of the request has arrived."""
        self._is_complete = True
        self._changed.set()

    def disconnect(self) -> None:
        """Tell the application that its response does not reach the client."""
        self.disconnected = True
        self._changed.set()

    async def run(self, app: ASGIApp) -> None:
        """Run the application, which sends a response to each of its own errors."""
        try:
            await app(self.scope, self.receive, self.send)
        except BaseException as error:
            _logger.error("The application failed", exc_info=error)
        if not (self.response_complete or self.disconnected):
            self._connection.transport.close()

    async def receive(self) -> Message:
        """Wait for more of the body, or for the end of the exchange."""
        connection = self._connection
        if self.waiting_for_100_continue and not connection.transport.is_closing():
            connection.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.waiting_for_100_continue = False
        if not (self.disconnected or self.response_complete):
            connection.flow.resume_reading()
            await self._changed.wait()
            self._changed.clear()
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        body, self.body = bytes(self.body), bytearray()
        return {"type": "http.request", "body": body, "more_body": not self._is_complete}

    async def send(self, message: Message) -> None:
        """Write the head or a part of the body, when the client has read what was before."""
        connection = self._connection
        if connection.flow.write_paused and not self.disconnected:
            await connection.flow.wait_until_writable()
        if self.disconnected:
            return
        if self.response_complete:
            raise RuntimeError("The response is complete already")
        if self.response_started:
            self._send_body(message.get("body", b""), message.get("more_body", False))
        else:
            self._send_head(message["status"], message.get("headers", ()))

    def _send_head(self, status: int, headers: HeaderList) -> None:
        connection = self._connection
        self.response_started = True
        self.waiting_for_100_continue = False
        lines = [STATUS_LINES[status], default_lines.get(connection.default_headers)]
        has_length = False
        for name, value in headers:
            if _CONTROL_CHARACTER.search(value):
                raise RuntimeError("Invalid HTTP header value.")
            if name == b"content-length":
                self.unsent_bytes, has_length = int(value), True
            lines.append(b"%b: %b\r\n" % (name, value))
        if not self.keep_alive or connection.announce_close():
            lines.append(b"connection: close\r\n")
        if not has_length and self.scope["method"] != "HEAD" and status not in (204, 304):
            self._is_chunked = True
            lines.append(b"transfer-encoding: chunked\r\n")
        lines.append(b"\r\n")
        connection.transport.write(b"".join(lines))

    def _send_body(self, body: bytes, more_body: bool) -> None:
        connection = self._connection
        if self.scope["method"] == "HEAD":
            self.unsent_bytes = 0
        elif self._is_chunked:
            chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            connection.transport.write(chunk if more_body else chunk + b"0\r\n\r\n")
        elif len(body) > self.unsent_bytes:
            raise RuntimeError("Response content longer than Content-Length")
        else:
            self.unsent_bytes -= len(body)
            connection.transport.write(body)
        if more_body:
            return
        if self.unsent_bytes:
            raise RuntimeError("Response content shorter than Content-Length")
        self.response_complete = True
        self._changed.set()
        if not self.keep_alive:
            connection.transport.close()
        connection.on_response_complete()
