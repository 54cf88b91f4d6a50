"""The rounds: every peer under the same load in turn, so that ratios compare neighbours in time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from bench.directory import Directory
from bench.load import put
from bench.machine import cpu_seconds, load_average
from bench.serving import Server
from bench.shapes import Shape

CONNECTIONS = 8
"""Enough to keep one core busy while MongoDB answers."""
PACED_CONNECTIONS = 32
"""More than are ever busy at half of saturation."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How long to measure."""

    rounds: int
    seconds: float
    """Of each load."""
    warm_up_seconds: float


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
    p50_ms: float
    """At half of it, as is p99."""
    p99_ms: float
    load_average: float


def warm_up(
    servers: Sequence[Server], shapes: Sequence[Shape], directory: Directory, seconds: float
) -> None:
    """Loads what is loaded late, opens the connections to MongoDB, fills its cache."""
    for shape in shapes:
        for server in servers:
            put(server.order(shape.paths(directory), seconds, CONNECTIONS))


def measure(
    servers: Sequence[Server],
    shapes: Sequence[Shape],
    directory: Directory,
    effort: Effort,
    mongod_pid: int,
) -> Iterator[Sample]:
    """Interleaved: in each round every shape on every peer, in turning order."""
    for number in range(effort.rounds):
        turned = servers if number % 2 == 0 else servers[::-1]
        for shape in shapes:
            for server in turned:
                yield _sample(number, server, shape, directory, effort.seconds, mongod_pid)


def _sample(
    number: int,
    server: Server,
    shape: Shape,
    directory: Directory,
    seconds: float,
    mongod_pid: int,
) -> Sample:
    paths = shape.paths(directory)
    before, mongod_before = cpu_seconds(server.pid), cpu_seconds(mongod_pid)
    full = put(server.order(paths, seconds, CONNECTIONS))
    used, mongod_used = (
        cpu_seconds(server.pid) - before,
        cpu_seconds(mongod_pid) - mongod_before,
    )
    rate = full.requests / full.seconds
    half = put(server.order(paths, seconds, PACED_CONNECTIONS, rate / 2))
    return Sample(
        round=number,
        shape=shape.name,
        peer=server.peer.name,
        requests=full.requests,
        cpu_ms=used * 1000 / full.requests,
        mongod_cpu_ms=mongod_used * 1000 / full.requests,
        requests_per_second=rate,
        p50_ms=half.p50_ms,
        p99_ms=half.p99_ms,
        load_average=load_average(),
    )
