"""WebSockets on a connection that began with HTTP/1.1 (RFC 6455): uvicorn's protocol with limits.

uvicorn goes on reading from a client that does not read, and its responses would not count as
unread. See docs/decisions/server/subscriptions.md.
"""

from typing import Any, cast

import uvicorn
from starlette.types import ASGIApp, Scope
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from gateway.exchange import SCOPE_AUTHENTICATED_KEY, SCOPE_CLIENT_ADDRESS, group_address
from gateway.server.admission import SCOPE_ADMISSION, Permit, ScheduledInput, Standing
from gateway.server.connections import TLS_BUFFER_BYTES, Connection
from rest.errors import SCOPE_BASE_URL

MAX_MESSAGE_BYTES = 100_000
"""The largest message of a client, which is held in memory until it is complete."""
FRAMES_PER_SECOND = 50
FRAME_BURST = 200
"""Frames of any kind that a client may send at once under FRAMES_PER_SECOND."""
MAX_FRAMES_WITHOUT_KEY = 20
"""Frames that it may send at once until it has sent a valid key."""
MAX_FRAGMENTS = 100
"""The most fragments of one message of a client."""
MAX_PIECE_BYTES = 256
"""Parsed at a time: at most 42 frames, of some 10 microseconds each."""
HANDSHAKE_UNITS = 50
"""The CPU time of a handshake, in units of the turns of input."""
PING_SECONDS = 20.0
"""The time between two pings, and for the pong. Proxies close connections that say nothing for a
minute."""
CLOSE_SECONDS = 2.0
"""How long a client has to answer the end of a WebSocket, until the connection closes."""
_MALFORMED_BODY = b'{"message":"Malformed WebSocket handshake: it has a body or too long a header"}'
_MALFORMED = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
    b"Connection: close\r\n\r\n%b" % (len(_MALFORMED_BODY), _MALFORMED_BODY)
)


class WebSocketProtocol(ScheduledInput, WebSocketsSansIOProtocol):
    """One WebSocket. What waits for its client counts as an unread response does."""

    connection: Connection
    """The connection of the request for it."""
    max_piece_bytes = MAX_PIECE_BYTES

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.close_timeout = CLOSE_SECONDS
        self._group = ""
        self._arrival = 0.0
        """When the frames so far would have arrived at their maximum rate."""

    def start(self, url: bytes, request: Scope, rest: bytes) -> None:
        """Answer the request for the WebSocket; `rest` is what the client has sent after it."""
        self._group = group_address(request[SCOPE_CLIENT_ADDRESS])
        permit = request.get(SCOPE_ADMISSION)
        lines = [b"%b: %b\r\n" % header for header in request["headers"]]
        self.parse(b"GET %b HTTP/1.1\r\n%b\r\n" % (url, b"".join(lines)))
        if hasattr(self, "scope"):  # else it was no correct request, and has its response
            members = (SCOPE_CLIENT_ADDRESS, SCOPE_ADMISSION, SCOPE_BASE_URL)
            cast(Scope, self.scope).update(
                {each: request[each] for each in members if each in request}
            )
        else:
            if isinstance(permit, Permit):
                permit.release()
            if not self.close_sent:  # it has a body or a line that is too long
                self.transport.write(_MALFORMED)
                self.transport.close()
        self.data_received(rest)

    def parse(self, piece: bytes) -> None:
        super(ScheduledInput, self).data_received(piece)

    def _may_parse(self) -> bool:
        """Return whether the WebSocket is accepted, and the application has the last message."""
        return self.handshake_complete and not self.read_paused

    def _pause_input(self) -> None:
        self.transport.pause_reading()

    def _resume_input(self) -> None:
        if not self.read_paused:
            self.transport.resume_reading()

    def handle_events(self) -> None:
        """Hand on the frames of a piece, unless there are more than a client may send."""
        frames = len(self.conn.events)
        self.connection.table.turns.spend(frames)
        if self.handshake_complete:
            is_known = SCOPE_AUTHENTICATED_KEY in cast(Scope, self.scope)
            burst = FRAME_BURST if is_known else MAX_FRAMES_WITHOUT_KEY
            if is_known:
                self.connection.standing = Standing.ACCEPTED
            now = self.loop.time()
            self._arrival = max(self._arrival, now) + frames / FRAMES_PER_SECOND
            if self._arrival - now > burst / FRAMES_PER_SECOND:
                message = "WebSockets are closed: too many frames"
                self.connection.table.log.note(
                    "frames_per_second", message, self.connection.address
                )
                self._fail(1008, f"At most {FRAMES_PER_SECOND} frames per second may be sent")
                return
        super().handle_events()
        if len(self.frames) > MAX_FRAGMENTS:
            self._fail(1008, f"A message may have at most {MAX_FRAGMENTS} fragments")

    def send_receive_event_to_app(self) -> None:
        """Hand on a message, unless its text is not UTF-8: uvicorn would log a traceback."""
        try:
            if self.curr_msg_data_type == "text":
                b"".join(self.frames).decode()
        except UnicodeDecodeError:
            self._fail(1007, "The text of a message must be UTF-8")
        else:
            super().send_receive_event_to_app()

    def _fail(self, code: int, reason: str) -> None:
        self.conn.fail(code, reason)
        self.handle_parser_exception()

    def handle_parser_exception(self) -> None:
        """End the WebSocket because of what the client has sent; discard what it still sends."""
        closed = self.conn.close_sent
        if self.close_sent or closed is None:
            return
        event = {"code": closed.code, "reason": closed.reason, "by_server": True}
        self.queue.put_nowait(cast(Any, {"type": "websocket.disconnect", **event}))
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent, self.read_paused = True, False
        self.connection.standing = Standing.REJECTED
        self.max_piece_bytes = MAX_MESSAGE_BYTES
        # With bytes left unread, the client would get a reset and might not see why it is closed.
        self.close_timer = self.loop.call_later(self.close_timeout, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self.connection.table.remove(self.connection)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.connection.is_write_paused = True
        unread_bytes = self.transport.get_write_buffer_size()
        if self.scheme == "wss":
            unread_bytes += TLS_BUFFER_BYTES
        self.connection.table.unread.add(self.connection, self._group, unread_bytes)
        if not self.read_paused:  # each ping would add a pong to what is unread
            self.read_paused = True
            self.transport.pause_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.connection.is_write_paused = False
        self.connection.table.unread.remove(self.connection)
        self._resume_reading()

    async def send(self, message: Any) -> None:
        """Send a message of the application, and go on with what waited for that."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body":
            self.handshake_complete = True  # refused; uvicorn would take it for a fault
        self.parse_later()

    async def receive(self) -> Any:
        """Return the next message; read on when there is none, unless the client does not read."""
        message = await self.queue.get()
        self._resume_reading()
        return message

    def _resume_reading(self) -> None:
        if self.read_paused and self.queue.empty() and self.writable.is_set():
            self.read_paused = False
            if self._unparsed:
                self.parse_later()
            else:
                self.transport.resume_reading()

    def close_if_idle(self) -> None:
        """Close nothing: the application ends the WebSocket when the worker drains."""
        if self.transport.is_closing() and not self.connection.has_unacked_output():
            self.transport.abort()  # over TLS, do not wait until the client closes too


def build_websocket_config(app: ASGIApp) -> uvicorn.Config:
    """Configure uvicorn's protocol for an application."""
    config = uvicorn.Config(
        app,
        http=cast(Any, WebSocketProtocol),  # or it would import its own
        ws=WebSocketProtocol,
        ws_max_size=MAX_MESSAGE_BYTES,
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PING_SECONDS,
        ws_per_message_deflate=False,  # its state takes more memory than all else of a WebSocket
        interface="asgi3",
        proxy_headers=False,
        log_config=None,
    )
    config.load()
    return config
