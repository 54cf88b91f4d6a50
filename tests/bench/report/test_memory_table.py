"""The table of the memory that a response cache takes."""

from bench.report.memory_table import MemorySample, build_table


def test_the_cost_is_what_a_gateway_without_the_cache_has_not_grown_by() -> None:
    sample = MemorySample(
        shape="one unit",
        encodings="as it is",
        requests=36_000,
        body_mb=9.0,
        cache_mb=64,
        grown_mb=90.0,
        uncached_mb=10.0,
    )
    assert sample.cost == 1.25
    assert build_table([sample]).rows == [
        ("one unit", "as it is", "36,000", "9.0", "64", "90.0", "10.0", "1.25")
    ]
