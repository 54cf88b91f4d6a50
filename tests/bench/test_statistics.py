"""What is computed from measurements is right, on figures that are known."""

import os
import random
from dataclasses import replace
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import overload, targets
from bench.comparison import find_workloads
from bench.data.workloads import LIST, NESTED, UNIQUE, UNIT
from bench.gate import MAX_ERROR, MIN_ROUNDS, find_interval
from bench.harness import Row
from bench.load.generator import LatencySummary, due_times, percentile
from bench.overload import PATIENT_CLIENTS, measure_gateway, meets_targets
from bench.peers.by_hand import BY_HAND
from bench.peers.node import SOFA_JS
from bench.peers.peer import CACHED, UNCACHED
from bench.peers.strawberry_stock import STRAWBERRY
from bench.soak import ProcessSample, find_growth
from bench.targets import (
    MeasuredRatio,
    PerformanceTarget,
    build_rival_table,
    build_target_table,
    find_cpu_ratio,
    find_worst_ratio,
)
from tests.bench.canned import (
    CannedLoad,
    build_outcome,
    build_sample,
    build_server,
)

SEED = 4
[ONE_UNIT] = find_workloads([UNIT])


# Latencies


@given(st.lists(st.floats(0, 1e6), min_size=1), st.integers(0, 1000))
def test_a_percentile_is_the_least_value_that_enough_others_do_not_exceed(
    values: list[float], thousandths: int
) -> None:
    ordered = sorted(values)

    def is_enough(value: float) -> bool:
        return sum(other <= value for other in ordered) * 1000 >= thousandths * len(ordered)

    found = percentile(ordered, thousandths / 1000)
    assert found == next(value for value in ordered if is_enough(value))


def test_latencies_are_summarized_in_milliseconds_in_any_order() -> None:
    summary = LatencySummary.from_seconds([at / 1000 for at in range(100, 0, -1)])
    assert (summary.requests, summary.p50_ms, summary.p99_ms) == (100, 50.0, 99.0)
    assert LatencySummary.from_seconds([]) == LatencySummary(requests=0)


def test_requests_fall_due_at_the_rate_and_not_after_the_end() -> None:
    due = list(due_times(1000, 10, clock=lambda: 5.0))
    assert due == sorted(due)
    assert due[0] == 5.0 and due[-1] < 15.0
    assert len(due) == pytest.approx(10_000, rel=0.05)
    assert list(due_times(0.001, 0.1, clock=lambda: 5.0)) == [5.0]  # one at least


def test_without_a_rate_requests_fall_due_at_once_until_the_time_is_over() -> None:
    clock = iter([0.0, 0.1, 0.6, 1.0]).__next__
    assert list(due_times(None, 1.0, clock)) == [0.1, 0.6]


# The gate: is a revision worse than another?


@given(st.lists(st.floats(0.1, 10), min_size=MIN_ROUNDS, max_size=60), st.randoms())
def test_the_median_is_in_its_interval_whatever_the_order(
    ratios: list[float], picked: random.Random
) -> None:
    found = find_interval(ratios)
    assert min(ratios) <= found.lower <= found.median <= found.upper <= max(ratios)
    assert find_interval(picked.sample(ratios, len(ratios))) == found


@pytest.mark.parametrize("count", [MIN_ROUNDS, MIN_ROUNDS + 1, 24, 59])
def test_the_interval_is_the_narrowest_that_is_certain_enough(count: int) -> None:
    """So many tosses of a coin have `outside` heads or fewer rarely enough, one more does not."""
    outside = find_interval([float(number) for number in range(count)]).lower
    chances = [comb(count, heads) / 2**count for heads in range(count)]
    assert sum(chances[: int(outside) + 1]) <= MAX_ERROR < sum(chances[: int(outside) + 2])


def test_too_few_ratios_have_no_interval() -> None:
    with pytest.raises(ValueError, match="7 ratios are too few, at least 8 are needed"):
        find_interval([1.0] * (MIN_ROUNDS - 1))


def test_a_tenth_more_is_worse_and_noise_is_not() -> None:
    picked = random.Random(SEED)
    noise = find_interval([picked.gauss(1, 0.1) for _ in range(24)])
    assert not noise.is_worse and not noise.is_better
    assert find_interval([1.1 + picked.gauss(0, 0.05) for _ in range(24)]).is_worse
    assert not find_interval([1.0] * 23 + [9.0]).is_worse
    assert find_interval([0.9] * 24).is_better


# Ratios between peers, and targets


def test_ratios_compare_within_a_round_that_both_took_part_in() -> None:
    cpu_ms = {
        **{("mine", 0): 2.0, ("mine", 1): 12.0, ("mine", 2): 99.0},
        **{("theirs", 0): 1.0, ("theirs", 1): 4.0, ("theirs", 3): 99.0},
    }
    samples = [build_sample(peer, value, round=round) for (peer, round), value in cpu_ms.items()]
    assert find_cpu_ratio(samples, UNIT, "mine", "theirs") == 2.5
    assert find_cpu_ratio(samples, LIST, "mine", "theirs") is None
    too_quick = [build_sample("mine", 2.0), build_sample("theirs", 0.0)]
    assert find_cpu_ratio(too_quick, UNIT, "mine", "theirs") is None


def test_the_worst_workload_and_the_reference_that_is_hardest_to_beat_count() -> None:
    target = PerformanceTarget("", "mine", (UNIT, LIST), ("a", "b"), "", 1.0)
    samples = [
        *(build_sample("mine", ms, round=at) for at, ms in enumerate([99.0, 1.0, 6.0])),
        build_sample("mine", 6.0, LIST),
        *(build_sample("a", 3.0, round=at) for at in range(3)),
        *(build_sample("b", 2.0, round=at) for at in range(3)),
        build_sample("a", 4.0, LIST),
    ]
    assert find_worst_ratio(target, samples) == MeasuredRatio(3.0, UNIT, "b")


@pytest.mark.parametrize(
    ("measured", "most", "expected"),
    [
        (1.15, 1.15, "met"),
        (1.38, 1.15, "missed by 20 %"),
        (2.3, 1.15, "missed 2.0 times over"),
    ],
)
def test_a_missed_bound_says_by_how_much(measured: float, most: float, expected: str) -> None:
    assert targets.verdict(measured, most) == expected


def build_rows(*rows: Row) -> list[tuple[str, ...]]:
    return [tuple(row) for row in build_target_table(rows).rows]


def test_each_target_is_shown_with_what_was_measured() -> None:
    samples = (
        build_sample(UNCACHED.name, 1.0, NESTED),
        build_sample(STRAWBERRY.name, 4.0, NESTED),
        build_sample(UNCACHED.name, 3.0, LIST, p50_ms=2.0, p99_ms=20.0),
        build_sample(SOFA_JS.name, 2.0, LIST),
        build_sample(BY_HAND.name, 3.0, LIST),
        build_sample(CACHED.name, 1.0, UNIT, p50_ms=1.0, p99_ms=5.0),
        build_sample(CACHED.name, 1.0, UNIQUE[0], p99_ms=99.0),  # is never a hit
    )
    rows = build_rows(*samples)
    shown = {row[:2]: row[3:] for row in rows}
    assert ("4.0 x less", "missed 2.0 times over") in [row[3:] for row in rows]
    [worst] = [row for row in rows if row[:2] == ("every workload", "off")]
    assert worst[3].startswith("1.50 x (1,000 units") and worst[4] == "missed by 50 %"
    assert shown["tail of hits", "on"] == ("5.0 x (one unit)", "met")
    assert shown["tail of misses", "off"] == ("10.0 x (1,000 units)", "missed by 25 %")
    assert shown["304", "on"] == ("–", "not measured")
    assert shown["places where a peer takes less CPU", "off, on"] == ("1", "met")
    assert build_rival_table(samples).rows == [("1,000 units", "off", SOFA_JS.title, "0.67 x")]


FRESH = {"writes": 9, "stale at once": 0, "p99 ms": 0, "queries a read": 0}
LATE = {"writes": 9, "stale at once": 3, "p99 ms": 70, "queries a read": 0}
NOT_CACHED = {"writes": 9, "stale at once": 0, "p99 ms": 0, "queries a read": 2}


def test_staleness_is_met_where_writes_show_in_time_in_reads_that_are_cached() -> None:
    def verdicts(*rows: Row) -> list[str]:
        through = (targets.OTHER_UNCACHED, targets.OTHER, targets.SAME)
        stale = [row | {"read through": each} for row, each in zip(rows, through, strict=True)]
        shown = build_rows(*stale)
        return [row[-1].split()[0] for row in shown if row[0] == "staleness after a write"]

    assert verdicts(NOT_CACHED, FRESH, FRESH) == ["met", "met", "met"]
    assert verdicts(LATE, LATE, LATE) == ["missed", "missed", "missed"]
    assert verdicts(NOT_CACHED, NOT_CACHED, NOT_CACHED) == ["met", "says", "says"]


# Overload


MET: Row = {
    "gateway": "Floorgate",
    "times peak": 4,
    "of peak": 0.8,
    "refused/s": 3000.0,
    "refused p99 ms": 9.9,
    "recovered s": 5.0,
}


def test_each_overload_is_a_multiple_of_the_peak_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    load = CannedLoad(
        build_outcome(1.0, 500), build_outcome(1.0, 450, 1550), build_outcome(0.5, 250),
        build_outcome(1.0, 600), build_outcome(1.0, 420, 3580), build_outcome(0.5, 300),
    )  # fmt: skip
    server = replace(build_server(*map(float, range(99))), pid=os.getpid())
    patient = CannedLoad(build_outcome(1.0, 5, 15), build_outcome(1.0, 4, 16))
    monkeypatch.setattr(overload, "RECOVERY_SECONDS", 60.0)
    samples = list(measure_gateway(server, ONE_UNIT, load, patient, 1.0))
    assert [order.rate for order in patient.orders] == [PATIENT_CLIENTS] * 2
    assert [sample["refused p99 ms"] for sample in samples] == [19.0, 20.0]
    assert [order.rate for order in load.orders] == [None, 2000.0, None, None, 4800.0, None]
    shown = [(sample["peak/s"], sample["of peak"], sample["refused/s"]) for sample in samples]
    assert shown == [(500.0, 0.9, 1550.0), (600.0, 0.7, 3580.0)]


@pytest.mark.parametrize(
    "missed", [{"of peak": 0.79}, {"refused p99 ms": 10.0}, {"recovered s": 5.1}]
)
def test_each_target_of_an_overload_counts(missed: Row) -> None:
    assert meets_targets(MET)
    assert not meets_targets(MET | missed)


# Soak


def test_a_soaked_process_may_grow_while_it_warms_up_and_by_5_percent_and_5_megabytes() -> None:
    def grow(*megabytes: float) -> list[str]:
        return find_growth("worker", [ProcessSample(figure, 50) for figure in megabytes])

    assert grow(100, 200, 300, 300, 300, 301, 299, 302) == []
    assert grow(90, 100, 100, 110) == []
    assert grow(90, 100, 100, 111) == ["worker: memory grew from 100.0 to 111.0 MB"]
    assert grow(*[100.0] * 11, 300) == []  # one sample is no growth


def test_descriptors_that_are_not_closed_are_growth() -> None:
    leaking = [ProcessSample(100, count) for count in (50, 50, 50, 56)]
    assert find_growth("worker", leaking) == ["worker: open descriptors grew from 50 to 56"]
