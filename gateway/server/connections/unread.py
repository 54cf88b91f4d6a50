"""What clients leave unread: its budget, and whether a client reads fast enough.

See docs/decisions/server/connections.md.
"""

import contextlib
import socket
import struct
from typing import Protocol

from gateway.server.config import ConnectionLimits
from gateway.server.limit_log import LimitLog

_BYTES_ACKED = struct.Struct("=Q")
_BYTES_ACKED_OFFSET = 120
"""Of `tcpi_bytes_acked` in Linux's `struct tcp_info`, which only ever grows at its end."""


class Reader(Protocol):
    """A connection with an unread response."""

    address: str

    def abort(self) -> None:
        """Close the connection at once."""


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
        self._readers: dict[str, dict[Reader, int]] = {}
        """By group of addresses; within a group, who waited first stands first."""
        self._group_bytes: dict[str, int] = {}
        self._groups: dict[Reader, str] = {}
        self.total_bytes = 0

    def add(self, reader: Reader, group: str, unread_bytes: int) -> None:
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

    def remove(self, reader: Reader) -> None:
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
    """Whether the client of one connection reads fast enough while something is unread.

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
        """Stop watching: nothing is unread."""
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
