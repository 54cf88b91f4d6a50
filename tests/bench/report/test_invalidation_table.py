"""The tables of invalidation: which target is met, and what was read and missed meanwhile."""

import msgspec
import pytest

from bench.load.generator import LatencySummary
from bench.report.invalidation_table import (
    CommitSample,
    Invalidation,
    KindSample,
    RoundSample,
    build_tables,
)


def build_round(title: str, reads: int, misses: int, stale: int = 0) -> RoundSample:
    kinds = [
        KindSample(title="a unit", reader="all", share=75, reads=reads - 100, misses=0),
        KindSample(title="assignments", reader="one", share=25, reads=100, misses=misses),
        KindSample(title="a map", reader="one", share=0, reads=0, misses=0),
    ]
    return RoundSample(
        title=title,
        kinds=kinds,
        unconfirmed=0,
        made=[],
        seconds=2.0,
        checked=reads,
        stale=stale,
        limit_ms=0.0 if title == "same" else 10.0,
        latest_ms=4.26,
        ordered_per_second=100.0,
        writes=LatencySummary(requests=200, p50_ms=8.0, p99_ms=9.0),
        waits=LatencySummary(requests=200, p50_ms=2.0, p99_ms=3.0),
    )


def build_result(
    other: RoundSample | None = None,
    spread: RoundSample | None = None,
    stale: int = 0,
    p99_ms: float = 9.9,
) -> Invalidation:
    return Invalidation(
        assets=1000,
        cached=10_102,
        commits=CommitSample(writes=300, p50_ms=0.0, p99_ms=p99_ms, max_ms=22.0),
        other=other or build_round("other", 1000, 1),
        same=build_round("same", 1000, 0, stale),
        spread=spread or build_round("spread", 1000, 50),
        load=1.5,
    )


def verdicts(result: Invalidation) -> list[str]:
    return [row[-1] for row in build_tables(result)[0].rows]


def test_all_targets_are_met_at_their_bounds() -> None:
    assert verdicts(build_result()) == ["met"] * 7


@pytest.mark.parametrize(
    ("result", "missed"),
    [
        (build_result(other=build_round("other", 1000, 2)), 0),
        (build_result(spread=build_round("spread", 1000, 51)), 2),
        (build_result(stale=1), 4),
        (build_result(p99_ms=10.0), 6),
    ],
)
def test_a_target_that_is_missed_is_marked(result: Invalidation, missed: int) -> None:
    assert [at for at, verdict in enumerate(verdicts(result)) if verdict == "missed"] == [missed]


def test_misses_while_the_stream_was_silent_are_named() -> None:
    silent = msgspec.structs.replace(build_round("other", 1000, 2), unconfirmed=2)
    [row, *_] = build_tables(build_result(other=silent))[0].rows
    assert row[2] == "99.80 % (2 misses of 1,000, 2 as the stream was silent; 100 writes/s reached)"


def test_a_machine_that_makes_fewer_writes_is_named() -> None:
    few = LatencySummary(requests=179, p50_ms=8.0, p99_ms=9.0)
    slow = msgspec.structs.replace(build_round("other", 1000, 0), writes=few)
    assert verdicts(build_result(other=slow))[0] == "met, at fewer writes"
    enough = msgspec.structs.replace(slow, writes=msgspec.structs.replace(few, requests=180))
    assert verdicts(build_result(other=enough))[0] == "met"


def test_only_writes_through_another_gateway_have_time_to_show() -> None:
    rows = build_tables(build_result())[0].rows
    assert [row[0] for row in rows[3:6]] == [
        "stale after 10 ms, other",
        "stale, same",
        "stale after 10 ms, spread",
    ]


def test_each_round_has_a_row_with_its_own_figures() -> None:
    rounds = build_tables(build_result())[1]
    assert rounds.rows[0] == (
        *("other", "500", "1,000", "1", "99.90 %", "1,000", "0", "4.3"),
        *("100", "8.0", "9.0", "2.0", "3.0"),
    )
    assert {len(row) for row in rounds.rows} == {len(rounds.header)}


def test_the_mix_has_a_row_for_each_kind_even_if_none_was_read() -> None:
    assert build_tables(build_result())[2].rows == [
        ("a unit", "all", "75 %", "900", "100.00 %"),
        ("assignments", "one", "25 %", "100", "50.00 %"),
        ("a map", "one", "0 %", "0", "–"),
    ]
