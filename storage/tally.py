"""How often the processes of one gateway have written, counted where all of them can see it.

A write by one worker counts at once for the others, before MongoDB's change stream tells them.
"""

import mmap
import os
from typing import NamedTuple

_COUNTER_BYTES = 8


class Place(NamedTuple):
    """Which of the counters in some memory belongs to a process."""

    descriptor: int
    number: int


class Tally:
    """Counters in shared memory: each process adds to its own, and all look at them together."""

    def __init__(self, counters: bytearray | mmap.mmap, place: int = 0) -> None:
        self._view = memoryview(counters)
        self._own = self._view[place * _COUNTER_BYTES :][:_COUNTER_BYTES].cast("Q")

    @classmethod
    def alone(cls) -> "Tally":
        """For a gateway of one process."""
        return cls(bytearray(_COUNTER_BYTES))

    @classmethod
    def joined(cls, place: Place) -> "Tally":
        """Of a worker whose supervisor made the memory."""
        memory = mmap.mmap(place.descriptor, os.fstat(place.descriptor).st_size)
        return cls(memory, place.number)

    def add(self) -> None:
        """Counts a write, once it is acknowledged and before it is answered."""
        self._own[0] += 1

    def seen(self) -> bytes:
        """All counters as they are: different from before when anybody wrote since."""
        return self._view.tobytes()


def create(processes: int) -> int:
    """The descriptor of memory for the counters of so many processes; it goes with the last."""
    descriptor = os.memfd_create("floorgate-tally")
    os.ftruncate(descriptor, processes * _COUNTER_BYTES)
    return descriptor
