"""Everything that a run measured, and what follows from it."""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any, NamedTuple

import msgspec

from bench.load.rounds import Sample
from bench.load.start_time import StartTime
from bench.report.staleness_table import Staleness


class Spread(NamedTuple):
    """A median and the range around it."""

    median: float
    minimum: float
    maximum: float

    @classmethod
    def from_values(cls, values: Iterable[float]) -> "Spread":
        """Of at least one value."""
        found = sorted(values)
        return cls(median(found), found[0], found[-1])


class Memory(msgspec.Struct, frozen=True, kw_only=True):
    """Resident memory of one process in MB, idle and after the runs."""

    process: str
    idle: dict[str, float]
    after: dict[str, float]


class Results(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a run measured."""

    taken_at: str
    machine: dict[str, Any]
    units: int
    rounds: int
    seconds: float
    """Of each load."""
    titles: dict[str, str]
    """Of the peers that took part."""
    left_out: list[str]
    """Why others did not."""
    samples: list[Sample]
    starts: list[StartTime]
    memory: list[Memory]
    staleness: Staleness | None

    def samples_of(self, shape: str, peer: str) -> list[Sample]:
        """What was measured of a shape on a peer: nothing where it does not serve it."""
        return [each for each in self.samples if (each.shape, each.peer) == (shape, peer)]


def cpu_ratios(samples: Sequence[Sample], shape: str, peer: str, reference: str) -> Spread | None:
    """CPU per request of a peer over that of the reference, round by round.

    None where one of the two does not serve the shape.
    """
    cpu_ms = {(each.peer, each.round): each.cpu_ms for each in samples if each.shape == shape}
    rounds = sorted({number for name, number in cpu_ms if name == peer})
    pairs = [
        (cpu_ms[peer, each], cpu_ms[reference, each])
        for each in rounds
        if cpu_ms.get((reference, each))
    ]
    return Spread.from_values(own / other for own, other in pairs) if pairs else None
