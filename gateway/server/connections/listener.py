"""Accept connections within the limits of a worker, or refuse them before they cost anything.

uvloop accepts whatever comes, starts TLS for it, and resets what it has no descriptors for,
without a word. See docs/decisions/server/connections.md.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterable
from typing import Any

from gateway.cache.cached_response import serialize_headers
from gateway.client_address import normalize_address
from gateway.exchange import build_error_messages, new_request_id
from gateway.server.connections.connection_table import Connection, ConnectionTable
from rest.errors import ErrorSource, service_unavailable_error
from storage.errors import Cause

MAX_ACCEPTED_AT_ONCE = 64
"""Connections, before other events have their turn."""
MAX_LINGERING_REFUSALS = 64
"""Refused connections that stay open for a moment, so that clients can read why."""
_ROOM_NEEDED = 16
"""Idle connections closed when the process is out of descriptors."""
_RETRY_SECONDS = 0.1
_UNSENT_BYTES = 128 << 10
"""What the kernel takes of a response that is not yet on its way: the rest is counted here."""


class Listener:
    """Accepts the connections of one listening socket: what uvicorn needs of an asyncio server."""

    def __init__(
        self,
        create_protocol: Callable[[], Any],
        sock: socket.socket,
        table: ConnectionTable,
        headers: Iterable[tuple[str, str]] = (),
        **tls_options: Any,
    ) -> None:
        self.sockets = (sock,)
        self._create_protocol = create_protocol
        self._sock = sock
        self._table = table
        self._tls_options = tls_options
        """`ssl` and its timeouts; empty for plain HTTP."""
        self._refusal = _build_refusal(headers)
        self._lingering = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._silent: dict[Connection, tuple[socket.socket, asyncio.TimerHandle]] = {}
        """Connections that are to speak TLS and have sent nothing."""
        self._loop = asyncio.get_running_loop()
        self._retry_timer: asyncio.TimerHandle | None = None
        sock.setblocking(False)
        _set_options_of_connections(sock, table.limits.body_idle_seconds)
        self._loop.add_reader(sock, self._accept)

    def close(self) -> None:
        """Accept what waits, then stop accepting. Connections go on."""
        self._accept()
        self._loop.remove_reader(self._sock)
        if self._retry_timer is not None:
            self._retry_timer.cancel()

    def close_silent_connections(self) -> None:
        """Close the connections that have not begun their TLS handshake."""
        for connection in list(self._silent):
            if not connection.has_input():
                self._close_silent(connection)

    async def wait_closed(self) -> None:
        """Return at once: nothing is left to wait for."""

    def _accept(self) -> None:
        for _ in range(MAX_ACCEPTED_AT_ONCE):
            try:
                sock, address = self._sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                self._wait_for_descriptors(error)
                return
            sock.setblocking(False)
            connection = self._table.admit(sock, normalize_address(address[0]) or address[0])
            if connection is None:
                self._refuse(sock)
            elif self._tls_options:
                self._wait_for_handshake(connection, sock)
            else:
                self._start(connection, sock)

    def _wait_for_handshake(self, connection: Connection, sock: socket.socket) -> None:
        """Create no TLS object, which takes some 40 KB, for a client that sends nothing."""
        seconds = self._tls_options["ssl_handshake_timeout"]
        timer = self._loop.call_later(seconds, self._close_silent, connection)
        self._silent[connection] = sock, timer
        self._loop.add_reader(sock, self._on_first_bytes, connection)

    def _on_first_bytes(self, connection: Connection) -> None:
        sock, timer = self._silent[connection]
        with contextlib.suppress(OSError):
            if connection in self._table and sock.recv(1, socket.MSG_PEEK):
                del self._silent[connection]
                timer.cancel()
                self._loop.remove_reader(sock)
                self._start(connection, sock)
                return
        self._close_silent(connection)

    def _close_silent(self, connection: Connection) -> None:
        sock, timer = self._silent.pop(connection)
        timer.cancel()
        self._loop.remove_reader(sock)
        self._table.remove(connection)
        sock.close()

    def _start(self, connection: Connection, sock: socket.socket) -> None:
        task = self._loop.create_task(self._connect(connection, sock))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, connection: Connection, sock: socket.socket) -> None:
        """Start the protocol of a connection, after the TLS handshake if there is one."""

        def create_protocol() -> Any:
            protocol = self._create_protocol()
            protocol.connection = connection
            return protocol

        try:
            await self._loop.connect_accepted_socket(create_protocol, sock, **self._tls_options)
        except BaseException as error:
            self._table.remove(connection)
            if not isinstance(error, OSError):  # the client left, or its handshake failed
                raise

    def _refuse(self, sock: socket.socket) -> None:
        """Answer 503, or over TLS close: a handshake costs more than most requests."""
        if self._tls_options or self._lingering >= MAX_LINGERING_REFUSALS:
            sock.close()
            return
        with contextlib.suppress(OSError):
            sock.send(self._refusal)
            sock.shutdown(socket.SHUT_WR)
        self._lingering += 1
        self._loop.call_later(self._table.limits.linger_seconds, self._end_refusal, sock)

    def _end_refusal(self, sock: socket.socket) -> None:
        self._lingering -= 1
        sock.close()

    def _wait_for_descriptors(self, error: OSError) -> None:
        """Let connections wait in the kernel's queue until there is room for them."""
        message = f"Connections wait, because the system has no room for them: {error.strerror}"
        self._table.log.note("open_files", message, None)
        for _ in range(_ROOM_NEEDED):
            self._table.close_idle_connection()
        self._loop.remove_reader(self._sock)
        self._retry_timer = self._loop.call_later(
            _RETRY_SECONDS, self._loop.add_reader, self._sock, self._accept
        )


def _set_options_of_connections(listener: socket.socket, unread_seconds: float) -> None:
    """Set options that the connections of a listening socket inherit (Linux)."""
    for option, value in (
        # Drop a client that reads nothing for so long, also after our process has let go of the
        # connection (RFC 5482).
        ("TCP_USER_TIMEOUT", int(unread_seconds * 1000)),
        ("TCP_NOTSENT_LOWAT", _UNSENT_BYTES),
    ):
        if hasattr(socket, option):
            listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


def _build_refusal(headers: Iterable[tuple[str, str]]) -> bytes:
    """Build the 503 for connections; what one of them would have asked for is not known."""
    error = service_unavailable_error(Cause.QUEUE)
    start, body = build_error_messages(error, ErrorSource(new_request_id()))
    encoded = [(name.encode(), value.encode()) for name, value in headers]
    lines = serialize_headers([*encoded, *start["headers"], (b"connection", b"close")])
    refusal: bytes = b"HTTP/1.1 503 Service Unavailable\r\n" + lines + b"\r\n" + body["body"]
    return refusal
