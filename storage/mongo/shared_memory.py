"""What the workers of a gateway share: counts of writes, a clock, and how far each has read.

A write advances the clock that the reads of all workers follow, and is answered once all of them
have counted its changes. Where that takes too long, its count invalidates the caches of all workers
at once. So a client reads its own write, whichever worker it reaches
(docs/decisions/server/response-cache.md).
"""

import mmap
import os
import tempfile
import threading
import time
from functools import lru_cache
from typing import Final, NamedTuple

from bson import Timestamp

_CLOCK: Final[int] = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""A clock that goes on while the machine sleeps, which macOS calls the monotonic one."""
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
        self._values[2 * self._number + 1] = time.clock_gettime_ns(_CLOCK)
        self._values[2 * self._number] = reached

    def clear(self) -> None:
        """Say that this process uses nothing that it has cached."""
        self._values[2 * self._number + 1] = self._values[2 * self._number] = 0

    def have_reached(self, wanted: int) -> bool:
        """Return whether every process that follows changes has counted them up to a time."""
        since = time.clock_gettime_ns(_CLOCK) - DEAD_NS
        values = self._values.tolist()
        return all(
            reported >= wanted or published < since
            for reported, published in zip(values[::2], values[1::2], strict=True)
        )


def read_clock() -> float:
    """Return seconds of a clock that goes on while the machine sleeps, and within callbacks."""
    return time.clock_gettime(_CLOCK)


# How far reads have to see: the newest cluster time that this gateway has learned of.
#
# MongoDB numbers all writes of a replica set in one order, by cluster time. A read that demands one
# (`afterClusterTime`) sees every write up to it, whichever member answers, or waits for them. The
# clock holds the newest of these times:
#
# - of a write that this gateway made, or of its unfinished part, once a majority acknowledged it;
# - of a snapshot that a response was read from;
# - of a change that the change stream has reported, and of the stream's start;
# - of the newest write of a primary, when that primary is discovered.
#
# So a response is never older than an earlier response or write of the same gateway, and after an
# election not older than any acknowledged write. The worker processes of a gateway share the clock.


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
        """True if a write of this process may have been made, although it seems to have failed."""

    def advance(self, time: Timestamp | None) -> None:
        """Move the clock to this time, unless it is there or beyond."""
        if time is None:
            return
        value = to_integer(time)
        if value <= self._times[self._number]:
            return
        with self._lock:
            self._times[self._number] = max(value, self._times[self._number])

    def count_write(self, time: Timestamp | None) -> None:
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


_COUNTER_BYTES = 8
_SLOT_BYTES = _COUNTER_BYTES + CLOCK_BYTES + REPORTED_BYTES


class CounterSlot(NamedTuple):
    """The counter of one process in memory shared by several."""

    descriptor: int
    number: int


class WriteCounter:
    """Count the writes of this process, and read the counts of all processes.

    >>> counter = WriteCounter.for_single_process()
    >>> before = counter.read()
    >>> counter.increment()
    >>> counter.read() == before
    False
    """

    def __init__(self, memory: bytearray | mmap.mmap, slot_number: int = 0) -> None:
        """Use memory of `create_shared_memory`: all counters, all times, all reported times."""
        slots = len(memory) // _SLOT_BYTES
        counters_end, clocks_end = slots * _COUNTER_BYTES, -slots * REPORTED_BYTES
        self._view = memoryview(memory)[:counters_end]
        self.clock = ClusterClock(memoryview(memory)[counters_end:clocks_end], slot_number)
        self.reported = ReportedTimes(memoryview(memory)[clocks_end:], slot_number)
        self._own_counter = self._view[slot_number * _COUNTER_BYTES :][:_COUNTER_BYTES].cast("Q")

    @classmethod
    def for_single_process(cls) -> "WriteCounter":
        """Return a counter that no other process reads."""
        return cls(bytearray(_SLOT_BYTES))

    @classmethod
    def attach(cls, slot: CounterSlot) -> "WriteCounter":
        """Return the counter in a slot of memory that the supervisor created."""
        memory = mmap.mmap(slot.descriptor, os.fstat(slot.descriptor).st_size)
        return cls(memory, slot.number)

    def increment(self) -> None:
        """Count a write that may have changed anything, before its response is sent."""
        # Only this process writes to its slot, so no lock is needed.
        self._own_counter[0] += 1

    def read(self) -> bytes:
        """Return all counters; they differ from an earlier read if any process wrote since."""
        return self._view.tobytes()


def create_shared_memory(processes: int) -> int:
    """Return the file descriptor of memory with a counter and a time for each process.

    The memory is freed when the last process that has the descriptor or a mapping ends.
    """
    return allocate("floorgate-write-counter", processes * _SLOT_BYTES)


def allocate(name: str, size: int) -> int:
    """Return the file descriptor of `size` zero bytes: of a file without a name on macOS."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create(name)
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, size)
    return descriptor
