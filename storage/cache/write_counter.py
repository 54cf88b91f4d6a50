"""How often the processes of one gateway have written, counted where all of them can see it.

A write by one worker counts at once for the others, before MongoDB's change stream tells them.
"""

import mmap
import os
from typing import NamedTuple

_COUNTER_BYTES = 8


class Slot(NamedTuple):
    """Which of the counters in some memory belongs to a process."""

    descriptor: int
    number: int


class WriteCounter:
    """Counters in shared memory: each process adds to its own, and all look at them together."""

    def __init__(self, counters: bytearray | mmap.mmap, slot_number: int = 0) -> None:
        self._view = memoryview(counters)
        self._own_counter = self._view[slot_number * _COUNTER_BYTES :][:_COUNTER_BYTES].cast("Q")

    @classmethod
    def for_single_process(cls) -> "WriteCounter":
        """For a gateway of one process."""
        return cls(bytearray(_COUNTER_BYTES))

    @classmethod
    def attach(cls, slot: Slot) -> "WriteCounter":
        """Of a worker whose supervisor made the memory."""
        memory = mmap.mmap(slot.descriptor, os.fstat(slot.descriptor).st_size)
        return cls(memory, slot.number)

    def increment(self) -> None:
        """Counts a write, once it is acknowledged and before it is answered."""
        self._own_counter[0] += 1

    def read(self) -> bytes:
        """All counters as they are: different from before when anybody wrote since."""
        return self._view.tobytes()


def create_shared_memory(processes: int) -> int:
    """The descriptor of memory for the counters of so many processes; it goes with the last."""
    descriptor = os.memfd_create("floorgate-tally")
    os.ftruncate(descriptor, processes * _COUNTER_BYTES)
    return descriptor
