"""Peers, loads and results with known figures: what is computed from them can be checked."""

import http.client
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.data.directory import Directory
from bench.data.requests import LoadRequest
from bench.data.workloads import UNIT
from bench.load.generator import LatencySummary, LoadGenerator, LoadOrder, LoadOutcome
from bench.load.rounds import Sample
from bench.load.servers import PeerServer, Reply
from bench.peers.by_hand import BY_HAND
from bench.peers.floorgate import CACHED, UNCACHED
from bench.peers.node import SOFA_JIT, SOFA_JS
from bench.peers.peer import Peer
from bench.peers.raw import RAW
from bench.peers.strawberry_stock import STRAWBERRY
from bench.report.results import Results
from bench.report.staleness_table import Staleness

DIRECTORY = Directory("", os.getpid(), "", "", ["a", "b"], ["l", "m"], Path())
PEER = Peer("peer", "Peer", lambda port: [], lambda directory: {})
PEERS = (UNCACHED, CACHED, RAW, BY_HAND, STRAWBERRY, SOFA_JS, SOFA_JIT)


@dataclass(frozen=True, slots=True)
class CannedServer(PeerServer):
    """A server that has used so much CPU time whenever it is asked, and answers with an ETag."""

    used_seconds: Iterator[float] = field(default_factory=lambda: iter(()))
    body: bytes = b"{}"

    def cpu_seconds(self) -> float:
        return next(self.used_seconds)

    def request(self, request: LoadRequest) -> Reply:
        headers = http.client.HTTPMessage()
        headers["etag"] = f'"{request.path}"'
        return Reply(200, headers, self.body)


def build_server(
    *used_seconds: float,
    name: str = "peer",
    workloads: frozenset[str] | None = None,
    body: str = "{}",
) -> CannedServer:
    peer = replace(PEER, name=name, workloads=workloads)
    return CannedServer(peer, 0, 80, {"API-Key": "k"}, iter(used_seconds), body.encode())


class CannedLoad(LoadGenerator):
    """Has these outcomes in turn, and keeps its orders."""

    def __init__(self, *outcomes: LoadOutcome) -> None:
        self._outcomes = iter(outcomes)
        self.orders: list[LoadOrder] = []

    def run(self, order: LoadOrder) -> LoadOutcome:
        self.orders.append(order)
        return next(self._outcomes)


def build_outcome(seconds: float, answered: int, refused: int = 0) -> LoadOutcome:
    """Return an outcome with distinct latencies."""
    return LoadOutcome(
        seconds=seconds,
        answered=LatencySummary(requests=answered, p50_ms=1.0 + answered, p99_ms=2.0 + answered),
        refused=LatencySummary(requests=refused, p50_ms=3.0 + refused, p99_ms=4.0 + refused),
    )


def build_sample(
    peer: str, cpu_ms: float, workload: str = UNIT, round: int = 0, **more: Any
) -> Sample:
    given = {"busy": 1.0, "requests_per_second": 1.0, "p50_ms": 1.0, "p99_ms": 1.0} | more
    return Sample(
        round=round,
        workload=workload,
        peer=peer,
        requests=1,
        cpu_ms=cpu_ms,
        mongod_cpu_ms=0,
        load_average=0,
        **given,
    )


def build_results(*samples: Sample, staleness: Staleness | None = None) -> Results:
    return Results(
        taken_at="2026-01-31T12:00:00+00:00",
        machine={"processor": "Any", "cores": 2, "python": "3.11", "packages": {"orjson": "3"}},
        units=1_000,
        rounds=1,
        seconds=1.0,
        titles={peer.name: peer.title for peer in PEERS},
        left_out=[],
        samples=list(samples),
        starts=[],
        memory=[],
        staleness=staleness,
    )
