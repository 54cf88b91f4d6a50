"""Reads that show less than was acknowledged, or than an earlier read has shown.

Every value is written once, so a read tells which write it saw. It is stale if it began after a
newer write was acknowledged or shown. This finds all that a client can notice by itself, and how
old it was; `linearizability` also finds orders that are impossible as a whole.
"""

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from tests.faults.checking.history import Operation


@dataclass(frozen=True, slots=True)
class StaleRead:
    """A read, and a newer write that it should have shown."""

    read: Operation
    missed: Operation
    seconds: float
    """How long that write had been acknowledged, or shown to someone, when the read began."""
    is_acknowledged: bool
    """Whether a write that it missed was acknowledged by then, not only shown."""

    def __str__(self) -> str:
        how = "acknowledged" if self.is_acknowledged else "shown"
        kind = "cached" if self.read.is_cached else "uncached"
        return (
            f"{self.read.client} read {self.read.register} = {self.read.value} ({kind}), "
            f"{self.seconds:.2f} s after {self.missed.value} of {self.missed.client} was {how}"
        )


def find_stale_reads(operations: Sequence[Operation]) -> Iterator[StaleRead]:
    """Find the stale reads of a register. Reads of nothing are skipped where values are removed."""
    writes = {each.value: each for each in operations if each.action == "write"}
    has_removals = any(each.action == "remove" for each in operations)
    reads = [each for each in operations if each.action == "read" and not each.is_unknown]
    visible = {value: write.returned for value, write in writes.items()}
    for read in reads:
        if read.value in visible:
            visible[read.value] = min(visible[read.value], read.returned)
    newest_first = sorted(writes.values(), key=lambda write: visible[write.value])
    times = [visible[write.value] for write in newest_first]
    latest_invoked = [*accumulate((write.invoked for write in newest_first), max)]
    for read in reads:
        if read.value is None and has_removals:
            continue
        shown = writes.get(read.value)
        shown_returned = -math.inf if shown is None else shown.returned
        count = bisect_left(times, read.invoked)
        if count and latest_invoked[count - 1] > shown_returned:
            newer = [each for each in newest_first[:count] if each.invoked > shown_returned]
            missed = next((each for each in newer if each.returned < read.invoked), newer[0])
            yield StaleRead(
                *(read, missed, read.invoked - visible[newer[0].value]),
                is_acknowledged=missed.returned < read.invoked,
            )
