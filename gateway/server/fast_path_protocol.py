"""The fast path on a connection: answer requests that it knows, without the application.

A GET is looked up once its head is complete, and a POST once its body is. Meanwhile the application
has not started, so only a POST that may be known waits, and few do at a time. All others start the
application with their head, as do requests behind one that is still being answered.
A request that arrives in the same bytes as one that was answered is not even parsed.
See docs/decisions/server/fast-path.md.
"""

from typing import TYPE_CHECKING, Any, cast

from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from gateway.cache.cached_response import HeaderList, serialize_headers
from gateway.exchange import get_request_id, has_request_id, log_request, new_request_id
from gateway.server.config import FastPathLookup, FastPathLookupByBody
from gateway.server.connections.input_turns import Standing
from gateway.server.repeated_requests import RepeatedRequest, RepeatedRequests
from gateway.server.websocket_protocol import WebSocketUpgradeProtocol

if TYPE_CHECKING:
    from gateway.cache.fast_path import BodyLookup, FastResponse

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
