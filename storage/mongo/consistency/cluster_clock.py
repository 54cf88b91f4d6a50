"""How far reads have to see: the newest cluster time that this gateway has learned of.

MongoDB numbers all writes of a replica set in one order, by cluster time. A read that demands one
(`afterClusterTime`) sees every write up to it, whichever member answers, or waits for them. The
clock holds the newest of these times:

- of a write that this gateway made, or of its unfinished part, once a majority acknowledged it;
- of a snapshot that a response was read from;
- of a change that the change stream has reported, and of the stream's start;
- of the newest write of a primary, when that primary is discovered.

So a response is never older than an earlier response or write of the same gateway, and after an
election not older than any acknowledged write. The worker processes of a gateway share the clock.
"""

import threading
from functools import lru_cache

from bson import Timestamp

CLOCK_BYTES = 8
"""Memory of one process."""


class ClusterClock:
    """The newest of the times that any process has seen; times of one process never decrease.

    >>> clock = ClusterClock()
    >>> clock.advance(Timestamp(7, 2))
    >>> clock.advance(Timestamp(7, 1))
    >>> clock.now()
    Timestamp(7, 2)
    """

    def __init__(self, memory: memoryview | None = None, number: int = 0) -> None:
        """Share `memory`, of CLOCK_BYTES for each process; without it, this is a process alone."""
        self._times = (memory or memoryview(bytearray(CLOCK_BYTES))).cast("Q")
        self._number = number
        self._lock = threading.Lock()  # of the threads of this process: others have their own time
        self._last_write = 0
        """The newest time of a write of this process, as an integer."""
        self.has_unknown_write = False
        """Whether a write of this process may have been made, although it seems to have failed."""

    def advance(self, time: Timestamp | None) -> None:
        """Move the clock to this time, unless it is there or beyond."""
        if time is None:
            return
        value = to_integer(time)
        with self._lock:
            if value > self._times[self._number]:
                self._times[self._number] = value

    def count_write(self, time: Timestamp | None) -> None:
        """Move the clock to the time of a write of this process."""
        self.advance(time)
        if time is not None:
            self._last_write = max(self._last_write, to_integer(time))

    def get_last_write(self) -> int:
        """Return the newest time of a write of this process, as an integer.

        Other processes may have found that the database was put back to an earlier time.
        """
        return min(self._last_write, max(self._times))

    def restart(self) -> None:
        """Forget what all processes have seen, also those that have ended."""
        with self._lock:
            self._times[:] = memoryview(bytes(self._times.nbytes)).cast("Q")

    def now(self) -> Timestamp | None:
        """Return the time; None before there was one."""
        value = max(self._times)
        return _to_timestamp(value) if value else None


@lru_cache(maxsize=1)  # every read asks for the time, which only writes change
def _to_timestamp(value: int) -> Timestamp:
    return Timestamp(value >> 32, value & 0xFFFFFFFF)


def to_integer(time: Timestamp) -> int:
    """Return a cluster time as an integer of 64 bits that sorts as it does.

    >>> to_integer(Timestamp(7, 1)) < to_integer(Timestamp(7, 2)) < to_integer(Timestamp(8, 1))
    True
    """
    return time.time << 32 | time.inc
