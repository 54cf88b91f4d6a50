"""Limit the CPU time that reading a drawing takes. Time spent waiting for a CPU does not count."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self

from parsing.errors import DocumentRejectedError

MAX_PARSE_CPU_SECONDS = 20.0


class CpuTimeExceededError(DocumentRejectedError):
    """A drawing that takes too much CPU time; where it is stopped says nothing about it."""

    def with_position(self, position: tuple[int, int]) -> Self:
        return self


@contextmanager
def limit_cpu_time(seconds: float = MAX_PARSE_CPU_SECONDS) -> Iterator[None]:
    """Raise CpuTimeExceededError inside the block once the process has used so much CPU time.

    Only for the main thread; only Python code is interrupted.
    """

    def stop(_: int, __: FrameType | None) -> None:
        raise CpuTimeExceededError(
            f"the drawing takes over {seconds:g} seconds of CPU time to parse; simplify it"
        )

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)
