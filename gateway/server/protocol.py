"""HTTP/1.1 on one connection: uvicorn's httptools protocol with timeouts, limits, JSON errors.

uvicorn limits neither how long headers and bodies may take to arrive, nor the size of headers,
nor how long a client may leave its response unread (docs/decisions/server/connections.md).
"""

import asyncio
from collections.abc import Callable
from enum import Enum
from typing import Any, cast

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from gateway.client_address import get_forwarded_address
from gateway.exchange import (
    SCOPE_CLIENT_ADDRESS,
    SCOPE_EARLY_STATUS,
    log_request,
    new_request_id,
)
from gateway.server.admission import Admission
from gateway.server.config import ConnectionLimits, FastPathLookup, FastPathLookupByBody
from gateway.server.fast_path_protocol import FastPathProtocol
from gateway.server.repeated_requests import RepeatedRequests
from gateway.server.request_head import (
    ProtocolError,
    check_head,
    check_sizes,
    to_headers_error,
    to_origin_form,
    to_protocol_error,
    to_url_error,
)
from rest.errors import SCOPE_BASE_URL, ErrorSource, request_timeout_error

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
