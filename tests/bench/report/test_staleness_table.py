"""The table of staleness: through which gateway, how many reads were stale, and how long."""

import pytest

from bench.report.staleness_table import Staleness, StalenessSample, build_table


def build_staleness_sample(number: int, finds: float = 0.0) -> StalenessSample:
    return StalenessSample(
        writes=number, stale_reads=number + 1, p50_ms=0.04, p99_ms=1.26, max_ms=123.0, finds=finds
    )


def test_each_way_to_read_has_a_row_with_its_own_figures() -> None:
    staleness = Staleness(
        uncached=build_staleness_sample(10, 2.0),
        cached=build_staleness_sample(20, 0.02),
        same=build_staleness_sample(30),
    )
    table = build_table(staleness)
    assert table.rows == [
        ("another gateway, cache off", "10", "11", "0.0", "1.3", "123.0", "2.0"),
        ("another gateway, cache on", "20", "21", "0.0", "1.3", "123.0", "0.0"),
        ("the same gateway, cache on", "30", "31", "0.0", "1.3", "123.0", "0.0"),
    ]
    assert {len(row) for row in table.rows} == {len(table.header)}


@pytest.mark.parametrize(
    ("finds", "is_cached"), [(0.0, True), (0.49, True), (0.5, False), (2, False)]
)
def test_reads_are_cached_if_most_of_them_ask_mongodb_nothing(
    finds: float, is_cached: bool
) -> None:
    assert build_staleness_sample(1, finds).is_cached == is_cached
