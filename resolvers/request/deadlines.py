"""The deadline of an operation."""

import asyncio
import math
import time
from collections.abc import Coroutine
from contextvars import ContextVar
from typing import Any, TypeVar

from resolvers.request.context import Context
from resolvers.request.errors import DeadlineExceededError, LateFieldError
from storage.mongo import driver

T = TypeVar("T")

_write_deadline: ContextVar[tuple[float, float]] = ContextVar(
    "write_deadline", default=(math.inf, math.inf)
)


async def limit_read(work: Coroutine[Any, Any, T], context: Context, seconds: float) -> T:
    """Return what `work` returns; cancel it after `seconds`, with all that it has started.

    Raises DeadlineExceededError.
    """
    # Each request passes here: a context manager for it would take several microseconds more.
    limit = driver.start_time_limit(seconds)
    try:
        async with asyncio.timeout(seconds) as timeout:
            return await work
    except Exception as error:
        # MongoDB may have ended a command a moment before.
        if (isinstance(error, TimeoutError) and timeout.expired()) or _has_passed(timeout):
            raise DeadlineExceededError(seconds) from error
        raise
    finally:
        driver.end_time_limit(limit)
        context.cancel_loads()


async def limit_write(work: Coroutine[Any, Any, T], seconds: float) -> T:
    """Return what `work` returns; let MongoDB end its commands after `seconds`.

    `check_deadline` fails from then on.
    """
    token = _write_deadline.set((time.monotonic() + seconds, seconds))
    try:
        with driver.limit_time(seconds):
            return await work
    finally:
        _write_deadline.reset(token)


def check_deadline() -> None:
    """Raise LateFieldError if it is too late to begin another write."""
    end, seconds = _write_deadline.get()
    if time.monotonic() > end:
        raise LateFieldError(seconds)


def _has_passed(timeout: asyncio.Timeout) -> bool:
    end = timeout.when()
    return end is not None and asyncio.get_running_loop().time() >= end
