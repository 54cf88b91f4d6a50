"""How far the change streams of a gateway's workers have reported, in memory that they share.

A worker that has written waits until all of them have counted what it wrote; then its client reads
its own write through any of them (docs/decisions/server/response-cache.md).
"""

import time

REPORTED_BYTES = 16
"""Memory of one process: a cluster time, and when it was published."""
DEAD_NS = 2_000_000_000
"""A process that has published nothing for so long has ended, or its confirmation has expired with
that of the batch that it awaits."""


class ReportedTimes:
    """The cluster time up to which each process has counted all changes, as an integer.

    >>> times = ReportedTimes()
    >>> times.publish(72)
    >>> times.have_reached(71), times.have_reached(73)
    (True, False)
    """

    def __init__(self, memory: memoryview | None = None, number: int = 0) -> None:
        """Share `memory`, of REPORTED_BYTES for each process; without it, this is one alone."""
        self._values = (memory or memoryview(bytearray(REPORTED_BYTES))).cast("Q")
        self._number = number

    def publish(self, reached: int) -> None:
        """Say that this process has counted all changes up to a time."""
        # In this order a reader between the two waits longer, and never too short.
        self._values[2 * self._number + 1] = _read_clock_ns()
        self._values[2 * self._number] = reached

    def clear(self) -> None:
        """Say that this process uses nothing that it has cached."""
        self._values[2 * self._number + 1] = self._values[2 * self._number] = 0

    def have_reached(self, wanted: int) -> bool:
        """Return whether every process that follows changes has counted them up to a time."""
        since = _read_clock_ns() - DEAD_NS
        values = self._values.tolist()
        return all(
            reported >= wanted or published < since
            for reported, published in zip(values[::2], values[1::2], strict=True)
        )


def _read_clock_ns() -> int:
    """Return the time of a clock that goes on while the machine sleeps."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)
