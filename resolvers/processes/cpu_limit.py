"""Limit the CPU time that work takes. Time spent waiting for a CPU does not count."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self

from parsing.errors import DocumentRejectedError

MAX_PARSE_CPU_SECONDS = 20.0
REPEAT_SECONDS = 0.05
"""An exception in a finalizer is lost: after so much more CPU time it is raised again."""
MAX_CPU_OVERRUN = 1.1
"""A process that has used so many times its CPU time ends: it may be in C, which runs on."""
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

    Only for the main thread; only Python code is interrupted: see `kill_after_cpu_time` for the
    rest. A shorter limit may be inside.
    """

    has_ended = False

    def stop(_: int, __: FrameType | None) -> None:
        if not has_ended:
            raise CpuTimeExceededError(message.format(seconds))

    started = time.process_time()
    previous = signal.signal(signal.SIGPROF, stop)
    outer_seconds, _ = signal.setitimer(signal.ITIMER_PROF, seconds, REPEAT_SECONDS)
    try:
        yield
    finally:
        has_ended = True
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)
        if outer_seconds:
            used_seconds = time.process_time() - started
            remaining_seconds = max(outer_seconds - used_seconds, 0.001)
            signal.setitimer(signal.ITIMER_PROF, remaining_seconds, REPEAT_SECONDS)


def kill_after_cpu_time(seconds: float) -> None:
    """Let SIGVTALRM kill this process once it has used so much CPU time outside the kernel.

    Unlike RLIMIT_CPU this counts from now, and leaves no core dump.

    >>> kill_after_cpu_time(60)
    >>> kill_after_cpu_time(0)  # never
    """
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
