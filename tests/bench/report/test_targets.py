"""Each target is shown with what was measured, and as met, missed or not measured."""

from typing import Any

import pytest

from bench.data.workloads import LIST, NESTED, NOT_MODIFIED, UNIQUE, UNIT, WORKLOADS
from bench.peers.by_hand import BY_HAND
from bench.peers.fastapi_peers import WITH_BYTES, WITH_MODELS
from bench.peers.floorgate import CACHED, UNCACHED
from bench.peers.node import SOFA_JIT, SOFA_JS
from bench.peers.raw import RAW
from bench.peers.strawberry_stock import STRAWBERRY
from bench.report import targets
from bench.report.results import Results
from bench.report.staleness_table import Staleness, StalenessSample
from bench.report.targets import (
    TAIL_TARGETS,
    TARGETS,
    MeasuredRatio,
    PerformanceTarget,
    find_worst_ratio,
)
from tests.bench.report.measured import PEERS, build_results, build_sample


@pytest.mark.parametrize(
    ("measured", "most", "expected"),
    [
        (1.1, 1.15, "met"),
        (1.15, 1.15, "met"),
        (1.38, 1.15, "missed by 20 %"),
        (2.3, 1.15, "missed 2.0 times over"),
    ],
)
def test_a_missed_bound_says_by_how_much(measured: float, most: float, expected: str) -> None:
    assert targets.verdict(measured, most) == expected


def _row(results: Results, *begins: str) -> tuple[str, ...]:
    rows = [tuple(row) for row in targets.build_table(results).rows]
    return next(row for row in rows if row[: len(begins)] == begins)


def test_a_bound_below_one_is_shown_the_other_way_round() -> None:
    results = build_results(
        build_sample(UNCACHED.name, 1.0, LIST), build_sample(STRAWBERRY.name, 10.0, LIST)
    )
    assert _row(results, "list of 1,000 units", "off", "at least 8 x less than stock strawberry")[
        3:
    ] == ("10.0 x less", "met")


@pytest.mark.parametrize(
    ("own", "other", "begins", "measured"),
    [
        ((UNCACHED, LIST, 1.1), (BY_HAND, 1.0), "at most 1.1 x the hand-written limit", "1.10 x"),
        ((UNCACHED, LIST, 2.3), (BY_HAND, 1.0), "at most 1.1 x the hand-written limit", "2.30 x"),
        ((CACHED, LIST, 1.0), (RAW, 2.0), "at most 2 x raw ready bytes", "0.50 x"),
        ((CACHED, NOT_MODIFIED, 3.0), (RAW, 1.0), "at most 1.5 x raw ready bytes", "3.00 x"),
        ((UNCACHED, NESTED, 1.0), (STRAWBERRY, 8.0), "at least 8 x less than", "8.0 x less"),
        ((UNCACHED, NESTED, 1.0), (STRAWBERRY, 4.0), "at least 8 x less than", "4.0 x less"),
        ((UNCACHED, NESTED, 3.0), (STRAWBERRY, 1.0), "at least 8 x less than", "3.0 x more"),
    ],
)
def test_a_target_is_met_only_within_its_bound(
    own: Any, other: Any, begins: str, measured: str
) -> None:
    """Whether the verdict is right follows from the figures in the row itself."""
    (peer, workload, cpu_ms), (reference, reference_ms) = own, other
    results = build_results(
        build_sample(peer.name, cpu_ms, workload),
        build_sample(reference.name, reference_ms, workload),
    )
    [row] = [
        row
        for row in targets.build_table(results).rows
        if row[2].startswith(begins) and row[3] == measured
    ]
    [target] = [
        target
        for target in TARGETS
        if (target.peer, target.workloads, target.reference_peers)
        == (peer.name, (workload,), (reference.name,))
    ]
    is_met = cpu_ms / reference_ms <= target.max_ratio
    assert row[1] == ("on" if peer is CACHED else "off")
    assert (row[4] == "met") == is_met
    assert row[4].startswith("met" if is_met else "missed")


def test_of_every_workload_the_worst_counts() -> None:
    results = build_results(
        build_sample(UNCACHED.name, 1.0, UNIT),
        build_sample(SOFA_JS.name, 2.0, UNIT),
        build_sample(UNCACHED.name, 3.0, LIST),
        build_sample(SOFA_JS.name, 2.0, LIST),
    )
    row = _row(results, "every workload", "off")
    assert row[3].startswith("1.50 x (1,000 units")
    assert row[4] == "missed by 50 %"


def test_of_several_references_the_one_that_is_hardest_to_beat_counts() -> None:
    target = PerformanceTarget("", "mine", (UNIT, LIST), ("a", "b"), "", 1.0)
    results = build_results(
        *(build_sample("mine", 6.0, workload) for workload in (UNIT, LIST)),
        build_sample("a", 3.0, UNIT),
        build_sample("b", 2.0, UNIT),
        build_sample("a", 4.0, LIST),
    )
    assert find_worst_ratio(target, results) == MeasuredRatio(3.0, UNIT, "b")


def test_the_median_of_the_rounds_counts() -> None:
    target = PerformanceTarget("", "mine", (UNIT,), ("a",), "", 1.0)
    results = build_results(
        *(build_sample("mine", ms, round=at) for at, ms in enumerate([9.0, 1.0, 2.0])),
        *(build_sample("a", 1.0, round=at) for at in range(3)),
    )
    assert find_worst_ratio(target, results) == MeasuredRatio(2.0, UNIT, "a")


def test_what_was_not_measured_is_not_claimed() -> None:
    results = build_results(build_sample(UNCACHED.name, 1.0))
    assert _row(results, "304")[3:] == ("–", "not measured")


def test_a_run_that_measured_nothing_claims_nothing() -> None:
    rows = targets.build_table(build_results()).rows
    assert len(rows) == len(TARGETS) + len(TAIL_TARGETS)
    assert {(row[3], row[4]) for row in rows} == {("–", "not measured")}


def test_targets_name_peers_and_workloads_that_exist() -> None:
    known = {peer.name for peer in (*PEERS, WITH_BYTES, WITH_MODELS)}
    for target in TARGETS:
        assert target.peer in (UNCACHED.name, CACHED.name)
        assert target.workloads and target.reference_peers and target.max_ratio > 0
        assert {*target.workloads} <= {workload.name for workload in WORKLOADS}
        assert {*target.reference_peers} <= known


def test_the_tail_of_the_workload_with_the_longest_counts() -> None:
    results = build_results(
        build_sample(CACHED.name, 1.0, UNIT, p50_ms=1.0, p99_ms=5.0),
        build_sample(CACHED.name, 1.0, LIST, p50_ms=2.0, p99_ms=8.0),
        build_sample(UNCACHED.name, 1.0, UNIT, p50_ms=1.0, p99_ms=8.0),
        build_sample(UNCACHED.name, 1.0, LIST, p50_ms=2.0, p99_ms=20.0),
    )
    assert _row(results, "tail of hits", "on")[3:] == ("5.0 x (one unit)", "met")
    assert _row(results, "tail of misses", "off")[3:] == ("10.0 x (1,000 units)", "missed by 25 %")


def test_the_tail_of_what_no_cache_can_have_is_no_tail_of_hits() -> None:
    results = build_results(build_sample(CACHED.name, 1.0, UNIQUE[0], p99_ms=99.0))
    assert _row(results, "tail of hits", "on")[3:] == ("–", "not measured")


def test_a_peer_that_wins_is_named_with_what_it_takes() -> None:
    results = build_results(
        build_sample(UNCACHED.name, 4.0),
        build_sample(CACHED.name, 0.5),
        build_sample(SOFA_JIT.name, 1.0),
    )
    assert targets.build_rival_table(results).rows == [
        ("one unit", "off", SOFA_JIT.title, "0.25 x")
    ]


def test_a_limit_is_no_peer_to_win() -> None:
    results = build_results(build_sample(UNCACHED.name, 4.0), build_sample(BY_HAND.name, 1.0))
    assert targets.build_rival_table(results).rows[0][0] == "nowhere"


FRESH = StalenessSample(writes=9, stale_reads=0, p50_ms=0, p99_ms=0, max_ms=0, finds=0)
LATE = StalenessSample(writes=9, stale_reads=3, p50_ms=1, p99_ms=70, max_ms=80, finds=0)
NOT_CACHED = StalenessSample(writes=9, stale_reads=0, p50_ms=0, p99_ms=0, max_ms=0, finds=2)


def _staleness_verdicts(
    uncached: StalenessSample, cached: StalenessSample, same: StalenessSample
) -> list[str]:
    results = build_results(staleness=Staleness(uncached=uncached, cached=cached, same=same))
    rows = targets.build_table(results).rows
    return [row[-1] for row in rows if row[0] == "staleness after a write"]


def test_staleness_is_met_where_writes_show_in_time() -> None:
    assert _staleness_verdicts(NOT_CACHED, FRESH, FRESH) == ["met", "met", "met"]
    assert _staleness_verdicts(LATE, LATE, LATE) == ["missed", "missed", "missed"]


def test_a_read_that_is_not_kept_cannot_show_that_a_cache_is_exact() -> None:
    uncached, *cached = _staleness_verdicts(NOT_CACHED, NOT_CACHED, NOT_CACHED)
    assert uncached == "met"
    assert all(verdict.startswith("says nothing") for verdict in cached)
