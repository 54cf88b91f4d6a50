"""The operation that a task works on: when its commands have to end, and what its reads see.

A context variable holds it, so that it reaches the commands through the layers between, and those
of the tasks that the operation starts.
"""

import asyncio
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass

from bson import Timestamp

SNAPSHOT_SECONDS = 60.0
"""How long an operation reads from one snapshot. MongoDB keeps snapshots for 300 seconds."""


@dataclass(slots=True, eq=False)
class Operation:
    """A deadline by `time.monotonic`, which may be moved, and the snapshot that is read."""

    end: float
    snapshot_time: Timestamp | None = None
    """The cluster time that all reads see; None before the first read and after a write."""
    snapshot_taken: float = 0.0
    """A moment before that snapshot was taken, by `time.monotonic`."""
    began_reading: float = math.inf
    """A moment before the first snapshot: what was read then may be used again later."""
    first_read: asyncio.Event | None = None
    """Set when the read that takes the snapshot has ended; None while there is none."""

    def get_snapshot_time(self) -> Timestamp | None:
        """Return the time of the snapshot, unless there is none or it may be too old to read."""
        is_recent = time.monotonic() - self.snapshot_taken < SNAPSHOT_SECONDS
        return self.snapshot_time if is_recent else None

    def end_snapshot(self) -> None:
        """Let the next read take another snapshot."""
        self.snapshot_time = None
        self.began_reading = math.inf


_operation: ContextVar[Operation | None] = ContextVar("operation", default=None)


def get_operation() -> Operation | None:
    """Return the operation that this task works on."""
    return _operation.get()


@contextmanager
def limit_time(seconds: float) -> Iterator[Operation]:
    """Let no command inside, or in a task that is started inside, go on for longer.

    MongoDB itself ends a command at that time. Applies to commands inside `translate_errors`, and
    to transactions, which are then rolled back. All reads inside see the same snapshot of the
    database, until there is a transaction.
    """
    operation = Operation(time.monotonic() + seconds)
    token = _operation.set(operation)
    try:
        yield operation
    finally:
        end_operation(token)


def start_operation(seconds: float) -> Token[Operation | None]:
    """Begin what `limit_time` does, and return what ends it."""
    return _operation.set(Operation(time.monotonic() + seconds))


def end_operation(token: Token[Operation | None]) -> None:
    """End an operation that has begun in this task."""
    _operation.reset(token)


def remaining_seconds() -> float | None:
    """Return how long commands may go on; None without a limit."""
    operation = _operation.get()
    if operation is None or operation.end == math.inf:
        return None
    return max(operation.end - time.monotonic(), 0.001)  # 0 would mean no limit to the driver


def snapshot_taken() -> float:
    """Return a moment since which this operation's reads may lack changes; else infinity."""
    operation = _operation.get()
    if operation is None:
        return math.inf
    return operation.began_reading
