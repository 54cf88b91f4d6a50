"""Ratios compare runs that were close in time."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.data.workloads import LIST, UNIT
from bench.report.results import Results, Spread, add_results, cpu_ratios
from tests.bench.report.measured import build_results, build_sample


def test_ratios_compare_within_a_round() -> None:
    cpu_ms = {("mine", 0): 2.0, ("mine", 1): 12.0, ("theirs", 0): 1.0, ("theirs", 1): 4.0}
    samples = [build_sample(peer, value, round=round) for (peer, round), value in cpu_ms.items()]
    assert cpu_ratios(samples, UNIT, "mine", "theirs") == Spread(2.5, 2.0, 3.0)


def test_a_round_that_one_of_the_two_did_not_take_part_in_does_not_count() -> None:
    samples = [
        build_sample("mine", 2.0, round=0),
        build_sample("mine", 8.0, round=1),
        build_sample("theirs", 2.0, round=1),
        build_sample("theirs", 5.0, round=2),
        build_sample("theirs", 1.0, LIST, round=0),
    ]
    assert cpu_ratios(samples, UNIT, "mine", "theirs") == Spread(4.0, 4.0, 4.0)


def test_a_reference_too_quick_for_the_clock_gives_no_ratio() -> None:
    samples = [build_sample("mine", 2.0), build_sample("theirs", 0.0)]
    assert cpu_ratios(samples, UNIT, "mine", "theirs") is None


def test_there_is_no_ratio_to_a_peer_that_does_not_serve_the_workload() -> None:
    assert cpu_ratios([build_sample("mine", 1.0)], UNIT, "mine", "theirs") is None


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_a_spread_is_the_middle_and_both_ends(values: list[float]) -> None:
    spread = Spread.from_values(values)
    assert (spread.minimum, spread.maximum) == (min(values), max(values))
    assert 2 * sum(value < spread.median for value in values) <= len(values)
    assert 2 * sum(value > spread.median for value in values) <= len(values)


@pytest.mark.parametrize(
    ("workload", "peer", "found"), [(UNIT, "a", [1.0, 2.0]), (LIST, "a", [3.0]), (LIST, "b", [])]
)
def test_samples_are_found_by_workload_and_peer(
    workload: str, peer: str, found: list[float]
) -> None:
    results = build_results(
        build_sample("a", 1.0), build_sample("a", 2.0, round=1), build_sample("a", 3.0, LIST)
    )
    assert [sample.cpu_ms for sample in results.samples_of(workload, peer)] == found


def test_results_can_be_shown_again_from_their_file() -> None:
    results = build_results(build_sample("a", 1.0))
    assert msgspec.json.decode(msgspec.json.encode(results), type=Results) == results


def test_a_later_run_replaces_whole_workloads_and_keeps_the_others() -> None:
    earlier = build_results(
        build_sample("a", 1.0, UNIT), build_sample("b", 1.0, UNIT), build_sample("a", 1.0, LIST)
    )
    later = build_results(build_sample("a", 2.0, UNIT))
    added = add_results(earlier, later)
    assert [(x.workload, x.peer, x.cpu_ms) for x in added.samples] == [
        (LIST, "a", 1.0),
        (UNIT, "a", 2.0),
    ]
    assert added.titles == {**earlier.titles, **later.titles}
