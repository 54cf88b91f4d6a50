"""HTTP/1.1 on one connection (RFC 9112): from its bytes to the application and back, within limits.

A request passes, in this order: its turn to be parsed, the limits and rules of its head, the fast
path, the reading of the response before it, admission, the application. `HttpConnection` shows this
order, and its collaborators hold what belongs to one step: `FlowControl`, `BodyPace`, and the
`Exchange` of one request.
uvicorn's protocol limits neither how long headers and bodies may take to arrive, nor the size of
headers, nor how long a client may leave its response unread.
See docs/decisions/server/connections.md.
"""

import asyncio
import functools
import logging
import re
import urllib.parse
from collections import deque
from collections.abc import Callable, Sized
from enum import Enum
from typing import TYPE_CHECKING, Any, cast

import httptools
import uvicorn.server
from starlette.types import ASGIApp, Message, Scope
from uvicorn.protocols.utils import get_local_addr, get_remote_addr, is_ssl

from gateway.exchange import (
    REQUEST_ID_HEADER,
    SCOPE_CLIENT_ADDRESS,
    SCOPE_EARLY_STATUS,
    STATUS_LINES,
    TRACEPARENT_HEADER,
    HeaderFields,
    HeaderList,
    check_head,
    fields_of,
    get_client_address,
    get_forwarded_address,
    get_request_id,
    group_address,
    log_request,
    new_request_id,
    serialize_error,
    to_http_error,
    to_origin_form,
)
from gateway.metrics import NO_OPERATION, counters
from gateway.server.admission import (
    SCOPE_ADMISSION,
    Permit,
    Rejection,
    ScheduledInput,
    Standing,
)
from gateway.server.config import Application, ConnectionLimits
from gateway.server.connections import TLS_BUFFER_BYTES, Connection
from gateway.server.websocket_connection import HANDSHAKE_UNITS, WebSocketProtocol
from rest.errors import (
    SCOPE_BASE_URL,
    ErrorSource,
    HttpError,
    bad_request_error,
    headers_too_large_error,
    request_timeout_error,
    url_too_long_error,
)

if TYPE_CHECKING:
    from gateway.response_cache import BodyLookup, FastResponse

MAX_PIECE_BYTES = 2048
"""Bytes that are parsed at a time."""
MAX_EMPTY_BYTES = 16
"""Empty lines before a request, which some clients send after a body (RFC 9112, 2.2)."""
MAX_BODY_BUFFER_BYTES = 64 << 10
"""Bytes of a body that the application has not received yet; then reading pauses."""
MAX_AWAITED_BODIES = 100
"""POSTs of a worker that wait for the rest of their body to be looked up. Each is short."""
MAX_DISCARDED_DIGITS = 5
"""Digits of the `Content-Length` of a body that is read and discarded: below 100,000 bytes."""
APPLICATION_REJECTION_COST = 4
"""The CPU time of a rejection by the application, in rejections by the protocol."""
MAX_DELAYED_SECONDS = 5.0
"""A client without a known key that has had to wait so long is closed when it is rejected."""
REJECTION_UNITS = 6
"""The CPU time of a rejection by the protocol, in units of `InputTurns`."""
UNLIMITED_UNITS = 20
"""The CPU time of a request that needs no slot, or of a rejection by the application."""
_CHUNK_ALLOWANCE_BYTES = 16
"""Bytes around the data of a chunk, for its size and line ends. It may have as many again as its
data: what is more are extensions or chunks so small that they are padding (as in Go's net/http)."""
_CONTROL_CHARACTER = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_APPLICATION_HEADERS = frozenset({b"transfer-encoding", b"upgrade", b"origin"})
"""Headers of requests that only the application can reject properly, such as by CORS."""

_logger = logging.getLogger("floorgate.server")


class ServerState(uvicorn.server.ServerState):
    """What the connections of a worker share."""

    header_lines = b""
    """The headers of every response, as they are sent."""


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
        self.write_paused = True
        self._writable.clear()

    def resume_writing(self) -> None:
        self.write_paused = False
        self._writable.set()

    async def wait_until_writable(self) -> None:
        """Wait until the client has read most of what was written."""
        await self._writable.wait()


class Exchange:
    """One request and its response, as the application receives and sends them (ASGI 3)."""

    def __init__(
        self, connection: "HttpConnection", scope: Scope, *, keep_alive: bool, expects_100: bool
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
        """True if all of the request has arrived."""
        self._is_chunked = False
        self._connection = connection
        self._changed = asyncio.Event()

    def receive_body(self, piece: bytes) -> None:
        self.body += piece
        self._changed.set()

    def complete_body(self) -> None:
        self._is_complete = True
        self._changed.set()
        self.close_if_last()

    def disconnect(self) -> None:
        """Tell the application that its response does not reach the client."""
        self.disconnected = True
        self._changed.set()

    def close_if_last(self) -> None:
        """Close the connection if neither side sends any more on it.

        To close while the body arrives would destroy a response that the client has not read.
        """
        if self.response_complete and self._is_complete and not self.keep_alive:
            self._connection.transport.close()

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
        lines = [STATUS_LINES[status], connection.server_state.header_lines]
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
        self.close_if_last()
        connection.on_response_complete()


def check_sizes(
    target: bytes, headers: HeaderList, limits: ConnectionLimits, may_be_large: bool
) -> None:
    """Check the size of a head; its headers are added up only if they `may_be_large`.

    Raises HttpError.
    """
    if len(target) > limits.max_url_bytes:
        raise url_too_long_error(limits.max_url_bytes)
    if len(headers) > limits.max_headers:
        message = f"A request must not have more than {limits.max_headers} headers"
        raise HttpError(431, message, "HEADERS_TOO_LARGE")
    if may_be_large:
        size = sum(len(name) + len(value) for name, value in headers)
        if size > limits.max_header_bytes:
            raise headers_too_large_error(limits.max_header_bytes)


class BodyPace:
    """The deadline for more of a body: each byte gives a client more time."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self.deadline = 0.0

    def begin(self, now: float) -> None:
        self.deadline = now + self._limits.grace_seconds

    def extend(self, now: float, size_bytes: int) -> None:
        gained = self.deadline + size_bytes / self._limits.min_bytes_per_second
        self.deadline = min(gained, now + self._limits.body_idle_seconds)

    def pause(self, now: float) -> None:
        """Do not count the time in which the client waits for the server."""
        self.deadline = now + self._limits.body_idle_seconds


class _Phase(Enum):
    """The part of a request that the parser expects next."""

    REQUEST = "request"
    HEADERS = "headers"
    BODY = "body"


class HttpConnection(ScheduledInput, asyncio.Protocol):
    """One connection. Its methods stand in the order in which a request passes them.

    A connection holds one unread response, or two over TLS, which buffers more than the TCP
    connection below it. Work on the next request does not start before they are read.
    """

    connection: Connection
    """Set by the listener."""
    transport: asyncio.Transport
    max_piece_bytes = MAX_PIECE_BYTES

    def __init__(
        self,
        application: Application,
        app: ASGIApp,
        server_state: ServerState,
        websocket_config: uvicorn.Config,
        proxy_hops: int = 0,
    ) -> None:
        """Serve `app`, which the application has built."""
        super().__init__()
        self._application = application
        self._admission = application.admission
        self._app = app
        self._fast_path = application.get_fast_path()
        self._proxy_hops = proxy_hops
        self._websocket_config = websocket_config
        self.server_state = server_state
        self.loop = asyncio.get_running_loop()
        self._parser: Any = httptools.HttpRequestParser(self)
        # A request behind one that closes the connection is parsed and not answered.
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._timer: asyncio.TimerHandle | None = None
        """Ends what the phase is waiting for, or a connection that lingers."""
        self._idle_timer: asyncio.TimerHandle | None = None
        self._idle_since = 0.0
        """When the last request was answered that was not parsed."""
        self.exchange: Exchange | None = None
        """The exchange of the last parsed request that the fast path has not answered."""
        self._started: Exchange | None = None
        """The exchange that was started last: its response is the one being written."""
        self._unstarted: Exchange | None = None
        """The one that starts once the client has read most of the previous response."""
        self.pipeline = deque[Exchange]()
        """The exchanges behind one that is being answered."""
        self.is_delayed = False
        """True if the client was rejected, and has to wait before its next request is read."""
        self._delayed_seconds = 0.0
        """It has had to wait for so many seconds since it sent a valid key."""
        self._rejected_address = ""
        """Its address, if the last rejection was of a request without a known key."""
        self._is_rejecting = False
        """True if the application is sending a rejection."""
        self._has_announced_close = False
        """True if a response said so: requests behind it are not answered (RFC 9112, 9.6)."""
        self._discarding_input = False
        """Ignore what still arrives: the connection closes after the response sent."""
        self._rejection: HttpError | None = None
        self._phase = _Phase.REQUEST
        self._buffered_bytes = 0
        """Bytes of headers, or of a body what is not its data: all that the parser may hold."""
        self._headers_may_exceed_limit = False
        """True if the piece being parsed may contain headers over their limit."""
        self._has_body = False
        self._body_left = 0
        """Bytes of a body with a `Content-Length` that are still to come."""
        self._url = b""
        self._headers: HeaderList = []
        self._scope: Scope = {}
        self._expects_100 = False
        self._is_upgrading = False
        """True if the request is to become a WebSocket."""
        self._request_started = 0.0
        self._http_version = ""
        self._client_address = ""
        self._forwarded_address = ""
        """The client's address if a proxy vouches for it."""
        self._body_lookup: BodyLookup | None = None
        """It looks up a POST in the fast path once the body has arrived."""
        self._awaited_body = b""
        self._is_answered = False
        """True if the fast path has answered the request being parsed."""
        self._begun_requests = 0
        """Requests that begin in the piece being parsed."""
        self._repeatable: FastResponse | None = None
        """The answer to the request being parsed, if its bytes determine it."""

    # The connection: its begin, its input, its end

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for the first request."""
        self.transport = self.connection.transport = cast(asyncio.Transport, transport)
        self.server_state.connections.add(cast(Any, self))
        self.limits = self.connection.table.limits
        self._pace = BodyPace(self.limits)
        self.flow = FlowControl(self.transport, self._unparsed)
        self._server = get_local_addr(self.transport)
        self.client = get_remote_addr(self.transport)
        self._scheme = "https" if is_ssl(self.transport) else "http"
        # Pause as soon as the client does not take everything. TLS would pause at 0 bytes too.
        self.transport.set_write_buffer_limits(high=int(self._scheme == "https"))
        self._request_started = self.loop.time()
        self._client_address = self.connection.address
        self._start_timer(self.limits.header_seconds, self._on_header_timeout)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the application that the client has left."""
        self._stop_timer()
        self._stop_idle_timer()
        self.start_waiting_request()  # and let it log that the client has left
        self.connection.table.remove(self.connection)
        self.server_state.connections.discard(cast(Any, self))
        for exchange in (self._started, self.exchange):
            if exchange is not None and not exchange.response_complete:
                exchange.disconnect()
        self.flow.resume_writing()
        # They refer to this object, and only a collection would free it.
        self._parser = self.exchange = self._started = self._unstarted = None
        self.pipeline.clear()

    def parse(self, piece: bytes) -> None:
        """Parse the next bytes, in which the head of one request ends at most."""
        if self._discarding_input or (self._has_announced_close and self._phase is _Phase.REQUEST):
            return
        is_between_requests = self._phase is _Phase.REQUEST and not self._buffered_bytes
        if is_between_requests and self._answer_repeated(piece):
            return
        self._begun_requests = 0
        self._stop_idle_timer()
        self._buffered_bytes += len(piece)
        self._headers_may_exceed_limit = self._buffered_bytes > self.limits.max_header_bytes
        try:
            self._parser.feed_data(piece)
        except httptools.HttpParserUpgrade as upgrade:
            if self._is_upgrading and not self._current.response_complete:
                self._start_websocket(piece[upgrade.args[0] :])
                return
            self._current.keep_alive = False  # what follows may be in another protocol
        except httptools.HttpParserError as error:
            self._reject_request(self._rejection or to_http_error(error))
            return
        if self._is_upgrading or (
            self._phase is not _Phase.REQUEST and self._reject_if_too_large()
        ):
            return
        if self._phase is _Phase.REQUEST and self._buffered_bytes > MAX_EMPTY_BYTES:
            self._reject_request(bad_request_error("Empty lines precede the request"))
            return
        if is_between_requests and self._phase is _Phase.REQUEST and not self._buffered_bytes:
            self._remember_answered(piece)
        self._start_phase_timer()

    @property
    def _current(self) -> Exchange:
        """The exchange of the request being parsed, which the application has."""
        assert self.exchange is not None
        return self.exchange

    def _may_parse(self) -> bool:
        """Return whether no request is answered, or its body or what is discarded arrives."""
        return not self.is_delayed and (
            not self._response_in_progress() or self._phase is _Phase.BODY or self._discarding_input
        )

    def _response_in_progress(self) -> bool:
        return self.exchange is not None and not self.exchange.response_complete

    def _find_piece_size(self) -> int:
        """Return how much to parse next: no head of a request with the body before it."""
        if self._discarding_input:
            return len(self._unparsed)
        if self._body_left > 0:
            return min(self._body_left, self.max_piece_bytes)
        return super()._find_piece_size()

    def _pause_input(self) -> None:
        self.flow.pause_reading()

    def _resume_input(self) -> None:
        is_full = self._response_in_progress() and len(self._current.body) > MAX_BODY_BUFFER_BYTES
        if not (is_full or self.is_delayed):
            self.flow.resume_reading()

    # The head of a request, as the parser finds it

    def on_message_begin(self) -> None:
        self._begun_requests += 1
        self._repeatable = None
        self._phase = _Phase.HEADERS
        self._request_started = self.loop.time()
        self._client_address = self.connection.address
        self._url = b""
        self._expects_100 = False
        self._headers = []
        self._scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "server": self._server,
            "client": self.client,
            "scheme": self._scheme,
            "root_path": "",
            "headers": self._headers,
            "state": {},
        }

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; one behind the body is a trailer, and ignored."""
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self._expects_100 = True
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Check the head, and answer the request or hand it on. Raises HttpError."""
        try:
            check_sizes(self._url, self._headers, self.limits, self._headers_may_exceed_limit)
            self._http_version = self._parser.get_http_version()
            check_head(self._http_version, self._headers)
            self._url = to_origin_form(self._url, self._headers)
        except HttpError as error:
            self._rejection = error  # the parser hides it
            raise
        if self._proxy_hops:
            forwarded = get_forwarded_address("", self._headers, self._proxy_hops)
            self._forwarded_address = forwarded
            self._client_address = forwarded or self.connection.address
        self._scope[SCOPE_CLIENT_ADDRESS] = self._client_address
        if self._application.configured_base_url is not None:
            self._scope[SCOPE_BASE_URL] = self._application.configured_base_url
        self.connection.table.mark_busy(self.connection)
        if not self._ask_fast_path():
            self._begin_exchange()
        self._body_left = int(dict(self._headers).get(b"content-length", 0))
        self._headers = []  # for trailers, which RFC 9110, 6.5.1 lets recipients ignore
        self._stop_timer()
        self._phase = _Phase.BODY
        self._has_body = False
        self._buffered_bytes = 0

    def on_body(self, body: bytes) -> None:
        """Hand on a part of the body, and count what arrived around it."""
        if self._body_lookup is not None:
            self._awaited_body += body
        elif not self._current.response_complete:
            self._current.receive_body(body)
            if len(self._current.body) > MAX_BODY_BUFFER_BYTES:
                self.flow.pause_reading()
        self._has_body = True
        self._body_left -= len(body)
        allowance = 2 * len(body) + _CHUNK_ALLOWANCE_BYTES
        self._buffered_bytes = max(0, self._buffered_bytes - len(body) - allowance)
        self._pace.extend(self.loop.time(), len(body))

    def on_message_complete(self) -> None:
        """End the request: its response may be complete, or under way, or not begun."""
        if self._body_lookup is not None:
            self._look_up_body()
        if not self._is_answered:
            self._current.complete_body()
        self._stop_timer()
        self._phase = _Phase.REQUEST
        self._buffered_bytes = 0

    # The fast path: answer requests that it knows, without the application
    #
    # A GET is looked up once its head is complete, and a POST once its body is. Meanwhile the
    # application has not started, so only a POST that may be known waits, and few do at a time.
    # Requests behind one that is still being answered start the application with their head.
    # A request that arrives in the same bytes as one that was answered is not even parsed.
    # See docs/decisions/server/fast-path.md.

    def _answer_repeated(self, piece: bytes) -> bool:
        """Answer a piece that arrives between two requests, if it is a request that was answered.

        Return whether it was. The parser never sees it.
        """
        if self._fast_path is None or not self._may_write():
            return False
        known = self._fast_path.find_repeated(piece)
        if known is None or (response := known.look_up()) is None:
            return False
        self._request_started = self.loop.time()
        self._client_address = known.forwarded_address or self.connection.address
        self._send_answer(known.method, response, new_request_id())
        if self._idle_timer is None:
            self._stop_timer()  # that of the first request of a connection
            self._start_phase_timer()
        else:  # it looks at the time of this answer when it ends
            self._idle_since = self.loop.time()
            self.connection.table.mark_idle(self.connection)
        return True

    def _remember_answered(self, piece: bytes) -> None:
        """Remember the bytes of an answered request, if the piece is just this request."""
        answered = self._repeatable if self._is_answered and self._begun_requests == 1 else None
        if answered is not None and self._fast_path is not None:
            self._fast_path.remember_repeated(
                piece, answered, self._scope["method"], self._forwarded_address
            )

    def _ask_fast_path(self) -> bool:
        """Return whether the fast path has answered the request, or waits for its body."""
        self._is_answered = False
        if self._fast_path is None or not self._may_answer():
            return False
        method = self._parser.get_method()
        if method == b"GET":
            self._answer(method, self._fast_path.find(self._url, self._headers))
        elif method == b"POST" and self.connection.table.awaited_bodies < MAX_AWAITED_BODIES:
            self._body_lookup = self._fast_path.find_by_body(self._url, self._headers)
            self.connection.table.awaited_bodies += self._body_lookup is not None
        return self._is_answered or self._body_lookup is not None

    def _may_answer(self) -> bool:
        """Return whether the response may be written now, and the connection stays open."""
        return (
            self._may_write() and self._parser.should_keep_alive() and self._http_version == "1.1"
        )

    def _may_write(self) -> bool:
        return not (
            self.connection.table.is_draining  # a response may have to announce the close
            or self.flow.write_paused
            or self.transport.is_closing()
            or self._response_in_progress()
        )

    def _look_up_body(self) -> None:
        """Answer a POST whose body is complete, or let the application have it."""
        assert self._body_lookup is not None
        if self._may_answer():
            self._answer(b"POST", self._body_lookup(self._awaited_body))
        if self._is_answered:
            self._take_awaited_body()
        else:
            self.start_waiting_request()

    def _take_awaited_body(self) -> bytes:
        """Stop waiting for a body, and return what has arrived."""
        self.connection.table.awaited_bodies -= 1
        body, self._body_lookup, self._awaited_body = self._awaited_body, None, b""
        return body

    def start_waiting_request(self) -> bool:
        """Let the application have a request that waits for its body, if there is one."""
        if self._body_lookup is None:
            return False
        body = self._take_awaited_body()
        self._begin_exchange()
        if body and not self._current.response_complete:
            self._current.receive_body(body)
        return True

    def _answer(self, method: bytes, response: "FastResponse | None") -> None:
        if response is None:
            return
        self._is_answered = True
        self._scope["method"] = method.decode()
        fields = HeaderFields(self._headers)
        self._send_answer(self._scope["method"], response, get_request_id(fields))
        # What has an id or a trace of its client is never repeated: each request has another one.
        if REQUEST_ID_HEADER not in fields and TRACEPARENT_HEADER not in fields:
            self._repeatable = response

    def _send_answer(self, method: str, response: "FastResponse", request_id: str) -> None:
        self._write_response(response.status, response.header_lines, request_id, response.body)
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
            counted_as=response.counted_as,
        )

    def _write_response(
        self, status: int, header_lines: bytes, request_id: str, body: bytes
    ) -> None:
        self.transport.write(
            b"%b%b%bx-request-id: %b\r\n\r\n%b"
            % (
                STATUS_LINES[status],
                self.server_state.header_lines,
                header_lines,
                request_id.encode("latin-1"),
                body,
            )
        )

    # The application: after the client has read the response before, and if there is a slot

    def _begin_exchange(self) -> None:
        """Start the request whose head is complete, behind those before it."""
        self._is_upgrading = self._wants_websocket()
        url = httptools.parse_url(self._url)
        path = url.path.decode("ascii")
        scope = self._scope
        scope["method"] = self._parser.get_method().decode("ascii")
        scope["http_version"] = self._http_version
        scope["path"] = urllib.parse.unquote(path) if "%" in path else path
        scope["raw_path"] = url.path
        scope["query_string"] = url.query or b""
        is_behind = self._response_in_progress()
        exchange = self.exchange = Exchange(
            self,
            scope,
            keep_alive=self._http_version != "1.0" and self._parser.should_keep_alive(),
            expects_100=self._expects_100,
        )
        if is_behind:
            self.flow.pause_reading()
            self.pipeline.append(exchange)
        else:
            self._start(exchange)

    def _start(self, exchange: Exchange) -> None:
        """Start or reject an exchange now, or when most of the previous response is read."""
        # What is unread before the first response are TLS session tickets: do not wait for these.
        if self.flow.write_paused and self._started is not None:
            self._unstarted = exchange
            return
        self._started = exchange
        admission, scope, connection = self._admission, exchange.scope, self.connection
        decision = admission.admit(scope)
        if isinstance(decision, Rejection):
            client = get_client_address(scope)
            admission.count_rejection(decision, client)
            error = decision.error
            counters.count_request(NO_OPERATION, error.status, error.code, seconds=0)
            self._rejected_address = "" if decision.has_known_key else group_address(client)
            if self._rejected_address:
                connection.standing = Standing.REJECTED
                exchange.keep_alive &= self._delayed_seconds < MAX_DELAYED_SECONDS
            # A rejection by the application costs a task, the middleware and a log line: enough of
            # them would take the time of the requests that are worked on.
            if self._can_reject(exchange):
                self._reject(exchange, decision)
                self._delay_reading()
                return
            self._is_rejecting = True
        elif isinstance(decision, Permit) and decision.group:
            connection.standing, self._delayed_seconds = Standing.ACCEPTED, 0.0
        scope[SCOPE_ADMISSION] = decision
        if self._is_upgrading:  # the parser stops behind this request, where a WebSocket begins
            return
        if isinstance(decision, Permit):
            begin = functools.partial(self._run_application, exchange)
            admission.start(begin, connection.standing)
        else:
            connection.table.turns.spend(UNLIMITED_UNITS)
            self._run_application(exchange)

    def _run_application(self, exchange: Exchange) -> None:
        tasks = self.server_state.tasks
        task = self.loop.create_task(exchange.run(self._app))
        task.add_done_callback(tasks.discard)
        tasks.add(task)

    def announce_close(self) -> bool:
        """Return whether the response that begins is the last one of a worker that drains.

        A request may be on its way when the server closes an idle connection (RFC 9112, 9.3.1). So
        a worker that drains waits for the next request of such a connection, says
        `Connection: close` in its response, and closes a moment after it: what still arrives would
        destroy a response that the client has not read. See docs/decisions/server/restarts.md.
        """
        if self.connection.table.is_draining and not self.has_more_requests():
            self._has_announced_close = True
        return self._has_announced_close

    def has_more_requests(self) -> bool:
        """Return whether something has arrived behind the request that is answered."""
        return self._phase is _Phase.HEADERS or bool(self._unparsed or self.pipeline)

    def on_response_complete(self) -> None:
        """Go on with the next request, or wait for one."""
        is_rejecting, self._is_rejecting = self._is_rejecting, False
        is_closing = self.transport.is_closing()
        if not is_closing:
            self._stop_idle_timer()
            self.flow.resume_reading()
            if self.pipeline:
                self._start(self.pipeline.popleft())
            else:
                self._start_idle_timer()
        if is_rejecting:
            self._delay_reading(APPLICATION_REJECTION_COST)
        self.parse_later()
        is_early = self._phase is _Phase.BODY and self._current.response_complete
        if is_early or self._has_announced_close:
            self._linger()
        elif not is_closing:  # a request behind may have been rejected at once
            self._start_phase_timer()

    # Backpressure: whatever waits for the client counts as unread

    def pause_writing(self) -> None:
        """Count what the client has not read yet."""
        self.flow.pause_writing()
        self.connection.is_write_paused = True
        group, unread_bytes = self.connection.group, self.transport.get_write_buffer_size()
        if self._scheme == "https":
            unread_bytes += TLS_BUFFER_BYTES
        if self._started is not None:
            group = group_address(get_client_address(self._started.scope))
            if not self._started.response_complete:
                unread_bytes += self._started.unsent_bytes
        self.connection.table.unread.add(self.connection, group, unread_bytes)

    def resume_writing(self) -> None:
        self.flow.resume_writing()
        self.connection.is_write_paused = False
        self.connection.table.unread.remove(self.connection)
        exchange, self._unstarted = self._unstarted, None
        if exchange is not None and not (exchange.disconnected or self.transport.is_closing()):
            self._start(exchange)  # else it was rejected in the meantime

    # Rejections of requests that a worker has no room for

    def _can_reject(self, exchange: Exchange) -> bool:
        """Return whether the request is plain, or would become a WebSocket.

        Its body, if it has one, is small enough to be discarded when it arrives.
        """
        if self._is_upgrading:
            exchange.keep_alive = False
            return True
        if exchange.waiting_for_100_continue or self.connection.table.is_draining:
            return False
        for name, value in exchange.scope["headers"]:
            if name in _APPLICATION_HEADERS:
                return False
            if name == b"content-length" and len(value) > MAX_DISCARDED_DIGITS:
                return False
        return True

    def _reject(self, exchange: Exchange, rejection: Rejection) -> None:
        exchange.response_started = exchange.response_complete = True
        scope, error = exchange.scope, rejection.error
        request_id = get_request_id(fields_of(scope))
        source = ErrorSource.from_scope(scope, request_id)
        lines, body = serialize_error(error, source, closes=not exchange.keep_alive)
        content = b"" if scope["method"] == "HEAD" else body
        self._write_response(error.status, lines, request_id, content)
        self.connection.table.turns.spend(REJECTION_UNITS)
        exchange.close_if_last()

    def _delay_reading(self, cost: int = 1) -> None:
        """Let a client that was rejected wait, before its next request is read."""
        address = self._rejected_address
        delay_seconds = self._admission.delay_after(self.loop.time(), cost, address)
        # A request behind this one has been read already, and is rejected or does work itself.
        if delay_seconds and self._current.response_complete and not self.transport.is_closing():
            self.is_delayed = True
            self._delayed_seconds += delay_seconds
            self.flow.pause_reading()
            self.loop.call_later(delay_seconds, self.end_delay)

    def end_delay(self) -> None:
        """Read the next request of a client that was rejected."""
        self.is_delayed = False
        if not self.transport.is_closing():
            self.flow.resume_reading()
        self.parse_later()

    # Rejections of requests that break a limit or a rule of the protocol

    def _reject_if_too_large(self) -> bool:
        """Reject an incomplete request that already exceeds a size limit."""
        if self._phase is _Phase.HEADERS and len(self._url) > self.limits.max_url_bytes:
            self._reject_request(url_too_long_error(self.limits.max_url_bytes))
        elif self._buffered_bytes > self.limits.max_header_bytes:
            self._reject_request(headers_too_large_error(self.limits.max_header_bytes))
        return self._discarding_input

    def _reject_request(self, error: HttpError) -> None:
        """Send an error and close, unless an earlier response is still being sent."""
        self._discarding_input = True
        self._stop_timer()
        if self._phase is _Phase.BODY:
            exchange = self._current
            if self.pipeline or exchange.response_started:
                self.transport.close()
                return
            exchange.scope[SCOPE_EARLY_STATUS] = error.status
            exchange.disconnect()
            self._send_error(error, exchange.scope["state"].get("request_id"))
        elif self._response_in_progress():
            self._current.keep_alive = False
        else:
            self._send_error(error, None)

    def _send_error(self, error: HttpError, app_request_id: str | None) -> None:
        """Send an error. A request with an `app_request_id` is logged by the middleware."""
        request_id = app_request_id or new_request_id()
        source = ErrorSource(request_id, self._application.configured_base_url or "")
        lines, body = serialize_error(error, source, closes=True)
        self._write_response(error.status, lines, request_id, body)
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
                error_codes=[error.code],
            )

    # Timeouts

    def _start_phase_timer(self) -> None:
        if self._timer is not None:
            return
        if self._phase is _Phase.HEADERS:
            self._start_timer(self.limits.header_seconds, self._on_header_timeout)
        elif self._phase is _Phase.BODY:
            self._pace.begin(self.loop.time())
            self._start_timer(self.limits.grace_seconds, self._on_body_timeout)
        elif not self._response_in_progress() and self._idle_timer is None:
            self._start_idle_timer()

    def _start_timer(self, seconds: float, on_timeout: Callable[[], None]) -> None:
        self._timer = self.loop.call_later(seconds, on_timeout)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _start_idle_timer(self) -> None:
        seconds = self.limits.keep_alive_seconds
        self._idle_timer = self.loop.call_later(seconds, self.on_idle_timeout)
        self.connection.table.mark_idle(self.connection)

    def _stop_idle_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def on_idle_timeout(self) -> None:
        """Close the connection, unless it was used since the timer was started.

        A timer for each answer would take longer than all else that is done for a repeated request.
        """
        seconds_left = self._idle_since + self.limits.keep_alive_seconds - self.loop.time()
        if seconds_left > 0:
            self._idle_timer = self.loop.call_later(seconds_left, self.on_idle_timeout)
        else:
            self.transport.close()

    def _on_header_timeout(self) -> None:
        limit = self.limits.header_seconds
        if self.flow.read_paused or self._unparsed:  # the client is waiting for us
            self._start_timer(limit, self._on_header_timeout)
        elif self._phase is _Phase.HEADERS:
            message = f"Headers must arrive within {limit:g} seconds"
            self._reject_request(HttpError(408, message, "REQUEST_TIMEOUT"))
        else:
            self.transport.close()

    def _on_body_timeout(self) -> None:
        if self.start_waiting_request():  # which this timeout may end once it runs
            self._start_timer(0, self._on_body_timeout)
            return
        now, limits = self.loop.time(), self.limits
        if self.flow.read_paused or self._current.waiting_for_100_continue:
            self._pace.pause(now)
        left = self._request_started + limits.body_seconds - now
        seconds_left = min(self._pace.deadline - now, left)
        if seconds_left > 0:
            self._start_timer(seconds_left, self._on_body_timeout)
            return
        message = (
            f"A body must arrive at {limits.min_bytes_per_second} bytes per second or more,"
            f" and must not pause for {limits.body_idle_seconds:g} seconds"
        )
        is_slow = left > 0
        self._reject_request(
            HttpError(408, message, "REQUEST_TIMEOUT")
            if is_slow
            else request_timeout_error(limits.body_seconds)
        )

    def _linger(self) -> None:
        """Read on for a moment after the last response or before the end of a body, then close.

        A client that waited for `100 Continue` may now leave its body out, so its next bytes
        may be the body or a new request: do not reuse the connection (RFC 9110, 10.1.1).
        """
        self._stop_timer()
        if self._expects_100 and not self._has_body:
            self.transport.close()
        else:
            self._start_timer(self.limits.linger_seconds, self.transport.close)

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

    # WebSockets (RFC 6455)

    def _wants_websocket(self) -> bool:
        """Return whether a GET of certain paths is to become a WebSocket.

        Elsewhere `Upgrade` is ignored (RFC 9110, 7.8), and while an earlier response is in
        progress.
        """
        return (
            self._url.partition(b"?")[0] in self._application.websocket_paths
            and self._parser.get_method() == b"GET"
            and _find_upgrade(self._headers) == b"websocket"
            and not self._response_in_progress()
            # Before the first response, only TLS session tickets are unread.
            and (self._started is None or not self.flow.write_paused)
        )

    def _start_websocket(self, rest: bytes) -> None:
        """Let the rest of the connection be a WebSocket; `rest` are its first bytes."""
        self.connection.table.turns.spend(HANDSHAKE_UNITS)
        self.server_state.connections.discard(cast(Any, self))
        self._stop_idle_timer()
        protocol = WebSocketProtocol(
            config=self._websocket_config, server_state=self.server_state, app_state={}
        )
        protocol.connection = self.connection
        protocol.connection_made(self.transport)
        self.transport.set_protocol(protocol)
        self._parser = None  # it refers to this object, which ends here
        protocol.start(self._url, self._scope, rest + self._unparsed)
        self._unparsed.clear()


def _find_upgrade(headers: HeaderList) -> bytes | None:
    """Return the protocol that a request asks for, if its `Connection` says so."""
    tokens, upgrade = list[bytes](), None
    for name, value in headers:
        if name == b"connection":
            tokens = [token.lower().strip() for token in value.split(b",")]
        elif name == b"upgrade":
            upgrade = value.lower()
    return upgrade if b"upgrade" in tokens else None
