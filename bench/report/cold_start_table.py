"""The results of `bench.cold_start`, and their table."""

from collections.abc import Sequence

import msgspec

from bench.report.tables import ReportTable, format_figure


class ColdStart(msgspec.Struct, frozen=True, kw_only=True):
    """A start, and the time after it."""

    ready_seconds: float
    """From starting the program to its ready line."""
    ready_cpu_seconds: float
    rate: float
    """Requests answered per second."""
    p50_ms: float
    p99_ms: float
    max_ms: float
    probe_p50_ms: float
    probe_p99_ms: float
    probe_max_ms: float
    stalls: int
    """Probes that waited for longer than a stall may last."""
    reads: int
    """Commands that read from MongoDB."""
    distinct: int
    """Different requests among those sent."""
    load: float


def build_table(starts: Sequence[ColdStart]) -> ReportTable:
    """Return the table of all starts."""
    rows = [
        ("ready after, s", [f"{each.ready_seconds:.2f}" for each in starts]),
        ("CPU until then, s", [f"{each.ready_cpu_seconds:.2f}" for each in starts]),
        ("requests/s", [format_figure(each.rate) for each in starts]),
        ("p50 / p99 / max, ms", [_join(each.p50_ms, each.p99_ms, each.max_ms) for each in starts]),
        (
            "probe, p50 / p99 / max, ms",
            [_join(each.probe_p50_ms, each.probe_p99_ms, each.probe_max_ms) for each in starts],
        ),
        ("probes over 20 ms", [f"{each.stalls:,}" for each in starts]),
        ("different requests", [f"{each.distinct:,}" for each in starts]),
        ("reads of MongoDB for each", [f"{each.reads / each.distinct:.2f}" for each in starts]),
        ("load average", [f"{each.load:.1f}" for each in starts]),
    ]
    return ReportTable(
        "The first minute after a start",
        ("", *(f"start {number + 1}" for number in range(len(starts)))),
        [(title, *values) for title, values in rows],
    )


def _join(*values: float) -> str:
    return " / ".join(map(format_figure, values))
