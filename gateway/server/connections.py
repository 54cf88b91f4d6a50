"""The connections of a worker: how many there are, which wait, and who reads or sends too slowly.

See docs/decisions/server/connections.md.
"""

import asyncio
import contextlib
import fcntl
import socket
import ssl
import struct
import termios
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from gateway.exchange import (
    MAX_WRITE_BYTES,
    STATUS_LINES,
    group_address,
    new_request_id,
    normalize_address,
    serialize_error,
    serialize_headers,
)
from gateway.server.admission import InputTurns, LimitLog, Standing
from gateway.server.config import ConnectionLimits
from rest.errors import ErrorSource, service_unavailable_error
from storage.errors import UnavailableCause

REFUSED = UnavailableCause.QUEUE_FULL
TLS_BUFFER_BYTES = MAX_WRITE_BYTES + (64 << 10)
"""What the TCP transport below a TLS transport, which does not tell, may hold when that waits."""
_BYTES_ACKED = struct.Struct("=Q")
_BYTES_ACKED_OFFSET = 120
"""Where `tcpi_bytes_acked` is in Linux's `struct tcp_info`, which only grows at its end."""


class UnreadResponses:
    """The bytes of responses that wait for slow readers, by the address of the client.

    Beyond a budget, the connection that has not taken anything for longest is closed: first one
    of the address that is over its share, then one of the address with the most bytes. The last
    connection of an address is never closed for the address's share, so any single response can
    be sent.
    """

    def __init__(self, limits: ConnectionLimits, log: LimitLog) -> None:
        self._limits = limits
        self._log = log
        self._readers: dict[str, dict[Connection, int]] = {}
        """The readers of each group of addresses; who waited first stands first."""
        self._group_bytes: dict[str, int] = {}
        self._groups: dict[Connection, str] = {}
        self.total_bytes = 0

    def add(self, reader: "Connection", group: str, unread_bytes: int) -> None:
        """Count what a client has not read; a connection that had been counted is so anew."""
        self.remove(reader)
        self._readers.setdefault(group, {})[reader] = unread_bytes
        self._group_bytes[group] = self._group_bytes.get(group, 0) + unread_bytes
        self._groups[reader] = group
        self.total_bytes += unread_bytes
        limits = self._limits
        while self._group_bytes[group] > limits.max_unread_bytes_per_address:
            if len(self._readers[group]) == 1:
                break
            self._close_first(group, "max_unread_bytes_per_address")
        while self.total_bytes > limits.max_unread_bytes and len(self._groups) > 1:
            largest = max(self._group_bytes, key=self._group_bytes.__getitem__)
            self._close_first(largest, "max_unread_bytes")

    def remove(self, reader: "Connection") -> None:
        """Stop counting a connection: its client has read everything, or it is closed."""
        group = self._groups.pop(reader, None)
        if group is None:
            return
        unread_bytes = self._readers[group].pop(reader)
        self.total_bytes -= unread_bytes
        self._group_bytes[group] -= unread_bytes
        if not self._readers[group]:
            del self._readers[group], self._group_bytes[group]

    def _close_first(self, group: str, limit: str) -> None:
        reader = next(iter(self._readers[group]))
        self.remove(reader)
        message = "Connections are closed: their unread responses take too much memory"
        self._log.note(limit, message, reader.address)
        reader.abort()


class ReadingPace:
    """Tells whether the client of one connection reads fast enough while something is unread.

    The time it has left grows with each byte that it acknowledges, up to `body_idle_seconds`.
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._is_watched = False
        self._acked_bytes = 0
        self._deadline = 0.0

    def check(self, now: float, acked_bytes: int) -> bool:
        """Return whether the client still has time, at this count of acknowledged bytes."""
        limits = self._limits
        gained = (acked_bytes - self._acked_bytes) / limits.min_bytes_per_second
        self._acked_bytes = acked_bytes
        if not self._is_watched:
            self._is_watched = True
            self._deadline = max(self._deadline, now + limits.grace_seconds)
        else:
            self._deadline = min(self._deadline + gained, now + limits.body_idle_seconds)
        return now <= self._deadline

    def stop(self) -> None:
        self._is_watched = False


def count_acked_bytes(sock: socket.socket) -> int | None:
    """Return how many bytes the peer's kernel has acknowledged; None if ours cannot tell.

    The transport cannot tell either: over TLS it does not know what the connection below it
    holds, and without TLS the kernel takes its bytes in large steps.
    """
    option = getattr(socket, "TCP_INFO", None)
    if option is None:
        return None
    with contextlib.suppress(OSError):
        size = _BYTES_ACKED_OFFSET + _BYTES_ACKED.size
        info = sock.getsockopt(socket.IPPROTO_TCP, option, size)
        if len(info) == size:  # Linux 4.1
            acked: int = _BYTES_ACKED.unpack_from(info, _BYTES_ACKED_OFFSET)[0]
            return acked
    return None


MAX_COMPARED_CONNECTIONS = 64
"""Idle connections that are compared to find one to close."""
_SWEEP_SECONDS = 1.0
_INT = struct.Struct("i")


class Connection:
    """One TCP connection, from its acceptance on: over TLS, that is before the handshake."""

    def __init__(self, table: "ConnectionTable", sock: socket.socket, address: str) -> None:
        self.table = table
        self.address = address
        self.group = group_address(address)
        self.transport: asyncio.Transport | None = None
        """None until the connection is ready for requests."""
        self.is_write_paused = False
        self.standing = Standing.NEW
        self._sock = sock
        self._pace = ReadingPace(table.limits)

    def abort(self) -> None:
        if self.transport is not None:
            self.transport.abort()
        else:  # in the handshake: the transport is not known, but it sees the end of its input
            with contextlib.suppress(OSError):
                self._sock.shutdown(socket.SHUT_RDWR)

    def has_input(self) -> bool:
        """Return whether the client has sent something that is not read yet."""
        with contextlib.suppress(OSError):
            return bool(self._sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
        return False

    def has_unacked_output(self) -> bool:
        """Return whether the peer's kernel has not acknowledged everything that was sent."""
        with contextlib.suppress(OSError):
            queued = fcntl.ioctl(self._sock, termios.TIOCOUTQ, bytes(_INT.size))
            return any(queued)  # the number of bytes, as an int
        return False

    def keeps_pace(self, now: float) -> bool:
        """Return whether the client reads fast enough, if anything is unread."""
        if self.transport is None or not (self.is_write_paused or self.transport.is_closing()):
            self._pace.stop()
            return True
        acked_bytes = count_acked_bytes(self._sock)
        return acked_bytes is None or self._pace.check(now, acked_bytes)


class ConnectionTable:
    """Admits connections up to the limits, and closes idle and slow ones."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.is_draining = False
        """True if the worker is about to stop, so that connections end with a response."""
        self.awaited_bodies = 0
        """Requests that wait for their body before the application starts."""
        self.log = LimitLog("floorgate.connections")
        self.turns = InputTurns()
        self.unread = UnreadResponses(limits, self.log)
        self._connections: dict[Connection, None] = {}
        self._counts: dict[str, int] = {}
        """Connections by group of addresses."""
        self._idle: dict[Connection, None] = {}
        """Connections without a request, those that became idle first before the others."""
        self._sweep_timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._connections)

    def __contains__(self, connection: Connection) -> bool:
        return connection in self._connections

    def admit(self, sock: socket.socket, address: str) -> Connection | None:
        """Count a new connection, or return None if it must be refused."""
        limits = self.limits
        connection = Connection(self, sock, address)
        count = self._counts.get(connection.group, 0)
        if limits.max_connections_per_address and count >= limits.max_connections_per_address:
            message = "Connections are refused: too many from one address"
            self.log.note("max_connections_per_address", message, address, REFUSED)
            return None
        if len(self._connections) >= limits.max_connections and not self.close_idle_connection():
            message = "Connections are refused: too many, and none is idle"
            self.log.note("max_connections", message, address, REFUSED)
            return None
        self._connections[connection] = self._idle[connection] = None
        self._counts[connection.group] = self._counts.get(connection.group, 0) + 1
        if self._sweep_timer is None:
            self._start_sweep_timer()
        return connection

    def close_idle_connection(self) -> bool:
        """Close an idle connection, if there is one, of the address that has most connections.

        Only those that have been idle longest are compared.
        """
        longest_idle = islice(self._idle, MAX_COMPARED_CONNECTIONS)
        victim = max(longest_idle, key=lambda each: self._counts[each.group], default=None)
        if victim is None:
            return False
        message = "Idle connections are closed to make room for new ones"
        self.log.note("idle_connections", message, victim.address)
        self.remove(victim)
        victim.abort()
        return True

    def remove(self, connection: Connection) -> None:
        """Forget a connection that is closed, unless it was forgotten before."""
        self.unread.remove(connection)
        if connection not in self._connections:
            return
        del self._connections[connection]
        self._idle.pop(connection, None)
        self._counts[connection.group] -= 1
        if not self._counts[connection.group]:
            del self._counts[connection.group]

    def mark_idle(self, connection: Connection) -> None:
        """Let a connection be closed to make room for new ones."""
        if connection in self._connections:
            self._idle.pop(connection, None)
            self._idle[connection] = None

    def mark_busy(self, connection: Connection) -> None:
        """Keep a connection that has sent the headers of a request."""
        self._idle.pop(connection, None)

    def _start_sweep_timer(self) -> None:
        loop = asyncio.get_running_loop()
        self._sweep_timer = loop.call_later(_SWEEP_SECONDS, self._sweep)

    def _sweep(self) -> None:
        self.close_slow_readers(asyncio.get_running_loop().time())
        self._sweep_timer = None
        if self._connections:
            self._start_sweep_timer()

    def close_slow_readers(self, now: float) -> None:
        """Close the connections with a client that reads its response too slowly."""
        for connection in [each for each in self._connections if not each.keeps_pace(now)]:
            message = "Connections are closed: their clients read too slowly"
            self.log.note("min_bytes_per_second", message, connection.address)
            self.remove(connection)
            connection.abort()


# Accept connections within the limits of a worker, or refuse them before they cost anything.
#
# uvloop accepts whatever comes, starts TLS for it, and resets what it has no descriptors for,
# without a word. See docs/decisions/server/connections.md.


_BACKLOG = 2048
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
    """Accepts the connections of one listening socket."""

    def __init__(
        self,
        create_protocol: Callable[[], Any],
        sock: socket.socket,
        table: ConnectionTable,
        headers: Iterable[tuple[str, str]] = (),
        tls_context: ssl.SSLContext | None = None,
    ) -> None:
        """Refuse connections beyond the limits with these `headers`; without TLS, with a 503."""
        self._create_protocol = create_protocol
        self._sock = sock
        self._table = table
        self._tls_options: dict[str, Any] = {}
        if tls_context is not None:
            self._tls_options = {
                "ssl": tls_context,
                "ssl_handshake_timeout": table.limits.handshake_seconds,
                # A slow reader may need that long for what is left; the table closes slower ones.
                "ssl_shutdown_timeout": table.limits.body_seconds,
            }
        self._refusal = _build_refusal(headers)
        self._lingering = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._silent: dict[Connection, tuple[socket.socket, asyncio.TimerHandle]] = {}
        """Connections that are to speak TLS and have sent nothing."""
        self._loop = asyncio.get_running_loop()
        self._retry_timer: asyncio.TimerHandle | None = None
        sock.listen(_BACKLOG)  # also if it does already
        sock.setblocking(False)
        _set_options_of_connections(sock, table.limits.body_idle_seconds)
        self._loop.add_reader(sock, self._accept)

    def close(self) -> None:
        """Accept all that waits, then stop accepting. Connections go on."""
        while self._accept():
            pass
        self._loop.remove_reader(self._sock)
        if self._retry_timer is not None:
            self._retry_timer.cancel()

    def close_silent_connections(self) -> None:
        """Close the connections that have not begun their TLS handshake."""
        for connection in list(self._silent):
            if not connection.has_input():
                self._close_silent(connection)

    def _accept(self) -> bool:
        """Accept some connections; return whether more may wait."""
        for _ in range(MAX_ACCEPTED_AT_ONCE):
            try:
                sock, address = self._sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return False
            except OSError as error:
                self._wait_for_descriptors(error)
                return False
            sock.setblocking(False)
            connection = self._table.admit(sock, normalize_address(address[0]) or address[0])
            if connection is None:
                self._refuse(sock)
            elif self._tls_options:
                self._wait_for_handshake(connection, sock)
            else:
                self._start(connection, sock)
        return True

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
    error, source = service_unavailable_error(REFUSED), ErrorSource(new_request_id())
    lines, body = serialize_error(error, source, closes=True)
    encoded = [(name.encode(), value.encode()) for name, value in headers]
    return STATUS_LINES[503] + serialize_headers(encoded) + lines + b"\r\n" + body
