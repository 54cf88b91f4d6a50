"""The deadline of an operation."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar

from resolvers.request.context import Context
from resolvers.request.errors import DeadlineExceededError, LateFieldError
from storage.mongo import driver

_write_deadline: ContextVar[tuple[float, float]] = ContextVar(
    "write_deadline", default=(math.inf, math.inf)
)


@asynccontextmanager
async def limit_read(context: Context, seconds: float) -> AsyncIterator[None]:
    """Cancel the work inside after `seconds`, with all that it has started.

    Raises DeadlineExceededError.
    """
    try:
        with driver.limit_time(seconds):
            async with asyncio.timeout(seconds) as timeout:
                yield
    except Exception as error:
        # MongoDB may have ended a command a moment before.
        if (isinstance(error, TimeoutError) and timeout.expired()) or _has_passed(timeout):
            raise DeadlineExceededError(seconds) from error
        raise
    finally:
        context.cancel_loads()


@contextmanager
def limit_write(seconds: float) -> Iterator[None]:
    """Let MongoDB end commands inside after `seconds`; `check_deadline` fails from then on."""
    with driver.limit_time(seconds):
        token = _write_deadline.set((time.monotonic() + seconds, seconds))
        try:
            yield
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
