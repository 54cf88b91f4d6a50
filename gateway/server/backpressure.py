"""Reject requests that a worker has no room for, and announce the end of a connection.

A rejection by the application costs a task, the middleware and a log line: enough of them would
take the time of the requests that are worked on.

A request may be on its way when the server closes an idle connection (RFC 9112, 9.3.1). So a worker
that drains waits for the next request of such a connection and says `Connection: close` in its
response. See docs/decisions/server/restarts.md.
"""

import asyncio
import functools
from collections.abc import Sized
from typing import Any, cast

from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from gateway.exchange import (
    MAX_WRITE_BYTES,
    build_error_messages,
    get_client_address,
    get_request_id,
    group_address,
)
from gateway.responses import serialize_headers
from gateway.server.admission import (
    SCOPE_ADMISSION,
    Admission,
    Permit,
    Rejection,
    ScheduledInput,
    Standing,
)
from gateway.server.connections import Connection
from rest.errors import ErrorSource

MAX_DISCARDED_DIGITS = 5
"""Of the `Content-Length` of a body that is read and discarded: below 100,000 bytes."""
APPLICATION_REJECTION_COST = 4
"""The CPU time of a rejection by the application, in rejections by the protocol."""
MAX_DELAYED_SECONDS = 5.0
"""A client without a known key that has had to wait so long is closed when it is rejected."""
REJECTION_UNITS = 6
"""The CPU time of a rejection by the protocol, in units of `InputTurns`."""
UNLIMITED_UNITS = 20
"""That of a request which needs no slot, or of a rejection by the application."""
_APPLICATION_HEADERS = frozenset({b"transfer-encoding", b"upgrade", b"origin"})
"""Headers of requests that only the application can reject properly, such as by CORS."""


class EarlyRejectionProtocol(HttpToolsProtocol):
    """Ask `admission` for a slot when a request starts. Without it, the application does."""

    connection: Connection
    """Set by the listener."""

    def __init__(self, *args: Any, admission: Admission | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self._admission = admission
        self._is_upgrading = False
        """Whether the request is to become a WebSocket."""
        self._is_delayed = False
        """Whether this client, which was rejected, has to wait before its next request is read."""
        self._is_rejecting = False
        """Whether the application is sending a rejection."""
        self._delayed_seconds = 0.0
        """How long this client has had to wait since it sent a valid key."""
        self._address = ""
        """Its address, if the last rejection was of a request without a known key."""
        self._has_announced_close = False
        """Whether a response said so: requests behind it are not answered (RFC 9112, 9.6)."""

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        admission = self._admission
        if admission is None:
            if not self._is_upgrading:
                self._begin(cycle, app)
            return
        scope = cast(Scope, cycle.scope)
        decision = admission.admit(scope)
        if isinstance(decision, Rejection):
            client = get_client_address(scope)
            admission.count_rejection(decision, client)
            self._address = "" if decision.has_known_key else group_address(client)
            if self._address:
                self.connection.standing = Standing.REJECTED
                cycle.keep_alive &= self._delayed_seconds < MAX_DELAYED_SECONDS
            if self._can_reject(cycle):
                self._reject(cycle, decision)
                self._delay_reading(admission)
                return
            self._is_rejecting = True
        elif isinstance(decision, Permit) and decision.group:
            self.connection.standing, self._delayed_seconds = Standing.ACCEPTED, 0.0
        scope[SCOPE_ADMISSION] = decision
        if self._is_upgrading:  # the parser stops behind this request, where a WebSocket begins
            return
        begin = functools.partial(self._begin, cycle, app)
        if isinstance(decision, Permit):
            admission.start(begin, self.connection.standing)
        else:
            self.connection.table.turns.spend(UNLIMITED_UNITS)
            begin()

    def _begin(self, cycle: RequestResponseCycle, app: Any) -> None:
        async def run_app(scope: Scope, receive: Receive, send: Send) -> None:
            async def send_with_close(message: Message) -> None:
                is_last = self.connection.table.is_draining and not self.has_more_requests()
                if not (message["type"] == "http.response.start" and cycle.keep_alive and is_last):
                    await send(message)
                    return
                self._has_announced_close = True
                cycle.keep_alive = False  # adds the header
                await send(message)
                # uvicorn would close before the client has read the response, and what still
                # arrives would destroy it: the protocol closes a moment later.
                cycle.keep_alive = True

            await app(scope, receive, send_with_close)

        super()._start_asgi_task(cycle, cast(Any, run_app))

    def has_more_requests(self) -> bool:
        """Return whether something has arrived behind the request that is answered."""
        return bool(self.pipeline)

    def _can_reject(self, cycle: RequestResponseCycle) -> bool:
        """Return whether the request is plain, or would become a WebSocket.

        Its body, if it has one, is small enough to be discarded when it arrives.
        """
        if self._is_upgrading:
            cycle.keep_alive = False
            return True
        if cycle.waiting_for_100_continue or self.connection.table.is_draining:
            return False
        for name, value in cycle.scope["headers"]:
            if name in _APPLICATION_HEADERS:
                return False
            if name == b"content-length" and len(value) > MAX_DISCARDED_DIGITS:
                return False
        return True

    def _reject(self, cycle: RequestResponseCycle, rejection: Rejection) -> None:
        cycle.response_started = cycle.response_complete = True
        scope = cast(Scope, cycle.scope)
        request_id = get_request_id(scope)
        error = rejection.error
        start, body = build_error_messages(error, ErrorSource.from_scope(scope, request_id))
        self.transport.write(
            b"%b%b%b%bx-request-id: %b\r\n\r\n%b"
            % (
                STATUS_LINE[error.status],
                serialize_headers(cycle.default_headers),
                serialize_headers(start["headers"]),
                b"" if cycle.keep_alive else b"connection: close\r\n",
                request_id.encode("latin-1"),
                b"" if scope["method"] == "HEAD" else body["body"],
            )
        )
        self.connection.table.turns.spend(REJECTION_UNITS)
        self.server_state.total_requests += 1
        if not cycle.keep_alive:
            self.transport.close()

    def on_response_complete(self) -> None:
        is_rejecting, self._is_rejecting = self._is_rejecting, False
        super().on_response_complete()
        if is_rejecting and self._admission is not None:
            self._delay_reading(self._admission, APPLICATION_REJECTION_COST)

    def _delay_reading(self, admission: Admission, cost: int = 1) -> None:
        delay_seconds = admission.delay_after(self.loop.time(), cost, self._address)
        # A request behind this one has been read already, and is rejected or does work itself.
        if delay_seconds and self.cycle.response_complete and not self.transport.is_closing():
            self._is_delayed = True
            self._delayed_seconds += delay_seconds
            self.flow.pause_reading()
            self.loop.call_later(delay_seconds, self._end_delay)

    def _end_delay(self) -> None:
        self._is_delayed = False
        if not self.transport.is_closing():
            self.flow.resume_reading()


# Backpressure for pipelined requests: do not work ahead of a client that does not read.
#
# uvicorn parses everything received into queued requests (many times their size in memory),
# resumes reading after each response, and starts the next request while the previous response is
# still unread. See docs/decisions/server/connections.md.


MAX_PIECE_BYTES = 2048
"""Parsed at a time."""
TLS_BUFFER_BYTES = MAX_WRITE_BYTES + (64 << 10)
"""What the TCP transport below a TLS transport, which does not tell, may hold when that waits."""


class BackpressureProtocol(ScheduledInput, EarlyRejectionProtocol):
    """Buffer bytes unparsed during a request, and a request while writing is paused.

    A connection holds one unread response, or two over TLS, which buffers more than the TCP
    connection below it. Work on the next request does not start before they are read. Whatever
    waits for the client counts towards the budget of unread responses.
    """

    max_piece_bytes = MAX_PIECE_BYTES

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._started_cycle: RequestResponseCycle | None = None
        """The request that was started last: its response is the one being written."""
        self._unstarted: tuple[RequestResponseCycle, Any] | None = None
        """The request that starts once the client has read most of the previous response."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.connection.transport = transport
        self.flow = _ReadControl(transport, self._unparsed)
        # Pause as soon as the client does not take everything. TLS would pause at 0 bytes too.
        transport.set_write_buffer_limits(high=int(self.scheme == "https"))

    def connection_lost(self, exc: Exception | None) -> None:
        self.connection.table.remove(self.connection)
        super().connection_lost(exc)

    def _pause_input(self) -> None:
        self.flow.pause_reading()

    def _resume_input(self) -> None:
        cycle = self.cycle
        has_room = cycle is None or cycle.response_complete or len(cycle.body) <= HIGH_WATER_LIMIT
        if has_room and not self._is_delayed:
            self.flow.resume_reading()

    def has_more_requests(self) -> bool:
        return bool(self._unparsed) or super().has_more_requests()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.parse_later()

    def _end_delay(self) -> None:
        super()._end_delay()
        self.parse_later()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        # What is unread before the first response are TLS session tickets: do not wait for these.
        if self.flow.write_paused and self._started_cycle is not None:
            self._unstarted = cycle, app
        else:
            self._started_cycle = cycle
            super()._start_asgi_task(cycle, app)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.connection.is_write_paused = True
        group, unread_bytes = self.connection.group, self.transport.get_write_buffer_size()
        if self.scheme == "https":
            unread_bytes += TLS_BUFFER_BYTES
        if self._started_cycle is not None:
            group = group_address(get_client_address(cast(Scope, self._started_cycle.scope)))
            if not self._started_cycle.response_complete:
                unread_bytes += self._started_cycle.expected_content_length
        self.connection.table.unread.add(self.connection, group, unread_bytes)

    def resume_writing(self) -> None:
        super().resume_writing()
        self.connection.is_write_paused = False
        self.connection.table.unread.remove(self.connection)
        if self._unstarted is not None:
            cycle, app = self._unstarted
            self._unstarted = None
            if not (cycle.disconnected or self.transport.is_closing()):  # rejected in the meantime
                self._start_asgi_task(cycle, app)


class _ReadControl(FlowControl):
    """Resume reading only when what was read is parsed."""

    def __init__(self, transport: asyncio.Transport, unparsed: Sized) -> None:
        super().__init__(transport)
        self._unparsed = unparsed

    def resume_reading(self) -> None:
        if not self._unparsed:
            super().resume_reading()
