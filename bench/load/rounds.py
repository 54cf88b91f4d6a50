"""The rounds: every peer under the same load in turn, so that ratios compare neighbours in time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from bench.data.directory import Directory
from bench.data.workloads import Workload
from bench.load.generator import LoadGenerator
from bench.load.machine import cpu_seconds, load_average
from bench.load.servers import PeerServer

PACED_CONNECTIONS = 32
"""More than are ever busy at half of saturation."""
MIN_PACED_REQUESTS = 5
"""How many a paced load has at least, however slow the peer."""


@dataclass(frozen=True, slots=True)
class RoundSettings:
    """How long to measure."""

    rounds: int
    seconds: float
    """Of each load."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One peer, one shape, one round."""

    round: int
    shape: str
    peer: str
    requests: int
    cpu_ms: float
    """Server CPU per request at saturation."""
    mongod_cpu_ms: float
    requests_per_second: float
    """At saturation."""
    busy: float
    """The share of its core that the server used at saturation; above 1 it has threads besides."""
    p50_ms: float
    """At half of it, as is p99."""
    p99_ms: float
    load_average: float


@dataclass(frozen=True, slots=True)
class BenchmarkSetup:
    """Everybody who takes part: servers, what is asked of them, and who asks."""

    servers: Sequence[PeerServer]
    workloads: Sequence[Workload]
    directory: Directory
    load: LoadGenerator

    def list_pairs(self) -> list[tuple[Workload, PeerServer]]:
        """Each shape with every server that serves it."""
        return [
            (shape, server)
            for shape in self.workloads
            for server in self.servers
            if server.peer.serves(shape.name)
        ]


def warm_up(field: BenchmarkSetup, seconds: float) -> Iterator[None]:
    """Loads what is loaded late, has hot code compiled, fills MongoDB's cache and pools."""
    for shape, server in field.list_pairs():
        field.load.run(server.build_order(shape, field.directory, seconds, shape.connections))
        yield


def measure_rounds(field: BenchmarkSetup, effort: RoundSettings) -> Iterator[Sample]:
    """Interleaved: in each round every shape on every peer, in turning order."""
    for number in range(effort.rounds):
        pairs = field.list_pairs()
        for shape, server in pairs if number % 2 == 0 else pairs[::-1]:
            yield _measure_sample(field, number, server, shape, effort.seconds)


def _measure_sample(
    field: BenchmarkSetup, number: int, server: PeerServer, shape: Workload, seconds: float
) -> Sample:
    flat_out = server.build_order(shape, field.directory, seconds, shape.connections)
    before = server.cpu_seconds(), cpu_seconds(field.directory.mongod_pid)
    full = field.load.run(flat_out)
    after = server.cpu_seconds(), cpu_seconds(field.directory.mongod_pid)
    used, mongod_used = (end - start for start, end in zip(before, after, strict=True))
    requests = full.answered.requests
    rate = requests / full.seconds
    paced_seconds = max(seconds, MIN_PACED_REQUESTS / (rate / 2))
    paced = server.build_order(shape, field.directory, paced_seconds, PACED_CONNECTIONS, rate / 2)
    half = field.load.run(paced).answered
    return Sample(
        round=number,
        shape=shape.name,
        peer=server.peer.name,
        requests=requests,
        cpu_ms=used * 1000 / requests,
        mongod_cpu_ms=mongod_used * 1000 / requests,
        requests_per_second=rate,
        busy=used / full.seconds,
        p50_ms=half.p50_ms,
        p99_ms=half.p99_ms,
        load_average=load_average(),
    )
