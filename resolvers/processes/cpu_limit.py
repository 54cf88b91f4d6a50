"""Limit the CPU time that work takes. Time spent waiting for a CPU does not count."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self

from parsing.errors import DocumentRejectedError

MAX_PARSE_CPU_SECONDS = 20.0
PARSE_MESSAGE = "the drawing takes over {:g} seconds of CPU time to parse; simplify it"


class CpuTimeExceededError(DocumentRejectedError):
    """A document that takes too much CPU time; where it is stopped says nothing about it."""

    def with_position(self, position: tuple[int, int]) -> Self:
        return self


@contextmanager
def limit_cpu_time(
    seconds: float = MAX_PARSE_CPU_SECONDS, message: str = PARSE_MESSAGE
) -> Iterator[None]:
    """Raise CpuTimeExceededError inside the block once the process has used so much CPU time.

    Only for the main thread; only Python code is interrupted. A shorter limit may be inside.
    """

    def stop(_: int, __: FrameType | None) -> None:
        raise CpuTimeExceededError(message.format(seconds))

    started = time.process_time()
    previous = signal.signal(signal.SIGPROF, stop)
    outer_seconds, _ = signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)
        if outer_seconds:
            used_seconds = time.process_time() - started
            signal.setitimer(signal.ITIMER_PROF, max(outer_seconds - used_seconds, 0.001))
