"""The table of followers: each transport with its own figures."""

from bench.report.followers_table import FollowersSample, build_table

SAMPLE = FollowersSample(
    transport="sse", followers=1_000, idle_kb=34.04, used_kb=42.5, p50_ms=200.4, p99_ms=300.0,
    max_ms=1_250.0, cpu_ms=180.0, hidden_cpu_ms=75.5, burst_per_second=5_000.0,
)  # fmt: skip


def test_each_transport_has_a_row() -> None:
    table = build_table([SAMPLE])
    assert table.rows == [
        ("sse", "1,000", "34.0", "42.5", "200", "300", "1,250", "180", "75.5", "5,000")
    ]
    assert {len(row) for row in table.rows} == {len(table.header)}
