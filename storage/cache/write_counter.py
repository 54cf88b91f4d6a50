"""What the worker processes of a gateway share: counts of writes, and how far each has followed.

A write advances the clock that the reads of all workers follow, and is answered once all of them
have counted its changes. Where that takes too long, its count invalidates the caches of all workers
at once. So a client reads its own write, whichever worker it reaches.
"""

import mmap
import os
from typing import NamedTuple

from storage.cache.reported_times import REPORTED_BYTES, ReportedTimes
from storage.mongo.consistency.cluster_clock import CLOCK_BYTES, ClusterClock

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
    descriptor = os.memfd_create("floorgate-write-counter")
    os.ftruncate(descriptor, processes * _SLOT_BYTES)
    return descriptor
