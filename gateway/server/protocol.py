"""HTTP/1.1 on one connection: uvicorn's httptools protocol with deadlines, limits, JSON errors.

What the parser alone cannot bound is bounded here: how long headers and bodies may take, how
large headers may be, and how long a client may leave its response unread.
"""

import asyncio
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias, cast

import httptools
import orjson
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from gateway.cache.cached_response import serialize_headers
from gateway.cache.fast_path import FastResponse
from gateway.middleware.access_log import (
    SCOPE_EARLY_STATUS,
    get_request_id,
    log_request,
    new_request_id,
)
from gateway.server.backpressure import BackpressureProtocol
from rest.errors import headers_too_large_error, url_too_long_error

_HOST = re.compile(rb"[0-9A-Za-z._~%!$&'()*+,;=:\[\]-]*\Z")  # RFC 3986, 3.2.2 and 3.2.3


@dataclass(frozen=True)
class ConnectionLimits:
    """What one connection may ask for."""

    header_seconds: float = 10.0
    """From the connection, or from a request's first byte, to the end of its headers."""
    body_idle_seconds: float = 30.0
    """Between two pieces of a body, and between two pieces of a response that the client takes."""
    body_seconds: float = 300.0
    """For a whole body."""
    keep_alive_seconds: int = 65
    """Between two requests: longer than the 60 s after which common proxies close."""
    linger_seconds: float = 2.0
    """For reading on after an early answer, lest the client lose it to a reset."""
    max_url_bytes: int = 8 * 1024
    max_header_bytes: int = 32 * 1024
    max_headers: int = 100


class _Phase(Enum):
    """What the parser waits for."""

    REQUEST = "request"
    HEADERS = "headers"
    BODY = "body"


class _ProtocolError(Exception):
    """A request that is answered here, with this status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


FastPathLookup: TypeAlias = Callable[[bytes, list[tuple[bytes, bytes]]], FastResponse | None]
"""From a GET's address and headers to an answer that is ready, if there is one."""


def build_http_protocol(
    limits: ConnectionLimits, fast_path: FastPathLookup | None = None
) -> type["HttpProtocol"]:
    """The protocol class, for uvicorn's `http` option, whose connections have these limits."""
    members = {"limits": limits, "fast_path": staticmethod(fast_path) if fast_path else None}
    return type("HttpProtocol", (HttpProtocol,), members)


class HttpProtocol(BackpressureProtocol):
    """One connection."""

    limits = ConnectionLimits()
    fast_path: FastPathLookup | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._phase = _Phase.REQUEST
        self._rejection: _ProtocolError | None = None
        self._discarding_input = False
        """Whether what still arrives is thrown away."""
        self._buffered_bytes = 0
        """Received since the last end of headers or piece of a body: what the parser may keep."""
        self._request_started = self._last_progress = 0.0
        self._has_body = False
        self._answered_by_fast_path = False
        """Whether the request that is being parsed had its answer without the application."""
        self._headers_may_exceed_limit = False
        """Whether the piece being parsed may hold headers over their limit."""
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._request_started = self.loop.time()
        _set_tcp_user_timeout(transport, self.limits.body_idle_seconds)
        self._start_timer(self.limits.header_seconds, self._on_header_timeout)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def parse(self, piece: bytes) -> None:
        if self._discarding_input:
            return
        self._unset_keepalive_if_required()
        self._buffered_bytes += len(piece)
        self._headers_may_exceed_limit = self._buffered_bytes > self.limits.max_header_bytes
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade:
            self.cycle.keep_alive = False  # what follows may be in another protocol
        except httptools.HttpParserError as error:
            self._reject_request(self._rejection or _to_protocol_error(error))
            return
        if self._phase is not _Phase.REQUEST and self._reject_if_too_large():
            return
        self._start_phase_timer()

    def _reject_if_too_large(self) -> bool:
        """Refuses what has no end yet and is over its limit already."""
        if self._phase is _Phase.HEADERS and len(self.url) > self.limits.max_url_bytes:
            self._reject_request(self._url_too_long_error())
        elif self._buffered_bytes > self.limits.max_header_bytes:
            self._reject_request(self._headers_too_large_error())
        return self._discarding_input

    def _start_phase_timer(self) -> None:
        """Whatever the connection waits for now, a clock runs for it."""
        if self._timer is not None:
            return
        if self._phase is _Phase.HEADERS:
            self._start_timer(self.limits.header_seconds, self._on_header_timeout)
        elif self._phase is _Phase.BODY:
            self._last_progress = self.loop.time()
            self._start_timer(self.limits.body_idle_seconds, self._on_body_timeout)
        elif not self._response_in_progress() and self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _response_in_progress(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    # What the parser finds

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._phase = _Phase.HEADERS
        self._request_started = self.loop.time()

    def on_headers_complete(self) -> None:
        if len(self.url) > self.limits.max_url_bytes:
            self._abort_parsing(self._url_too_long_error())
        if len(self.headers) > self.limits.max_headers:
            limit = self.limits.max_headers
            self._abort_parsing(
                _ProtocolError(431, f"A request must not have over {limit} headers")
            )
        if (
            self._headers_may_exceed_limit
            and self._total_header_bytes() > self.limits.max_header_bytes
        ):
            self._abort_parsing(self._headers_too_large_error())
        self._check_host([value for name, value in self.headers if name == b"host"])
        self._answered_by_fast_path = self._try_fast_path()
        if not self._answered_by_fast_path:
            super().on_headers_complete()
        self.headers = []  # for trailers, which RFC 9110, 6.5.1 lets recipients ignore
        self._stop_timer()
        self._phase = _Phase.BODY
        self._has_body = False
        self._buffered_bytes = 0

    def _try_fast_path(self) -> bool:
        """Answers a plain GET whose answer is kept, on a connection that waits for nothing else."""
        if (
            self.fast_path is None
            or self.parser.get_method() != b"GET"
            or self._response_in_progress()
            or self.flow.write_paused
            or self.transport.is_closing()
            or not (self.parser.should_keep_alive() and self.parser.get_http_version() == "1.1")
        ):
            return False
        found = self.fast_path(self.url, self.headers)
        if found is None:
            return False
        identifier = get_request_id(self.headers)
        self.transport.write(
            b"%b%b%bx-request-id: %b\r\n\r\n%b"
            % (
                STATUS_LINE[found.status],
                serialize_headers(self.server_state.default_headers),
                found.header_lines,
                identifier.encode("latin-1"),
                found.body,
            )
        )
        self.server_state.total_requests += 1
        log_request(
            identifier,
            method="GET",
            route=found.route,
            status=found.status,
            duration_ms=(self.loop.time() - self._request_started) * 1000,
            sent_bytes=len(found.body),
            key_id=found.key_id,
        )
        return True

    def _total_header_bytes(self) -> int:
        return sum(len(name) + len(value) for name, value in self.headers)

    def _check_host(self, hosts: list[bytes]) -> None:
        """RFC 9112, 3.2: a missing, doubled or malformed Host is answered with 400."""
        if len(hosts) != 1 and (hosts or self.parser.get_http_version() != "1.0"):
            self._abort_parsing(_ProtocolError(400, "A request must have exactly one Host header"))
        if hosts and not _HOST.match(hosts[0]):
            self._abort_parsing(
                _ProtocolError(400, "The Host header must hold a host and an optional port")
            )

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._has_body = True
        self._buffered_bytes = 0
        self._last_progress = self.loop.time()

    def on_message_complete(self) -> None:
        if not self._answered_by_fast_path:
            super().on_message_complete()
        self._stop_timer()
        self._phase = _Phase.REQUEST
        self._buffered_bytes = 0

    def _abort_parsing(self, refusal: _ProtocolError) -> None:
        """Ends a callback of the parser, which would keep our exception to itself."""
        self._rejection = refusal
        raise refusal

    def _url_too_long_error(self) -> _ProtocolError:
        return _ProtocolError(414, url_too_long_error(self.limits.max_url_bytes).message)

    def _headers_too_large_error(self) -> _ProtocolError:
        return _ProtocolError(431, headers_too_large_error(self.limits.max_header_bytes).message)

    # Answers that the application does not make

    def _reject_request(self, refusal: _ProtocolError) -> None:
        """Answers, unless that would cut into an earlier response, and closes."""
        self._discarding_input = True
        self._stop_timer()
        if self._phase is _Phase.BODY:
            if self.pipeline or self.cycle.response_started:
                self.transport.close()
                return
            cast(dict[str, Any], self.cycle.scope)[SCOPE_EARLY_STATUS] = refusal.status
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self._send_error(refusal, self.cycle.scope["state"].get("request_id"))
        elif self._response_in_progress():
            self.cycle.keep_alive = False
        else:
            self._send_error(refusal, None)

    def _send_error(self, refusal: _ProtocolError, logged_as: str | None) -> None:
        body = orjson.dumps({"message": str(refusal)})
        identifier = logged_as or new_request_id()
        headers = [
            *self.server_state.default_headers,
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"x-request-id", identifier.encode()),
            (b"connection", b"close"),
        ]
        lines = [STATUS_LINE[refusal.status], *(b"%b: %b\r\n" % header for header in headers)]
        self.transport.write(b"".join([*lines, b"\r\n", body]))
        self._start_timer(self.limits.linger_seconds, self.transport.close)
        if logged_as is None:
            log_request(
                identifier,
                method=None,
                route=None,
                status=refusal.status,
                duration_ms=(self.loop.time() - self._request_started) * 1000,
                sent_bytes=len(body),
                reason=str(refusal),
            )

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._phase is _Phase.BODY and self.cycle.response_complete:
            self._linger()

    def _linger(self) -> None:
        """After an answer that came before the body's end: reads on for a moment, then closes.

        A client that waited for `100 Continue` may now leave its body out, and what it sends
        next could be either: such a connection cannot be used again (RFC 9110, 10.1.1).
        """
        self._stop_timer()
        if self.expect_100_continue and not self._has_body:
            self.transport.close()
        else:
            self._start_timer(self.limits.linger_seconds, self.transport.close)

    # Clocks

    def _start_timer(self, seconds: float, late: Callable[[], None]) -> None:
        self._timer = self.loop.call_later(seconds, late)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_header_timeout(self) -> None:
        limit = self.limits.header_seconds
        if self.flow.read_paused:  # it is we who do not read
            self._start_timer(limit, self._on_header_timeout)
        elif self._phase is _Phase.HEADERS:
            self._reject_request(
                _ProtocolError(408, f"Headers must arrive within {limit:g} seconds")
            )
        else:
            self.transport.close()

    def _on_body_timeout(self) -> None:
        now = self.loop.time()
        if self.flow.read_paused:
            self._last_progress = now
            self._start_timer(self.limits.body_idle_seconds, self._on_body_timeout)
            return
        idle_left = self._last_progress + self.limits.body_idle_seconds - now
        left = self._request_started + self.limits.body_seconds - now
        if min(idle_left, left) > 0:
            self._start_timer(min(idle_left, left), self._on_body_timeout)
        elif left <= 0:
            limit = self.limits.body_seconds
            self._reject_request(
                _ProtocolError(408, f"A request must arrive within {limit:g} seconds")
            )
        else:
            limit = self.limits.body_idle_seconds
            self._reject_request(
                _ProtocolError(408, f"A body must not pause for {limit:g} seconds")
            )


def _set_tcp_user_timeout(transport: asyncio.Transport, seconds: float) -> None:
    """Has the kernel drop a client that takes nothing of its response for so long.

    Over TLS the transport cannot tell how much is unread; the kernel (RFC 5482, Linux) can.
    """
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    connection = transport.get_extra_info("socket")
    if option is not None and connection is not None:
        connection.setsockopt(socket.IPPROTO_TCP, option, int(seconds * 1000))


def _to_protocol_error(error: httptools.HttpParserError) -> _ProtocolError:
    """The parser's own reasons are fixed sentences; nothing of the request is repeated."""
    if isinstance(error, httptools.HttpParserCallbackError):
        return _ProtocolError(400, "Malformed HTTP request: invalid address")
    return _ProtocolError(400, f"Malformed HTTP request: {error}")
