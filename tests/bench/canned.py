"""Peers, loads and samples with known figures: what is computed from them can be checked."""

import http.client
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench.data.directory import Directory
from bench.data.workloads import UNIT, LoadRequest
from bench.harness import Row
from bench.load.generator import LatencySummary, LoadGenerator, LoadOrder, LoadOutcome
from bench.load.servers import PeerServer, Reply
from bench.peers.peer import Peer

DIRECTORY = Directory("", os.getpid(), "", "", ["a", "b"], ["l", "m"], Path())
PEER = Peer("peer", "Peer", lambda port: [], lambda directory: {})


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
    return CannedServer(peer, DIRECTORY, 0, 80, used_seconds=iter(used_seconds), body=body.encode())


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
) -> Row:
    figures = {"mongod_cpu_ms": 0.0, "busy": 1.0, "requests_per_second": 1.0}
    latencies = {"p50_ms": 1.0, "p99_ms": 1.0}
    own = {"round": round, "workload": workload, "peer": peer, "cpu_ms": cpu_ms}
    return figures | latencies | own | more
