"""Results as small as a test needs them."""

from typing import Any

from bench.data.workloads import UNIT
from bench.load.rounds import Sample
from bench.peers.by_hand import BY_HAND
from bench.peers.floorgate import CACHED, UNCACHED
from bench.peers.node import SOFA_JIT, SOFA_JS
from bench.peers.raw import RAW
from bench.peers.strawberry_stock import STRAWBERRY
from bench.report.results import Results
from bench.report.staleness_table import Staleness

PEERS = (UNCACHED, CACHED, RAW, BY_HAND, STRAWBERRY, SOFA_JS, SOFA_JIT)


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
