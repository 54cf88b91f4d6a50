"""The deadline of an operation, and how work with bounds of its own extends it.

Such work says so itself when it begins. So a field that is skipped, or that the caller may not
select, extends nothing.
"""

import asyncio
import math
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from resolvers.request.context import Context
from resolvers.request.errors import DeadlineExceededError, LateFieldError, UnavailableError
from storage.mongo import driver

T = TypeVar("T")


class _Read:
    """A read, and the timer that cancels its task.

    Each request has one: `asyncio.timeout` does the same, and takes 3 microseconds more.
    """

    __slots__ = ("_task", "_timer", "ends_at", "extended_at", "extensions", "is_late", "when")

    def __init__(self, ends_at: float, task: asyncio.Task[Any]) -> None:
        self._task = task
        self.when = self.ends_at = ends_at
        """Both are times of the event loop: `ends_at` counts the extensions that have ended, and
        `when` the others, too."""
        self.extensions = 0
        """The number of extensions that have not ended."""
        self.extended_at = 0.0
        self.is_late = False
        self._timer = asyncio.get_running_loop().call_at(ends_at, self._cancel)

    def move(self, when: float) -> None:
        """Have the read end at another time."""
        if not (self._timer.cancelled() or self.is_late):
            self._timer.cancel()
            self.when = when
            self._timer = asyncio.get_running_loop().call_at(when, self._cancel)

    def end(self) -> None:
        """Stop the timer."""
        self._timer.cancel()

    def _cancel(self) -> None:
        self.is_late = True
        self._task.cancel()


@dataclass(slots=True, eq=False)
class _Write:
    seconds: float
    limit: driver.OperationDeadline


_tasks_without_deadline: set[asyncio.Task[Any]] = set()
_read: ContextVar[_Read | None] = ContextVar("read", default=None)
_write: ContextVar[_Write | None] = ContextVar("write", default=None)


async def limit_read(work: Coroutine[Any, Any, T], context: Context, seconds: float) -> T:
    """Return what `work` returns; cancel it after `seconds`, with all that it has started.

    The time that the request has waited before counts. MongoDB ends its commands at that time, even
    if `extend_read` lets `work` go on.
    Raises DeadlineExceededError.
    """
    # A context manager for each of these would take several microseconds more.
    remaining = seconds - context.waited_seconds - context.budget.waited_seconds
    limit = driver.start_operation(remaining)
    end = asyncio.get_running_loop().time() + remaining
    task = cast("asyncio.Task[Any]", asyncio.current_task())
    cancellations = task.cancelling()
    read = _Read(end, task)
    token = _read.set(read)
    try:
        return await work
    except asyncio.CancelledError as error:
        if read.is_late and task.cancelling() == cancellations + 1:
            raise _deadline_exceeded(seconds, read.when - end) from error
        raise  # somebody else has cancelled the task
    except Exception as error:
        if read.is_late:
            raise _deadline_exceeded(seconds, read.when - end) from error
        # MongoDB may have ended a command a moment before.
        if isinstance(error, UnavailableError) and asyncio.get_running_loop().time() >= end:
            raise DeadlineExceededError(seconds) from error
        raise
    finally:
        read.end()
        if read.is_late:
            task.uncancel()
        _read.reset(token)
        driver.end_operation(limit)
        context.end_loads()


def _deadline_exceeded(seconds: float, extra_seconds: float) -> DeadlineExceededError:
    return DeadlineExceededError(seconds + round(extra_seconds, 1))


@contextmanager
def extend_read(seconds: float) -> Iterator[None]:
    """Give the read that this runs in `seconds` more, of which it keeps what passes inside.

    For work that ends within `seconds` by itself, so that its own error comes first.
    """
    read = _read.get()
    if read is None:
        yield
        return
    now = asyncio.get_running_loop().time
    if not read.extensions:
        read.extended_at = now()
        read.move(read.ends_at + seconds)
    read.extensions += 1
    try:
        yield
    finally:
        read.extensions -= 1
        if not read.extensions:
            read.ends_at += now() - read.extended_at
            read.move(read.ends_at)


async def limit_write(work: Coroutine[Any, Any, T], context: Context, seconds: float) -> T:
    """Return what `work` returns; let MongoDB end its commands after `seconds`.

    `check_deadline` fails from then on.
    """
    with driver.limit_time(seconds - context.waited_seconds) as limit:
        token = _write.set(_Write(seconds, limit))
        try:
            return await work
        finally:
            _write.reset(token)
            context.end_loads()


def check_deadline() -> None:
    """Raise LateFieldError if it is too late to begin another write."""
    write = _write.get()
    if write is not None and time.monotonic() > write.limit.end:
        raise LateFieldError(write.seconds)


@contextmanager
def without_deadline() -> Iterator[None]:
    """Let a write take as long as it needs: its time does not count for the fields after it."""
    write = _write.get()
    if write is None:
        yield
        return
    remaining = write.limit.end - time.monotonic()
    write.limit.end = math.inf
    task = cast("asyncio.Task[Any]", asyncio.current_task())
    _tasks_without_deadline.add(task)
    try:
        yield
    finally:
        _tasks_without_deadline.discard(task)
        write.limit.end = time.monotonic() + remaining


def get_tasks_without_deadline() -> frozenset[asyncio.Task[Any]]:
    """Return the tasks of requests that now are within `without_deadline`."""
    return frozenset(_tasks_without_deadline)
