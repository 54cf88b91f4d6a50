"""WebSockets on a connection that began with HTTP/1.1 (RFC 6455): uvicorn's protocol with limits.

uvicorn goes on reading from a client that does not read, and its responses would not count as
unread. See docs/decisions/server/subscriptions.md.
"""

from typing import Any, cast

import httptools
from starlette.types import Scope
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from gateway.client_address import group_address
from gateway.exchange import SCOPE_CLIENT_ADDRESS
from gateway.server.connections.backpressure import TLS_BUFFER_BYTES, BackpressureProtocol
from gateway.server.connections.connection_table import Connection

MAX_MESSAGE_BYTES = 100_000
"""Of one message of a client, which is held in memory until it is complete."""
PING_SECONDS = 20.0
"""Between two pings; as long again for the pong. Proxies close connections that say nothing for a
minute."""
CLOSE_SECONDS = 2.0
"""How long a client has to answer the end of a WebSocket, until the connection closes."""


class WebSocketUpgradeProtocol(BackpressureProtocol):
    """Let a GET of certain paths become a WebSocket.

    Elsewhere `Upgrade` is ignored (RFC 9110, 7.8), and while an earlier response is in progress.
    """

    def __init__(
        self, *args: Any, websocket_paths: frozenset[bytes] = frozenset(), **options: Any
    ) -> None:
        super().__init__(*args, **options)
        self._websocket_paths = websocket_paths
        self._is_upgrading = False

    def on_headers_complete(self) -> None:
        self._is_upgrading = (
            self._get_upgrade() == b"websocket"
            and self.parser.get_method() == b"GET"
            and self.url.partition(b"?")[0] in self._websocket_paths
            and (self.cycle is None or self.cycle.response_complete)
        )
        super().on_headers_complete()

    def _should_upgrade(self) -> bool:
        return self._is_upgrading

    def feed_parser(self, piece: bytes) -> None:
        """Parse the next bytes; those after the request for a WebSocket are its first ones."""
        try:
            self.parser.feed_data(piece)
        except httptools.HttpParserUpgrade as upgrade:
            if self._is_upgrading:
                rest = piece[upgrade.args[0] :] + bytes(self._unparsed)
                self._unparsed.clear()
                self._start_websocket(rest)
            else:
                self.cycle.keep_alive = False  # what follows may be in another protocol

    def _start_websocket(self, rest: bytes) -> None:
        self.connections.discard(self)
        self._unset_keepalive_if_required()
        protocol = WebSocketProtocol(
            config=self.config, server_state=self.server_state, app_state=self.app_state
        )
        protocol.connection = self.connection
        protocol.connection_made(self.transport)
        self.transport.set_protocol(protocol)
        self.parser = cast(Any, None)  # it refers to this protocol, which ends here
        protocol.start(self.url, cast(Scope, self.scope), rest)


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """One WebSocket. What waits for its client counts as an unread response does."""

    connection: Connection
    """That of the request for it."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.close_timeout = CLOSE_SECONDS
        self._group = ""

    def start(self, url: bytes, request: Scope, rest: bytes) -> None:
        """Answer the request for the WebSocket; `rest` is what the client has sent after it."""
        self._group = group_address(request[SCOPE_CLIENT_ADDRESS])
        lines = [b"%b: %b\r\n" % header for header in request["headers"]]
        self.data_received(b"GET %b HTTP/1.1\r\n%b\r\n" % (url, b"".join(lines)))
        if hasattr(self, "scope"):  # else it was no correct request, and has its response
            cast(Scope, self.scope)[SCOPE_CLIENT_ADDRESS] = request[SCOPE_CLIENT_ADDRESS]
        if rest:
            self.data_received(rest)

    def data_received(self, data: bytes) -> None:
        if not self.transport.is_closing():  # TLS goes on reading while it closes
            super().data_received(data)

    def handle_parser_exception(self) -> None:
        if self.conn.close_sent is None:  # the request for the WebSocket is longer than it may be
            self.conn.send_response(self.conn.reject(400, "Malformed WebSocket handshake\n"))
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.transport.close()
        else:
            super().handle_parser_exception()

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

    async def receive(self) -> Any:
        """Return the next message; read on when there is none, unless the client does not read."""
        message = await self.queue.get()
        self._resume_reading()
        return message

    def _resume_reading(self) -> None:
        if self.read_paused and self.queue.empty() and self.writable.is_set():
            self.read_paused = False
            self.transport.resume_reading()

    def close_if_idle(self) -> None:
        """Close nothing: the application ends the WebSocket when the worker drains."""
        if self.transport.is_closing() and not self.connection.has_unacked_output():
            self.transport.abort()  # over TLS, do not wait until the client closes too
