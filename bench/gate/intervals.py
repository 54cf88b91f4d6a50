"""The rule of the gate: when paired ratios show that a shape became worse.

Each ratio compares CPU time of both revisions within one round, so that what slows the machine down
slows both. The median of a shape's ratios lies in an interval of order statistics, whatever their
distribution is: it is over the k-th smallest of n with the probability that of n tosses of a coin
at least k are heads. A shape is worse if the whole interval is over `MAX_RATIO`, and again is with
other processes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import median

MAX_RATIO = 1.03
"""Two processes of the same code may differ by as much, from where their memory happens to be."""
MAX_ERROR = 0.005
"""Probability that the median is below the lower end, and that it is above the upper one."""
MIN_ROUNDS = 8
"""With fewer, not even the extremes are so certain: 1 / 2 ** 8 is below `MAX_ERROR`."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A median and the interval that it lies in."""

    lower: float
    median: float
    upper: float

    @property
    def is_worse(self) -> bool:
        """Whether the ratio is over what noise explains."""
        return self.lower > MAX_RATIO

    @property
    def is_better(self) -> bool:
        """Whether the ratio is below what noise explains."""
        return self.upper < 1 / MAX_RATIO


def find_interval(ratios: Sequence[float]) -> Interval:
    """Return the interval of the median of at least `MIN_ROUNDS` ratios.

    >>> find_interval([1.01, 1.02, 0.98, 1.0, 0.99, 1.05, 1.0, 0.97])
    Interval(lower=0.97, median=1.0, upper=1.05)
    """
    ordered = sorted(ratios)
    skipped = _count_outside(len(ordered))
    return Interval(ordered[skipped], median(ordered), ordered[-1 - skipped])


def _count_outside(count: int) -> int:
    """Return how many ratios may lie on each side of the interval."""
    if count < MIN_ROUNDS:
        raise ValueError(f"{count} ratios are too few, at least {MIN_ROUNDS} are needed")
    error, outside = 0.0, -1
    while (error := error + comb(count, outside + 1) / 2**count) <= MAX_ERROR:
        outside += 1
    return outside
