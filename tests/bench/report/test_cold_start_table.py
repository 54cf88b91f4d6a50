"""The table of the first minute after a start."""

from bench.report.cold_start_table import ColdStart, build_table


def test_each_start_is_a_column() -> None:
    start = ColdStart(
        ready_seconds=0.84,
        ready_cpu_seconds=0.9,
        rate=299.7,
        p50_ms=1.2,
        p99_ms=12.34,
        max_ms=56.7,
        probe_p50_ms=0.5,
        probe_p99_ms=2.5,
        probe_max_ms=18.0,
        stalls=0,
        reads=300,
        distinct=200,
        load=1.5,
    )
    table = build_table([start, start])
    assert table.header == ("", "start 1", "start 2")
    assert ("p50 / p99 / max, ms", *["1.20 / 12.3 / 56.7"] * 2) in table.rows
    assert ("reads of MongoDB for each", "1.50", "1.50") in table.rows
