"""The shapes that the gate compares: each workload, with the cache off and on."""

from dataclasses import dataclass

from bench.data.mix import MIX, WRITES
from bench.data.workloads import WORKLOADS, Workload
from bench.peers.floorgate import CACHED, UNCACHED
from bench.peers.peer import Peer

TOO_LONG = ("units-10000", "graphql-units-10000")
"""As 1,000 units, ten times; left out to save time."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of request to a kind of gateway."""

    workload: Workload
    peer: Peer

    @property
    def name(self) -> str:
        """The name on the command line and in the table."""
        return f"{self.workload.name}, cache {'on' if self.peer is CACHED else 'off'}"


SHAPES = tuple(
    Shape(workload, peer)
    for peer in (UNCACHED, CACHED)
    for workload in (*WORKLOADS, WRITES, MIX)
    if workload.name not in TOO_LONG
)
