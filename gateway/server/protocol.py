"""HTTP/1.1 on one connection: uvicorn's httptools protocol with timeouts, limits, JSON errors.

uvicorn limits neither how long headers and bodies may take to arrive, nor the size of headers,
nor how long a client may leave its response unread (docs/decisions/server/connections.md).
"""

import asyncio
import hashlib
import re
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

import httptools
from msgspec import Struct
from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from gateway.exchange import (
    SCOPE_CLIENT_ADDRESS,
    SCOPE_EARLY_STATUS,
    get_forwarded_address,
    get_request_id,
    has_request_id,
    log_request,
    new_request_id,
)
from gateway.responses import HeaderList, serialize_headers
from gateway.server.admission import Admission, Standing
from gateway.server.config import ConnectionLimits, FastPathLookup, FastPathLookupByBody
from gateway.server.websocket_protocol import WebSocketUpgradeProtocol
from rest.errors import (
    SCOPE_BASE_URL,
    ErrorSource,
    HttpError,
    headers_too_large_error,
    http_version_error,
    request_timeout_error,
    unknown_coding_error,
    url_too_long_error,
)
from storage.cache.cache import Cache

if TYPE_CHECKING:
    from gateway.response_cache import FastResponse
if TYPE_CHECKING:
    from gateway.response_cache import BodyLookup, FastResponse


Headers = list[tuple[bytes, bytes]]

CODES = {
    400: "BAD_REQUEST",
    408: "REQUEST_TIMEOUT",
    414: "URI_TOO_LONG",
    431: "HEADERS_TOO_LARGE",
    501: "NOT_IMPLEMENTED",
    505: "HTTP_VERSION_NOT_SUPPORTED",
}
"""Codes of the errors of the protocol, by status."""
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
    target: bytes, headers: Headers, limits: ConnectionLimits, may_be_large: bool
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


def check_head(http_version: str, headers: Headers) -> None:
    """Check the version, the framing and the Host of a request. Raises ProtocolError."""
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
    _check_host(http_version, hosts)


def _check_host(http_version: str, hosts: list[bytes]) -> None:
    """Reject a missing, repeated or malformed Host (RFC 9112, 3.2)."""
    if len(hosts) != 1 and (hosts or http_version != "1.0"):
        raise ProtocolError(400, "A request must have exactly one Host header")
    if hosts and not _HOST.match(hosts[0]):
        raise ProtocolError(400, "The Host header must be a host and an optional port")


def to_origin_form(target: bytes, headers: Headers) -> bytes:
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


# Requests that the fast path has answered, by the bytes in which they arrived.
#
# A client sends equal requests in equal bytes. What the parser and the fast path found in them the
# first time holds whenever they arrive again as a whole, so only the lookup of the cached response
# remains. See docs/decisions/server/fast-path.md.


MAX_REPEATED_REQUESTS = 10_000
"""Requests by their bytes that a worker knows, of some 500 bytes each."""


# Without garbage collection, as there are many.
class RepeatedRequest(Struct, frozen=True, eq=False, gc=False):
    """What is known of a request before it is parsed."""

    look_up: "Callable[[], FastResponse | None]"
    method: str
    forwarded_address: str
    """The client's address if a proxy vouches for it; else empty."""


class RepeatedRequests:
    """An LRU cache of requests by a SHA-256 of their bytes, which hold API keys."""

    def __init__(self) -> None:
        self._requests: Cache[bytes, RepeatedRequest] = Cache(max_entries=MAX_REPEATED_REQUESTS)

    def find(self, request: bytes) -> RepeatedRequest | None:
        """Return what is known of a request with these bytes."""
        return self._requests.get(hashlib.sha256(request).digest())

    def remember(self, request: bytes, known: RepeatedRequest) -> None:
        """Keep what the bytes of a request, and nothing else, determine."""
        self._requests.put(hashlib.sha256(request).digest(), known)


# The fast path on a connection: answer requests that it knows, without the application.
#
# A GET is looked up once its head is complete, and a POST once its body is. Meanwhile the
# application has not started, so only a POST that may be known waits, and few do at a time. All
# others start the application with their head, as do requests behind one that is still being
# answered. A request that arrives in the same bytes as one that was answered is not even parsed.
# See docs/decisions/server/fast-path.md.


MAX_AWAITED_BODIES = 100
"""POSTs of a worker that wait for the rest of their body to be looked up. Each is short."""


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


_header_lines = _HeaderLines()


class FastPathProtocol(WebSocketUpgradeProtocol):
    """Ask the fast path before the application."""

    def __init__(
        self,
        *args: Any,
        fast_path: FastPathLookup | None = None,
        fast_path_by_body: FastPathLookupByBody | None = None,
        repeated_requests: RepeatedRequests,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self._repeated_requests = repeated_requests
        self._fast_path = fast_path
        self._fast_path_by_body = fast_path_by_body
        self._client_address = ""
        self._forwarded_address = ""
        """The client's address if a proxy vouches for it."""
        self._request_started = 0.0
        self._http_version = ""
        self._is_answered = False
        """Whether the request being parsed was answered without the application."""
        self._begun_requests = 0
        """Requests that begin in the piece being parsed."""
        self._answer_again: RepeatedRequest | None = None
        """How to answer the request that was answered last when its bytes arrive again."""
        self._body_lookup: BodyLookup | None = None
        """Looks up the POST being parsed, for which the application has not started."""
        self._awaited_body = b""
        """What has arrived of its body."""

    def answer_repeated(self, piece: bytes) -> bool:
        """Answer a piece that arrives between two requests, if it is a request that was answered.

        Return whether it was. The parser never sees it.
        """
        if not self._may_write() or (known := self._repeated_requests.find(piece)) is None:
            return False
        response = known.look_up()
        if response is None:
            return False
        self._request_started = self.loop.time()
        self._client_address = known.forwarded_address or self.connection.address
        self._send(known.method, response, new_request_id())
        return True

    def remember_answered(self, piece: bytes) -> None:
        """Remember the bytes of a request, if it was answered and the piece is just this request.

        The piece arrived between two requests.
        """
        known = self._answer_again if self._is_answered and self._begun_requests == 1 else None
        if known is not None:
            self._repeated_requests.remember(piece, known)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._begun_requests += 1
        self._answer_again = None

    def on_headers_complete(self) -> None:
        self._is_answered = False
        if self._may_answer():
            method = self.parser.get_method()
            if method == b"GET" and self._fast_path is not None:
                self._answer(method, self._fast_path(self.url, self.headers))
            elif method == b"POST" and self._fast_path_by_body is not None:
                self._await_body(self._fast_path_by_body(self.url, self.headers))
        if not (self._is_answered or self._body_lookup):
            super().on_headers_complete()

    def _may_answer(self) -> bool:
        """Return whether the response may be written now, and the connection stays open."""
        return self._may_write() and self.parser.should_keep_alive() and self._http_version == "1.1"

    def _may_write(self) -> bool:
        return not (
            self.connection.table.is_draining  # a response may have to announce the close
            or self.flow.write_paused
            or self.transport.is_closing()
            or (self.cycle is not None and not self.cycle.response_complete)
        )

    def _await_body(self, lookup: "BodyLookup | None") -> None:
        table = self.connection.table
        if lookup is not None and table.awaited_bodies < MAX_AWAITED_BODIES:
            table.awaited_bodies += 1
            self._body_lookup = lookup

    def _end_waiting(self) -> "tuple[BodyLookup | None, bytes]":
        lookup, body = self._body_lookup, self._awaited_body
        if lookup is not None:
            self._body_lookup, self._awaited_body = None, b""
            self.connection.table.awaited_bodies -= 1
        return lookup, body

    def start_waiting_request(self) -> bool:
        """Let the application have a request that waits for its body, if there is one."""
        lookup, body = self._end_waiting()
        if lookup is None:
            return False
        super().on_headers_complete()
        if body:
            super().on_body(body)
        return True

    def on_body(self, body: bytes) -> None:
        if self._body_lookup is None:
            super().on_body(body)
        else:
            self._awaited_body += body

    def on_message_complete(self) -> None:
        if self._body_lookup is not None:
            if self._may_answer():
                self._answer(b"POST", self._body_lookup(self._awaited_body))
            if self._is_answered:
                self._end_waiting()
            else:
                self.start_waiting_request()
        if not self._is_answered:
            super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self.start_waiting_request()  # and let it log that the client has left
        super().connection_lost(exc)

    def _answer(self, method: bytes, response: "FastResponse | None") -> None:
        if response is None:
            return
        self._is_answered = True
        scope = cast(Scope, self.scope)
        self._send(method.decode(), response, get_request_id(scope))
        # The response to a client's own id is never repeated: each request has another one.
        if response.look_up_again is not None and not has_request_id(scope):
            self._answer_again = RepeatedRequest(
                response.look_up_again, method.decode(), self._forwarded_address
            )

    def _send(self, method: str, response: "FastResponse", request_id: str) -> None:
        self.transport.write(
            b"%b%b%bx-request-id: %b\r\n\r\n%b"
            % (
                STATUS_LINE[response.status],
                _header_lines.get(self.server_state.default_headers),
                response.header_lines,
                request_id.encode("latin-1"),
                response.body,
            )
        )
        self.server_state.total_requests += 1
        self.connection.standing = Standing.ACCEPTED
        log_request(
            request_id,
            method=method,
            route=response.route,
            status=response.status,
            duration_ms=(self.loop.time() - self._request_started) * 1000,
            sent_bytes=len(response.body),
            client=self._client_address,
            key_id=response.key_id,
            operation=response.operation,
        )


_CHUNK_ALLOWANCE_BYTES = 16
"""Around the data of a chunk, its size and line ends, and as much again as its data: what is more
are extensions or chunks so small that they are padding (as in Go's net/http)."""

MAX_EMPTY_BYTES = 16
"""Empty lines before a request, which some clients send after a body (RFC 9112, 2.2)."""


class _Phase(Enum):
    """The part of a request that the parser expects next."""

    REQUEST = "request"
    HEADERS = "headers"
    BODY = "body"


def build_http_protocol(
    limits: ConnectionLimits,
    fast_path: FastPathLookup | None = None,
    admission: Admission | None = None,
    proxy_hops: int = 0,
    base_url: str | None = None,
    websocket_paths: frozenset[bytes] = frozenset(),
    fast_path_by_body: FastPathLookupByBody | None = None,
) -> type["HttpProtocol"]:
    """Return a protocol class with these limits, for uvicorn's `http` option.

    uvicorn instantiates the class itself and has no way to pass arguments of ours.
    """

    configured: dict[str, Any] = {
        "limits": limits,
        "fast_path": fast_path,
        "admission": admission,
        "proxy_hops": proxy_hops,
        "base_url": base_url,
        "websocket_paths": websocket_paths,
        "fast_path_by_body": fast_path_by_body,
        "repeated_requests": RepeatedRequests(),
    }

    class ConfiguredHttpProtocol(HttpProtocol):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **configured, **options)

    return ConfiguredHttpProtocol


class HttpProtocol(FastPathProtocol):
    """One connection."""

    def __init__(
        self,
        *args: Any,
        limits: ConnectionLimits,
        proxy_hops: int,
        base_url: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.limits = limits
        self._proxy_hops = proxy_hops
        self._base_url = base_url
        self._phase = _Phase.REQUEST
        self._rejection: ProtocolError | None = None
        self._discarding_input = False
        """Ignore what still arrives: the connection closes after the response sent."""
        self._buffered_bytes = 0
        """Bytes of headers, or of a body what is not its data: all that the parser may hold."""
        self._body_deadline = 0.0
        self._has_body = False
        self._body_left = 0
        """Bytes of a body with a `Content-Length` that are still to come."""
        self._headers_may_exceed_limit = False
        """Whether the piece being parsed may contain headers over their limit."""
        self._timer: asyncio.TimerHandle | None = None
        self._idle_since = 0.0
        """When the last request was answered that was not parsed."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._request_started = self.loop.time()
        self._client_address = self.connection.address
        self._start_timer(self.limits.header_seconds, self._on_header_timeout)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def parse(self, piece: bytes) -> None:
        if self._discarding_input or (self._has_announced_close and self._phase is _Phase.REQUEST):
            return
        is_between_requests = self._phase is _Phase.REQUEST and not self._buffered_bytes
        if is_between_requests and self.answer_repeated(piece):
            self._stay_idle()
            return
        self._begun_requests = 0
        self._unset_keepalive_if_required()
        self._buffered_bytes += len(piece)
        self._headers_may_exceed_limit = self._buffered_bytes > self.limits.max_header_bytes
        try:
            self.feed_parser(piece)
        except httptools.HttpParserError as error:
            self._reject_request(self._rejection or to_protocol_error(error))
            return
        if self._is_upgrading or (
            self._phase is not _Phase.REQUEST and self._reject_if_too_large()
        ):
            return
        if self._phase is _Phase.REQUEST and self._buffered_bytes > MAX_EMPTY_BYTES:
            self._reject_request(ProtocolError(400, "Empty lines precede the request"))
            return
        if is_between_requests and self._phase is _Phase.REQUEST and not self._buffered_bytes:
            self.remember_answered(piece)
        self._start_phase_timer()

    def _find_piece_size(self) -> int:
        """Return how much to parse next: no head of a request with the body before it."""
        if self._discarding_input:
            return len(self._unparsed)
        if self._body_left > 0:
            return min(self._body_left, self.max_piece_bytes)
        return super()._find_piece_size()

    def _stay_idle(self) -> None:
        """Begin to wait for the next request anew, after one that was not parsed."""
        if self.timeout_keep_alive_task is None:
            self._stop_timer()  # that of the first request of a connection
            self._start_phase_timer()
        else:
            self._idle_since = self.loop.time()
            self.connection.table.mark_idle(self.connection)

    def _reject_if_too_large(self) -> bool:
        """Reject an incomplete request that already exceeds a size limit."""
        if self._phase is _Phase.HEADERS and len(self.url) > self.limits.max_url_bytes:
            self._reject_request(to_url_error(self.limits))
        elif self._buffered_bytes > self.limits.max_header_bytes:
            self._reject_request(to_headers_error(self.limits))
        return self._discarding_input

    def _start_phase_timer(self) -> None:
        """Start the timeout for what this connection is waiting on."""
        if self._timer is not None:
            return
        if self._phase is _Phase.HEADERS:
            self._start_timer(self.limits.header_seconds, self._on_header_timeout)
        elif self._phase is _Phase.BODY:
            self._body_deadline = self.loop.time() + self.limits.grace_seconds
            self._start_timer(self.limits.grace_seconds, self._on_body_timeout)
        elif not self._response_in_progress() and self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
            self.connection.table.mark_idle(self.connection)

    def _response_in_progress(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _may_parse(self) -> bool:
        """Return whether no request is answered, or its body or what is discarded arrives."""
        return not self._is_delayed and (
            self.cycle is None
            or self.cycle.response_complete
            or self._phase is _Phase.BODY
            or self._discarding_input
        )

    def has_more_requests(self) -> bool:
        return self._phase is _Phase.HEADERS or super().has_more_requests()

    def close_if_idle(self) -> None:
        """Close the connection unless a request is in progress or has begun to arrive."""
        if self.transport.is_closing():
            if not self.connection.has_unacked_output():
                self.transport.abort()  # over TLS, do not wait until the client closes too
            return
        self.start_waiting_request()  # the worker drains: its response says so
        is_busy = self._phase is not _Phase.REQUEST or self._response_in_progress()
        if not (is_busy or self.has_more_requests() or self.connection.has_input()):
            self.transport.close()

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._phase = _Phase.HEADERS
        self._client_address = self.connection.address
        self._request_started = self.loop.time()

    def on_headers_complete(self) -> None:
        try:
            check_sizes(self.url, self.headers, self.limits, self._headers_may_exceed_limit)
            self._http_version = self.parser.get_http_version()
            check_head(self._http_version, self.headers)
            self.url = to_origin_form(self.url, self.headers)
        except ProtocolError as error:
            self._rejection = error  # the parser hides it
            raise
        if self._proxy_hops:
            forwarded = get_forwarded_address("", self.headers, self._proxy_hops)
            self._forwarded_address = forwarded
            self._client_address = forwarded or self.connection.address
        scope = cast(dict[str, Any], self.scope)
        scope[SCOPE_CLIENT_ADDRESS] = self._client_address
        if self._base_url is not None:
            scope[SCOPE_BASE_URL] = self._base_url
        self.connection.table.mark_busy(self.connection)
        super().on_headers_complete()
        self._body_left = int(dict(self.headers).get(b"content-length", 0))
        self.headers = []  # for trailers, which RFC 9110, 6.5.1 lets recipients ignore
        self._stop_timer()
        self._phase = _Phase.BODY
        self._has_body = False
        self._buffered_bytes = 0

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._has_body = True
        self._body_left -= len(body)
        allowance = 2 * len(body) + _CHUNK_ALLOWANCE_BYTES
        self._buffered_bytes = max(0, self._buffered_bytes - len(body) - allowance)
        self._body_deadline = min(
            self._body_deadline + len(body) / self.limits.min_bytes_per_second,
            self.loop.time() + self.limits.body_idle_seconds,
        )

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._stop_timer()
        self._phase = _Phase.REQUEST
        self._buffered_bytes = 0

    # Error responses of the protocol

    def _reject_request(self, error: ProtocolError) -> None:
        """Send an error and close, unless an earlier response is still being sent."""
        self._discarding_input = True
        self._stop_timer()
        if self._phase is _Phase.BODY:
            if self.pipeline or self.cycle.response_started:
                self.transport.close()
                return
            cast(dict[str, Any], self.cycle.scope)[SCOPE_EARLY_STATUS] = error.status
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self._send_error(error, self.cycle.scope["state"].get("request_id"))
        elif self._response_in_progress():
            self.cycle.keep_alive = False
        else:
            self._send_error(error, None)

    def _send_error(self, error: ProtocolError, app_request_id: str | None) -> None:
        """Send an error. A request with an `app_request_id` is logged by the middleware."""
        request_id = app_request_id or new_request_id()
        body = error.build_body(ErrorSource(request_id, self._base_url or ""))
        headers = [
            *self.server_state.default_headers,
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"x-request-id", request_id.encode()),
            (b"connection", b"close"),
        ]
        lines = [STATUS_LINE[error.status], *(b"%b: %b\r\n" % header for header in headers)]
        self.transport.write(b"".join([*lines, b"\r\n", body]))
        self._start_timer(self.limits.linger_seconds, self.transport.close)
        if app_request_id is None:
            log_request(
                request_id,
                method=None,
                route=None,
                status=error.status,
                duration_ms=(self.loop.time() - self._request_started) * 1000,
                sent_bytes=len(body),
                client=self._client_address,
                reason=str(error),
            )

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.timeout_keep_alive_task is not None:
            self.connection.table.mark_idle(self.connection)
        is_early = self._phase is _Phase.BODY and self.cycle.response_complete
        if is_early or self._has_announced_close:
            self._linger()
        elif not self.transport.is_closing():  # a request behind may have been rejected at once
            self._start_phase_timer()

    def _linger(self) -> None:
        """Read on for a moment after the last response or before the end of a body, then close.

        A client that waited for `100 Continue` may now leave its body out, so its next bytes
        may be the body or a new request: do not reuse the connection (RFC 9110, 10.1.1).
        """
        self._stop_timer()
        if self.expect_100_continue and not self._has_body:
            self.transport.close()
        else:
            self._start_timer(self.limits.linger_seconds, self.transport.close)

    # Timeouts

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection, unless it was used since the timer was started.

        A timer for each answer would take longer than all else that is done for a repeated request.
        """
        seconds_left = self._idle_since + self.timeout_keep_alive - self.loop.time()
        if seconds_left > 0:
            self.timeout_keep_alive_task = self.loop.call_later(
                seconds_left, self.timeout_keep_alive_handler
            )
        else:
            super().timeout_keep_alive_handler()

    def _start_timer(self, seconds: float, on_timeout: Callable[[], None]) -> None:
        self._timer = self.loop.call_later(seconds, on_timeout)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_header_timeout(self) -> None:
        limit = self.limits.header_seconds
        if self.flow.read_paused or self._unparsed:  # the client is waiting for us
            self._start_timer(limit, self._on_header_timeout)
        elif self._phase is _Phase.HEADERS:
            self._reject_request(
                ProtocolError(408, f"Headers must arrive within {limit:g} seconds")
            )
        else:
            self.transport.close()

    def _on_body_timeout(self) -> None:
        if self.start_waiting_request():  # which this timeout may end once it runs
            self._start_timer(0, self._on_body_timeout)
            return
        now = self.loop.time()
        limits = self.limits
        if self.flow.read_paused or self.cycle.waiting_for_100_continue:  # the client waits for us
            self._body_deadline = now + limits.body_idle_seconds
        pace_left = self._body_deadline - now
        left = self._request_started + limits.body_seconds - now
        if min(pace_left, left) > 0:
            self._start_timer(min(pace_left, left), self._on_body_timeout)
        elif left <= 0:
            message = request_timeout_error(limits.body_seconds).message
            self._reject_request(ProtocolError(408, message))
        else:
            self._reject_request(
                ProtocolError(
                    408,
                    f"A body must arrive at {limits.min_bytes_per_second} bytes per second or more,"
                    f" and must not pause for {limits.body_idle_seconds:g} seconds",
                )
            )
