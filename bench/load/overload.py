"""Four times as many requests as can be answered: some are refused, the rest stay fast."""

import msgspec

from bench.data.directory import Directory
from bench.data.workloads import Workload
from bench.load.generator import LoadGenerator
from bench.load.servers import PeerServer

OVERLOAD_FACTOR = 4
CONNECTIONS_PER_WORKER = 600
"""To a worker: more than it answers at a time, so that it is the gateway that refuses."""


class Overload(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the requests, per second, and how long they waited."""

    saturation: float
    """Requests per second that are answered when no more are sent."""
    answered: float
    p50_ms: float
    p99_ms: float
    refused: float
    refused_p99_ms: float


def measure_overload(
    server: PeerServer,
    workers: int,
    shape: Workload,
    directory: Directory,
    load: LoadGenerator,
    seconds: float,
) -> Overload:
    """Sends them. Raises LoadError where one is neither answered nor refused."""
    calm = load.run(server.build_order(shape, directory, seconds, shape.connections * workers))
    saturation = calm.answered.requests / calm.seconds
    much = server.build_order(
        shape,
        directory,
        seconds,
        CONNECTIONS_PER_WORKER * workers,
        OVERLOAD_FACTOR * saturation,
        may_refuse=True,
    )
    outcome = load.run(much)
    return Overload(
        saturation=saturation,
        answered=outcome.answered.requests / outcome.seconds,
        p50_ms=outcome.answered.p50_ms,
        p99_ms=outcome.answered.p99_ms,
        refused=outcome.refused.requests / outcome.seconds,
        refused_p99_ms=outcome.refused.p99_ms,
    )
