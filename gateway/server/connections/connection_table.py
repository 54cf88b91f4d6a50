"""All connections of a worker: how many, from where, which are idle, and who reads too slowly.

See docs/decisions/server/connections.md.
"""

import asyncio
import contextlib
import fcntl
import socket
import struct
import termios
from itertools import islice

from gateway.client_address import group_address
from gateway.server.config import ConnectionLimits
from gateway.server.connections.input_turns import InputTurns, Standing
from gateway.server.connections.unread import ReadingPace, UnreadResponses, count_acked_bytes
from gateway.server.limit_log import LimitLog

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
        """Close the connection at once."""
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
            unacked: int = _INT.unpack(fcntl.ioctl(self._sock, termios.TIOCOUTQ, bytes(_INT.size)))[
                0
            ]
            return unacked > 0
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
        """Whether the worker is about to stop, so that connections end with a response."""
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
            self.log.note("max_connections_per_address", message, address)
            return None
        if len(self._connections) >= limits.max_connections and not self.close_idle_connection():
            message = "Connections are refused: too many, and none is idle"
            self.log.note("max_connections", message, address)
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
