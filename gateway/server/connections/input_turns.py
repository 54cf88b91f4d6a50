"""Order in which input is parsed, within a budget for each turn of the event loop.

The loop reads from each connection that has sent something before it polls again. If all of it were
parsed at once, many connections, or many small frames, would decide how long the others wait. See
docs/decisions/server/connections.md.
"""

import asyncio
from abc import abstractmethod
from collections import deque
from enum import IntEnum
from typing import Any

UNITS_PER_TURN = 100
"""Of some 10 microseconds each. A turn of the loop spends about 1 ms on input."""
RESERVED_UNITS = 60
"""For clients with a valid key, and for what is parsed as soon as it arrives."""
PIECE_UNITS = 2
BYTES_PER_UNIT = 2048
_HEAD_END = b"\r\n\r\n"


class Standing(IntEnum):
    """What is known of a client, in the order in which clients are served."""

    ACCEPTED = 0  # it has sent a valid key
    NEW = 1
    REJECTED = 2  # its last request, without a key, was rejected, or it sent too many frames


class InputTurns:
    """The budget of a worker, and the connections that wait for their turn."""

    def __init__(self) -> None:
        self.left = UNITS_PER_TURN
        self._waiting = [deque[ScheduledInput]() for _ in Standing]
        self._is_scheduled = False

    def spend(self, units: int) -> None:
        """Take units from the budget; the next turn has all of them again."""
        self.left -= units
        if self.left < UNITS_PER_TURN // 2:  # a callback for each request would cost a little
            self._schedule()

    def add(self, source: "ScheduledInput", standing: Standing) -> None:
        """Let a connection have its turn."""
        self._waiting[standing].append(source)
        self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._begin_turn)

    def _begin_turn(self) -> None:
        self._is_scheduled = False
        self.left = UNITS_PER_TURN
        for standing, waiting in enumerate(self._waiting):
            if waiting:  # one of each, however many are before it
                waiting.popleft().parse_next()
            while waiting and self.left > (RESERVED_UNITS if standing else 0):
                waiting.popleft().parse_next()
        if any(self._waiting):
            self._schedule()


class ScheduledInput:
    """A connection that parses what it receives at once or, once the budget is spent, in its turn.

    It holds what was read last, and reads on when that is parsed.
    """

    connection: Any
    transport: asyncio.Transport
    max_piece_bytes: int

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._unparsed = bytearray()
        self._is_queued = False

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():  # TLS goes on reading while it closes
            return
        turns: InputTurns = self.connection.table.turns
        is_short = len(data) <= self.max_piece_bytes and data.count(_HEAD_END) < 2
        if is_short and turns.left > 0 and not self._unparsed and self._may_parse():
            turns.spend(PIECE_UNITS)
            self.parse(data)  # most requests, without a copy
            return
        self._unparsed += data
        if len(self._unparsed) > self.max_piece_bytes:
            self._pause_input()
        self.parse_later()

    def parse_later(self) -> None:
        """Wait for a turn to parse what was received, if it may be parsed yet."""
        if self._unparsed and not self._is_queued and self._may_parse():
            self._is_queued = True
            self.connection.table.turns.add(self, self.connection.standing)

    def parse_next(self) -> None:
        """Parse one piece, which completes the head of one request at most."""
        self._is_queued = False
        if self.transport.is_closing() or not self._may_parse():
            return
        size = self._find_piece_size()
        piece = bytes(self._unparsed[:size])
        del self._unparsed[:size]
        self.connection.table.turns.spend(PIECE_UNITS + len(piece) // BYTES_PER_UNIT)
        self.parse(piece)
        if self._unparsed:
            self.parse_later()
        else:
            self._resume_input()

    def _find_piece_size(self) -> int:
        size = self._unparsed.find(_HEAD_END, 0, self.max_piece_bytes) + len(_HEAD_END)
        has_more = self._unparsed.find(_HEAD_END, size, self.max_piece_bytes) >= 0
        return size if has_more else self.max_piece_bytes

    @abstractmethod
    def parse(self, piece: bytes) -> None:
        """Parse the next bytes of the connection."""

    @abstractmethod
    def _may_parse(self) -> bool:
        """Return whether there is room for what is parsed."""

    @abstractmethod
    def _pause_input(self) -> None: ...

    @abstractmethod
    def _resume_input(self) -> None: ...
