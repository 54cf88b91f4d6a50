"""Rounds: every peer under the same load in turn, so that ratios compare runs close in time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from bench.data.directory import Directory
from bench.data.workloads import Workload
from bench.load.generator import LoadGenerator
from bench.load.machine import cpu_seconds, load_average
from bench.load.servers import PeerServer

PACED_CONNECTIONS = 32
"""More than are ever busy at half of saturation, so that requests do not queue for one."""
MIN_PACED_REQUESTS = 5
"""Minimum number of requests in a paced load, however slow the peer."""


@dataclass(frozen=True, slots=True)
class RoundSettings:
    """Number and length of measurements."""

    rounds: int
    seconds: float
    """Duration of each load."""


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """One peer, one workload, one round."""

    round: int
    workload: str
    peer: str
    requests: int
    cpu_ms: float
    """Server CPU per request at saturation."""
    mongod_cpu_ms: float
    requests_per_second: float
    """Rate at saturation."""
    busy: float
    """Share of its core that the server used at saturation; threads can take it above 1."""
    p50_ms: float
    """Latency at half of saturation, like p99."""
    p99_ms: float
    load_average: float


@dataclass(frozen=True, slots=True)
class BenchmarkSetup:
    """Servers, workloads, data and the load generator of a run."""

    servers: Sequence[PeerServer]
    workloads: Sequence[Workload]
    directory: Directory
    load: LoadGenerator

    def list_pairs(self) -> list[tuple[Workload, PeerServer]]:
        """Return each workload with every server that serves it."""
        return [
            (workload, server)
            for workload in self.workloads
            for server in self.servers
            if server.peer.serves(workload.name)
        ]


def warm_up(setup: BenchmarkSetup, seconds: float) -> Iterator[None]:
    """Warm up lazy imports, JIT compilers, MongoDB's cache and connection pools."""
    for workload, server in setup.list_pairs():
        setup.load.run(server.build_order(workload, setup.directory, seconds, workload.connections))
        yield


def measure_rounds(setup: BenchmarkSetup, settings: RoundSettings) -> Iterator[Sample]:
    """Yield a sample of every workload and peer per round, in alternating order."""
    for number in range(settings.rounds):
        pairs = setup.list_pairs()
        for workload, server in pairs if number % 2 == 0 else pairs[::-1]:
            yield _measure_sample(setup, number, server, workload, settings.seconds)


def _measure_sample(
    setup: BenchmarkSetup, number: int, server: PeerServer, workload: Workload, seconds: float
) -> Sample:
    saturating = server.build_order(workload, setup.directory, seconds, workload.connections)
    before = server.cpu_seconds(), cpu_seconds(setup.directory.mongod_pid)
    full = setup.load.run(saturating)
    after = server.cpu_seconds(), cpu_seconds(setup.directory.mongod_pid)
    used, mongod_used = (end - start for start, end in zip(before, after, strict=True))
    requests = full.answered.requests
    rate = requests / full.seconds
    paced_seconds = max(seconds, MIN_PACED_REQUESTS / (rate / 2))
    paced = server.build_order(
        workload, setup.directory, paced_seconds, PACED_CONNECTIONS, rate / 2
    )
    half = setup.load.run(paced).answered
    return Sample(
        round=number,
        workload=workload.name,
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
