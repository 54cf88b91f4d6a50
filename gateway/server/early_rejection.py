"""Reject requests that a worker has no room for, before the application runs.

A rejection by the application costs a task, the middleware and a log line: enough of them would
take the time of the requests that are worked on.
"""

import functools
from typing import Any, cast

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from gateway.cache.cached_response import serialize_headers
from gateway.exchange import build_error_messages, get_client_address, get_request_id
from gateway.server.admission import SCOPE_ADMISSION, Admission, Permit, Rejection
from gateway.server.draining import DrainingProtocol
from rest.errors import ErrorSource

MAX_DISCARDED_DIGITS = 5
"""Of the `Content-Length` of a body that is read and discarded: below 100,000 bytes."""
APPLICATION_REJECTION_COST = 4
"""The CPU time of a rejection by the application, in rejections by the protocol."""
_APPLICATION_HEADERS = frozenset({b"transfer-encoding", b"upgrade", b"origin"})
"""Headers of requests that only the application can reject properly, such as by CORS."""


class EarlyRejectionProtocol(DrainingProtocol):
    """Ask `admission` for a slot when a request starts. Without it, the application does."""

    def __init__(self, *args: Any, admission: Admission | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self._admission = admission
        self._is_parsing = False
        self._is_delayed = False
        """Whether this client, which was rejected, has to wait before its next request is read."""
        self._is_rejecting = False
        """Whether the application is sending a rejection."""

    def on_headers_complete(self) -> None:
        self._is_parsing = True
        try:
            super().on_headers_complete()
        finally:
            self._is_parsing = False

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        admission = self._admission
        if admission is None:
            super()._start_asgi_task(cycle, app)
            return
        scope = cast(Scope, cycle.scope)
        decision = admission.admit(scope)
        if isinstance(decision, Rejection):
            admission.count_rejection(decision, get_client_address(scope))
            if self._can_reject(cycle):
                self._reject(cycle, decision)
                self._delay_reading(admission)
                return
            self._is_rejecting = True
        scope[SCOPE_ADMISSION] = decision
        begin = functools.partial(super()._start_asgi_task, cycle, app)
        if isinstance(decision, Permit):
            admission.start(begin)
        else:
            begin()

    def _can_reject(self, cycle: RequestResponseCycle) -> bool:
        """Return whether the request is the last one parsed, and plain.

        Its body, if it has one, is small enough to be discarded when it arrives.
        """
        if not self._is_parsing or cycle.waiting_for_100_continue or self.is_draining:
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
        self.server_state.total_requests += 1
        if not cycle.keep_alive:
            self.transport.close()

    def on_response_complete(self) -> None:
        is_rejecting, self._is_rejecting = self._is_rejecting, False
        super().on_response_complete()
        if is_rejecting and self._admission is not None:
            self._delay_reading(self._admission, APPLICATION_REJECTION_COST)

    def _delay_reading(self, admission: Admission, cost: int = 1) -> None:
        delay_seconds = admission.delay_after(self.loop.time(), cost)
        # A request behind this one has been read already, and is rejected or does work itself.
        if delay_seconds and self.cycle.response_complete and not self.transport.is_closing():
            self._is_delayed = True
            self.flow.pause_reading()
            self.loop.call_later(delay_seconds, self._end_delay)

    def _end_delay(self) -> None:
        self._is_delayed = False
        if not self.transport.is_closing():
            self.flow.resume_reading()
