"""Measure overload: at four times saturation some requests are shed, the rest stay fast."""

import msgspec

from bench.data.directory import Directory
from bench.data.workloads import Workload
from bench.load.generator import LoadGenerator
from bench.load.servers import PeerServer

OVERLOAD_FACTOR = 4
CONNECTIONS_PER_WORKER = 600
"""More than a worker answers at a time, so that the gateway has to shed load."""


class Overload(msgspec.Struct, frozen=True, kw_only=True):
    """Answered and refused requests per second, and their latencies."""

    saturation: float
    """Requests per second at saturation."""
    answered: float
    p50_ms: float
    p99_ms: float
    refused: float
    refused_p99_ms: float


def measure_overload(
    server: PeerServer,
    workers: int,
    workload: Workload,
    directory: Directory,
    load: LoadGenerator,
    seconds: float,
) -> Overload:
    """Measure saturation, then overload. Raises LoadError for an answer other than 200 or 503."""
    saturated = load.run(
        server.build_order(workload, directory, seconds, workload.connections * workers)
    )
    saturation = saturated.answered.requests / saturated.seconds
    order = server.build_order(
        workload,
        directory,
        seconds,
        CONNECTIONS_PER_WORKER * workers,
        OVERLOAD_FACTOR * saturation,
        may_refuse=True,
    )
    outcome = load.run(order)
    return Overload(
        saturation=saturation,
        answered=outcome.answered.requests / outcome.seconds,
        p50_ms=outcome.answered.p50_ms,
        p99_ms=outcome.answered.p99_ms,
        refused=outcome.refused.requests / outcome.seconds,
        refused_p99_ms=outcome.refused.p99_ms,
    )
