"""Four times as many requests as can be answered: some are refused, the rest stay fast."""

import msgspec

from bench.directory import Directory
from bench.load import Load
from bench.serving import Server
from bench.shapes import Shape

TIMES = 4
CONNECTIONS = 600
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


def overload(
    server: Server, workers: int, shape: Shape, directory: Directory, load: Load, seconds: float
) -> Overload:
    """Sends them. Raises LoadError where one is neither answered nor refused."""
    calm = load.put(server.order(shape, directory, seconds, shape.connections * workers))
    saturation = calm.answered.requests / calm.seconds
    much = server.order(
        shape, directory, seconds, CONNECTIONS * workers, TIMES * saturation, may_refuse=True
    )
    outcome = load.put(much)
    return Overload(
        saturation=saturation,
        answered=outcome.answered.requests / outcome.seconds,
        p50_ms=outcome.answered.p50_ms,
        p99_ms=outcome.answered.p99_ms,
        refused=outcome.refused.requests / outcome.seconds,
        refused_p99_ms=outcome.refused.p99_ms,
    )
