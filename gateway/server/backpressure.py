"""Backpressure for pipelined requests: do not work ahead of a client that does not read.

uvicorn parses everything received into queued requests (many times their size in memory),
resumes reading after each response, and starts the next request while the previous response is
still unread. See docs/decisions/server/connections.md.
"""

import asyncio
from collections.abc import Sized
from typing import Any

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from gateway.server.early_rejection import EarlyRejectionProtocol

MAX_PIECE_BYTES = 2048
"""Parsed at a time. The smallest request has 26 bytes, so at most 80 can be queued."""


class BackpressureProtocol(EarlyRejectionProtocol):
    """Buffer bytes unparsed while requests are queued, and requests while writing is paused.

    A connection holds one unread response, or two over TLS, which buffers one more than the
    TCP connection below it. Work on the next request does not start before they are read.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._unparsed = bytearray()
        self._unstarted: tuple[RequestResponseCycle, Any] | None = None
        """The request that starts once the client has read most of the previous response."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = _ReadControl(transport, self.pipeline)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():  # TLS goes on reading while it closes
            return
        self._unparsed += data
        self._parse()

    def _parse(self) -> None:
        """Parse the buffered bytes until a request has to be queued."""
        while (
            self._unparsed
            and not (self.pipeline or self._is_delayed)
            and not self.transport.is_closing()
        ):
            piece = bytes(self._unparsed[:MAX_PIECE_BYTES])
            del self._unparsed[:MAX_PIECE_BYTES]
            self.parse(piece)

    def parse(self, piece: bytes) -> None:
        """Parse the next bytes of the connection."""
        super().data_received(piece)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._parse()

    def _end_delay(self) -> None:
        super()._end_delay()
        self._parse()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        if self.flow.write_paused:
            self._unstarted = cycle, app
        else:
            super()._start_asgi_task(cycle, app)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unstarted is not None:
            cycle, app = self._unstarted
            self._unstarted = None
            if not (cycle.disconnected or self.transport.is_closing()):  # rejected in the meantime
                super()._start_asgi_task(cycle, app)


class _ReadControl(FlowControl):
    """Resume reading only when no requests are queued."""

    def __init__(self, transport: asyncio.Transport, queued: Sized) -> None:
        super().__init__(transport)
        self._queued = queued

    def resume_reading(self) -> None:
        if not self._queued:
            super().resume_reading()
