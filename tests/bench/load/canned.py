"""A peer and a load with known figures, so that what is computed from them can be checked."""

import http.client
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from bench.data.directory import Directory
from bench.data.requests import LoadRequest
from bench.load.generator import LatencySummary, LoadGenerator, LoadOrder, LoadOutcome
from bench.load.servers import PeerServer, Reply
from bench.peers.peer import Peer

DIRECTORY = Directory("", os.getpid(), "", "", ["a", "b"], ["l", "m"], Path())
PEER = Peer("peer", "Peer", lambda port: [], lambda directory: {})


@dataclass(frozen=True, slots=True)
class CannedServer(PeerServer):
    """A server that has used so much CPU time whenever it is asked, and answers with an ETag."""

    used_seconds: Iterator[float] = field(default_factory=lambda: iter(()))

    def cpu_seconds(self) -> float:
        return next(self.used_seconds)

    def request(self, request: LoadRequest) -> Reply:
        headers = http.client.HTTPMessage()
        headers["etag"] = f'"{request.path}"'
        return Reply(200, headers, b"{}")


def build_server(
    *used_seconds: float, name: str = "peer", workloads: frozenset[str] | None = None
) -> CannedServer:
    peer = replace(PEER, name=name, workloads=workloads)
    return CannedServer(peer, 0, 80, {"API-Key": "k"}, iter(used_seconds))


class CannedLoad(LoadGenerator):
    """Has these outcomes in turn, and keeps its orders."""

    def __init__(self, *outcomes: LoadOutcome) -> None:
        self._outcomes = iter(outcomes)
        self.orders: list[LoadOrder] = []

    def run(self, order: LoadOrder) -> LoadOutcome:
        self.orders.append(order)
        return next(self._outcomes)


def build_outcome(seconds: float, answered: int, refused: int = 0) -> LoadOutcome:
    """An outcome with distinct latencies."""
    return LoadOutcome(
        seconds=seconds,
        answered=LatencySummary(requests=answered, p50_ms=1.0 + answered, p99_ms=2.0 + answered),
        refused=LatencySummary(requests=refused, p50_ms=3.0 + refused, p99_ms=4.0 + refused),
    )
