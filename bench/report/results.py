"""Results of a run, and ratios computed from them."""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any, NamedTuple

import msgspec

from bench.load.rounds import Sample
from bench.load.start_time import StartTime
from bench.report.alone_table import AloneSample
from bench.report.staleness_table import Staleness


class Spread(NamedTuple):
    """A median and the range around it."""

    median: float
    minimum: float
    maximum: float

    @classmethod
    def from_values(cls, values: Iterable[float]) -> "Spread":
        """Return the spread of at least one value."""
        ordered = sorted(values)
        return cls(median(ordered), ordered[0], ordered[-1])


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
    """Duration of each load."""
    titles: dict[str, str]
    """Titles of the peers that took part."""
    left_out: list[str]
    """Reasons why other peers did not."""
    samples: list[Sample]
    starts: list[StartTime]
    memory: list[Memory]
    staleness: Staleness | None
    alone: list[AloneSample] = []

    def samples_of(self, workload: str, peer: str) -> list[Sample]:
        """Return the samples of a workload on a peer; empty if the peer does not serve it."""
        return [x for x in self.samples if (x.workload, x.peer) == (workload, peer)]


def add_results(earlier: Results, new: Results) -> Results:
    """Return the new results with those earlier ones that the new run left out.

    Of a workload, all peers are from one run, because ratios compare within rounds.
    """
    measured = {sample.workload for sample in new.samples}
    kept = [sample for sample in earlier.samples if sample.workload not in measured]
    processes = {memory.process for memory in new.memory}
    return msgspec.structs.replace(
        new,
        titles=earlier.titles | new.titles,
        samples=[*kept, *new.samples],
        starts=new.starts or earlier.starts,
        memory=[*(x for x in earlier.memory if x.process not in processes), *new.memory],
        staleness=new.staleness or earlier.staleness,
        alone=new.alone or earlier.alone,
    )


def cpu_ratios(
    samples: Sequence[Sample], workload: str, peer: str, reference: str
) -> Spread | None:
    """Return CPU per request of a peer divided by that of the reference, round by round.

    None if one of the two does not serve the workload.
    """
    cpu_ms = {(x.peer, x.round): x.cpu_ms for x in samples if x.workload == workload}
    rounds = sorted({number for name, number in cpu_ms if name == peer})
    pairs = [
        (cpu_ms[peer, number], cpu_ms[reference, number])
        for number in rounds
        if cpu_ms.get((reference, number))
    ]
    return Spread.from_values(own / other for own, other in pairs) if pairs else None
