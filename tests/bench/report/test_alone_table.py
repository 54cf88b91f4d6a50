"""The table of peers measured alone: medians, and dashes for what a peer cannot do."""

from typing import Any

from bench.report.alone_table import AloneSample, build_table


def _sample(peer: str, load: str, cpu_ms: float, **more: Any) -> AloneSample:
    figures = {"round": 0, "requests": 9, "requests_per_second": 500.0, "load_average": 1.0}
    latencies = {"p50_ms": cpu_ms, "p99_ms": 9 * cpu_ms}
    return AloneSample(peer=peer, load=load, cpu_ms=cpu_ms, **{**figures, **latencies, **more})


def test_each_peer_that_took_part_has_a_row_of_medians() -> None:
    samples = [
        *(_sample("a", "cold", cpu_ms) for cpu_ms in (1.0, 3.0, 2.0)),
        *(_sample("a", "mix", 4.0, hit_rate=rate) for rate in (0.5, 0.75, 0.999)),
        _sample("b", "cold", 5.0),
        _sample("b", "mix", 6.0),
        _sample("c", "cold", 7.0),
    ]
    table = build_table(samples, {"a": "A", "b": "B", "c": "C", "raw": "Raw"})
    assert table.rows == [
        ("A", "2.00", "2.00 / 18.0", "4.00", "500", "4.00 / 36.0", "75.0 %"),
        ("B", "5.00", "5.00 / 45.0", "6.00", "500", "6.00 / 54.0", "–"),
        ("C", "7.00", "7.00 / 63.0", "–", "–", "–", "–"),
    ]
    assert {len(row) for row in table.rows} == {len(table.header)}
    assert table.note == "Load average 1.0 to 1.0."


def test_a_run_without_peers_alone_has_no_rows() -> None:
    assert (build_table([], {"a": "A"}).rows, build_table([], {}).note) == ([], "")
