"""Backpressure for pipelined requests: do not work ahead of a client that does not read.

uvicorn parses everything received into queued requests (many times their size in memory),
resumes reading after each response, and starts the next request while the previous response is
still unread. See docs/decisions/server/connections.md.
"""

import asyncio
from collections.abc import Sized
from typing import Any, cast

from starlette.types import Scope
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from gateway.client_address import group_address
from gateway.exchange import MAX_WRITE_BYTES, get_client_address
from gateway.server.connections.input_turns import ScheduledInput
from gateway.server.early_rejection import EarlyRejectionProtocol

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
