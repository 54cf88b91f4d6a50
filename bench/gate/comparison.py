"""Compare gateways of two revisions: the same requests in turn, at the same time."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import cycle, islice
from pathlib import Path

import msgspec

from bench.data.directory import Directory
from bench.gate.shapes import Shape
from bench.load.generator import LoadGenerator, LoadOrder
from bench.load.servers import PeerServer, start_peer
from bench.peers.peer import Peer

BATCH_CPU_SECONDS = 0.04
"""Of a batch of requests, about: more than a garbage collection, less than a change of the load."""
MAX_BATCH_SECONDS = 60.0
WARM_UP_REQUESTS = 20
CONNECTIONS = 4


@dataclass(frozen=True, slots=True)
class Side:
    """A revision, with a database of its own: its writes must not be work for the other one."""

    checkout: Path
    directory: Directory


@dataclass(frozen=True, slots=True)
class _Batches:
    """Requests of a shape to one side, so many at a time."""

    server: PeerServer
    order: LoadOrder
    size: int = WARM_UP_REQUESTS

    def measure(self, load: LoadGenerator, number: int) -> float:
        """Send the requests of a batch; return the CPU seconds of the server."""
        first = number * self.size
        requests = [*islice(cycle(self.order.requests), first, first + self.size)]
        order = msgspec.structs.replace(self.order, requests=requests, max_requests=self.size)
        before = self.server.cpu_seconds()
        load.run(order)
        return self.server.cpu_seconds() - before


def compare_sides(
    sides: Sequence[Side],
    shapes: Sequence[Shape],
    rounds: int,
    load: LoadGenerator,
    *,
    is_reversed: bool,
) -> Iterator[dict[str, float]]:
    """Yield, for each round, the CPU of the second side over that of the first, by shape.

    In a round each shape has four batches: first, second, second, first, and in every other round
    the other way round. `is_reversed` starts the second side first. Raises PeerError and LoadError.
    """
    with ExitStack() as stack:
        order = (1, 0) if is_reversed else (0, 1)
        started = {at: stack.enter_context(_start_gateways(sides[at], shapes)) for at in order}
        batches = {
            shape.name: [
                _build_batches(started[at][shape.peer.name], side.directory, shape)
                for at, side in enumerate(sides)
            ]
            for shape in shapes
        }
        sized = {name: _size_batches(pair, load) for name, pair in batches.items()}
        for number in range(rounds):
            yield {name: _compare(pair, load, number) for name, pair in sized.items()}


@contextmanager
def _start_gateways(side: Side, shapes: Sequence[Shape]) -> Iterator[Mapping[str, PeerServer]]:
    with ExitStack() as stack:
        peers = {shape.peer.name: shape.peer for shape in shapes}
        yield {
            name: stack.enter_context(start_peer(_at(peer, side.checkout), side.directory))
            for name, peer in peers.items()
        }


def _at(peer: Peer, checkout: Path) -> Peer:
    """Return the peer with the code of a checkout, and the same order of sets in each process."""

    def environment(directory: Directory) -> dict[str, str]:
        variables = {"PYTHONPATH": str(checkout), "PYTHONHASHSEED": "0"}
        return peer.environment(directory) | variables

    return replace(peer, environment=environment, checkout=checkout)


def _build_batches(server: PeerServer, directory: Directory, shape: Shape) -> _Batches:
    order = server.build_order(shape.workload, directory, MAX_BATCH_SECONDS, CONNECTIONS)
    return _Batches(server, order)


def _size_batches(pair: Sequence[_Batches], load: LoadGenerator) -> list[_Batches]:
    """Return batches of as many requests as take about `BATCH_CPU_SECONDS`."""
    for number in range(2):
        used = [batches.measure(load, number) for batches in pair]
    size = max(1, round(WARM_UP_REQUESTS * BATCH_CPU_SECONDS / max(used)))
    return [replace(batches, size=size) for batches in pair]


def _compare(pair: Sequence[_Batches], load: LoadGenerator, round: int) -> float:
    used = [0.0, 0.0]
    for at, side in enumerate((0, 1, 1, 0) if round % 2 == 0 else (1, 0, 0, 1)):
        used[side] += pair[side].measure(load, 2 * round + at // 2)
    return used[1] / used[0]
