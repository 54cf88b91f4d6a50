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


@dataclass(slots=True, eq=False)
class _Read:
    end: float
    """By the clock of the event loop, with the time that ended extensions have taken."""
    timeout: asyncio.Timeout
    extensions: int = 0
    """Those that have not ended."""
    extended_at: float = 0.0
    is_over: bool = False


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
    # Each request passes here: a context manager for it would take several microseconds more.
    remaining = seconds - context.waited_seconds - context.budget.waited_seconds
    limit = driver.start_operation(remaining)
    end = asyncio.get_running_loop().time() + remaining
    read = _Read(end, asyncio.timeout_at(end))
    token = _read.set(read)
    try:
        async with read.timeout:
            return await work
    except Exception as error:
        if read.timeout.expired():
            extra_seconds = round((read.timeout.when() or end) - end, 1)
            raise DeadlineExceededError(seconds + extra_seconds) from error
        # MongoDB may have ended a command a moment before.
        if isinstance(error, UnavailableError) and asyncio.get_running_loop().time() >= end:
            raise DeadlineExceededError(seconds) from error
        raise
    finally:
        read.is_over = True
        _read.reset(token)
        driver.end_operation(limit)
        context.end_loads()


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
        _reschedule(read, read.end + seconds)
    read.extensions += 1
    try:
        yield
    finally:
        read.extensions -= 1
        if not read.extensions:
            read.end += now() - read.extended_at
            _reschedule(read, read.end)


def _reschedule(read: _Read, end: float) -> None:
    if not (read.is_over or read.timeout.expired()):
        read.timeout.reschedule(end)


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
