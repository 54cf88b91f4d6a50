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

from gateway.access import REFUSED_WITH, log_request, new_request_id, request_id
from gateway.backpressure import BackpressureProtocol
from gateway.ready import sent
from gateway.shortcut import Found

_HOST = re.compile(rb"[0-9A-Za-z._~%!$&'()*+,;=:\[\]-]*\Z")  # RFC 3986, 3.2.2 and 3.2.3


@dataclass(frozen=True)
class ProtocolLimits:
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
    address_bytes: int = 8 * 1024
    header_bytes: int = 32 * 1024
    header_count: int = 100


class _Phase(Enum):
    """What the parser waits for."""

    REQUEST = "request"
    HEADERS = "headers"
    BODY = "body"


class _Refusal(Exception):
    """A request that is answered here, with this status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


Shortcut: TypeAlias = Callable[[bytes, list[tuple[bytes, bytes]]], Found | None]
"""From a GET's address and headers to an answer that is ready, if there is one."""


def http_protocol(limits: ProtocolLimits, shortcut: Shortcut | None = None) -> type["HttpProtocol"]:
    """The protocol class, for uvicorn's `http` option, whose connections have these limits."""
    members = {"limits": limits, "shortcut": staticmethod(shortcut) if shortcut else None}
    return type("HttpProtocol", (HttpProtocol,), members)


class HttpProtocol(BackpressureProtocol):
    """One connection."""

    limits = ProtocolLimits()
    shortcut: Shortcut | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._phase = _Phase.REQUEST
        self._refusal: _Refusal | None = None
        self._is_deaf = False
        """Whether what still arrives is thrown away."""
        self._overhead_bytes = 0
        """Received since the last end of headers or piece of a body: what the parser may keep."""
        self._began = self._progressed = 0.0
        self._has_body = False
        self._is_answered = False
        """Whether the request that is being parsed had its answer without the application."""
        self._may_be_too_large = False
        """Whether the piece being parsed may hold headers over their limit."""
        self._clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._began = self.loop.time()
        _drop_unread_after(transport, self.limits.body_idle_seconds)
        self._start_clock(self.limits.header_seconds, self._headers_late)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def parse(self, piece: bytes) -> None:
        if self._is_deaf:
            return
        self._unset_keepalive_if_required()
        self._overhead_bytes += len(piece)
        self._may_be_too_large = self._overhead_bytes > self.limits.header_bytes
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade:
            self.cycle.keep_alive = False  # what follows may be in another protocol
        except httptools.HttpParserError as error:
            self._refuse(self._refusal or _malformed(error))
            return
        if self._phase is not _Phase.REQUEST and self._holds_too_much():
            return
        self._await_the_rest()

    def _holds_too_much(self) -> bool:
        """Refuses what has no end yet and is over its limit already."""
        if self._phase is _Phase.HEADERS and len(self.url) > self.limits.address_bytes:
            self._refuse(self._address_too_long())
        elif self._overhead_bytes > self.limits.header_bytes:
            self._refuse(self._headers_too_large())
        return self._is_deaf

    def _await_the_rest(self) -> None:
        """Whatever the connection waits for now, a clock runs for it."""
        if self._clock is not None:
            return
        if self._phase is _Phase.HEADERS:
            self._start_clock(self.limits.header_seconds, self._headers_late)
        elif self._phase is _Phase.BODY:
            self._progressed = self.loop.time()
            self._start_clock(self.limits.body_idle_seconds, self._body_late)
        elif not self._is_answering() and self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    # What the parser finds

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._phase = _Phase.HEADERS
        self._began = self.loop.time()

    def on_headers_complete(self) -> None:
        if len(self.url) > self.limits.address_bytes:
            self._reject(self._address_too_long())
        if len(self.headers) > self.limits.header_count:
            limit = self.limits.header_count
            self._reject(_Refusal(431, f"A request must not have over {limit} headers"))
        if self._may_be_too_large and self._sum_headers() > self.limits.header_bytes:
            self._reject(self._headers_too_large())
        self._check_host([value for name, value in self.headers if name == b"host"])
        self._is_answered = self._answer_at_once()
        if not self._is_answered:
            super().on_headers_complete()
        self.headers = []  # for trailers, which RFC 9110, 6.5.1 lets recipients ignore
        self._stop_clock()
        self._phase = _Phase.BODY
        self._has_body = False
        self._overhead_bytes = 0

    def _answer_at_once(self) -> bool:
        """Answers a plain GET whose answer is kept, on a connection that waits for nothing else."""
        if (
            self.shortcut is None
            or self.parser.get_method() != b"GET"
            or self._is_answering()
            or self.flow.write_paused
            or self.transport.is_closing()
            or not (self.parser.should_keep_alive() and self.parser.get_http_version() == "1.1")
        ):
            return False
        found = self.shortcut(self.url, self.headers)
        if found is None:
            return False
        identifier = request_id(self.headers)
        self.transport.write(
            b"%b%b%bx-request-id: %b\r\n\r\n%b"
            % (
                STATUS_LINE[found.status],
                sent(self.server_state.default_headers),
                found.head,
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
            duration_ms=(self.loop.time() - self._began) * 1000,
            sent_bytes=len(found.body),
            key_id=found.key_id,
        )
        return True

    def _sum_headers(self) -> int:
        return sum(len(name) + len(value) for name, value in self.headers)

    def _check_host(self, hosts: list[bytes]) -> None:
        """RFC 9112, 3.2: a missing, doubled or malformed Host is answered with 400."""
        if len(hosts) != 1 and (hosts or self.parser.get_http_version() != "1.0"):
            self._reject(_Refusal(400, "A request must have exactly one Host header"))
        if hosts and not _HOST.match(hosts[0]):
            self._reject(_Refusal(400, "The Host header must hold a host and an optional port"))

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._has_body = True
        self._overhead_bytes = 0
        self._progressed = self.loop.time()

    def on_message_complete(self) -> None:
        if not self._is_answered:
            super().on_message_complete()
        self._stop_clock()
        self._phase = _Phase.REQUEST
        self._overhead_bytes = 0

    def _reject(self, refusal: _Refusal) -> None:
        """Ends a callback of the parser, which would keep our exception to itself."""
        self._refusal = refusal
        raise refusal

    def _address_too_long(self) -> _Refusal:
        return _Refusal(414, f"The address must not be over {self.limits.address_bytes} bytes")

    def _headers_too_large(self) -> _Refusal:
        return _Refusal(431, f"Headers must not be over {self.limits.header_bytes} bytes in all")

    # Answers that the application does not make

    def _refuse(self, refusal: _Refusal) -> None:
        """Answers, unless that would cut into an earlier response, and closes."""
        self._is_deaf = True
        self._stop_clock()
        if self._phase is _Phase.BODY:
            if self.pipeline or self.cycle.response_started:
                self.transport.close()
                return
            cast(dict[str, Any], self.cycle.scope)[REFUSED_WITH] = refusal.status
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self._send_refusal(refusal, self.cycle.scope["state"].get("request_id"))
        elif self._is_answering():
            self.cycle.keep_alive = False
        else:
            self._send_refusal(refusal, None)

    def _send_refusal(self, refusal: _Refusal, logged_as: str | None) -> None:
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
        self._start_clock(self.limits.linger_seconds, self.transport.close)
        if logged_as is None:
            log_request(
                identifier,
                method=None,
                route=None,
                status=refusal.status,
                duration_ms=(self.loop.time() - self._began) * 1000,
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
        self._stop_clock()
        if self.expect_100_continue and not self._has_body:
            self.transport.close()
        else:
            self._start_clock(self.limits.linger_seconds, self.transport.close)

    # Clocks

    def _start_clock(self, seconds: float, late: Callable[[], None]) -> None:
        self._clock = self.loop.call_later(seconds, late)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _headers_late(self) -> None:
        limit = self.limits.header_seconds
        if self.flow.read_paused:  # it is we who do not read
            self._start_clock(limit, self._headers_late)
        elif self._phase is _Phase.HEADERS:
            self._refuse(_Refusal(408, f"Headers must arrive within {limit:g} seconds"))
        else:
            self.transport.close()

    def _body_late(self) -> None:
        now = self.loop.time()
        if self.flow.read_paused:
            self._progressed = now
            self._start_clock(self.limits.body_idle_seconds, self._body_late)
            return
        idle_left = self._progressed + self.limits.body_idle_seconds - now
        left = self._began + self.limits.body_seconds - now
        if min(idle_left, left) > 0:
            self._start_clock(min(idle_left, left), self._body_late)
        elif left <= 0:
            limit = self.limits.body_seconds
            self._refuse(_Refusal(408, f"A request must arrive within {limit:g} seconds"))
        else:
            limit = self.limits.body_idle_seconds
            self._refuse(_Refusal(408, f"A body must not pause for {limit:g} seconds"))


def _drop_unread_after(transport: asyncio.Transport, seconds: float) -> None:
    """Has the kernel drop a client that takes nothing of its response for so long.

    Over TLS the transport cannot tell how much is unread; the kernel (RFC 5482, Linux) can.
    """
    option = getattr(socket, "TCP_USER_TIMEOUT", None)
    connection = transport.get_extra_info("socket")
    if option is not None and connection is not None:
        connection.setsockopt(socket.IPPROTO_TCP, option, int(seconds * 1000))


def _malformed(error: httptools.HttpParserError) -> _Refusal:
    """The parser's own reasons are fixed sentences; nothing of the request is repeated."""
    if isinstance(error, httptools.HttpParserCallbackError):
        return _Refusal(400, "Malformed HTTP request: invalid address")
    return _Refusal(400, f"Malformed HTTP request: {error}")
