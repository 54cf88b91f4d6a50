"""The results of `bench.staleness`, and their table."""

import msgspec

from bench.report.tables import ReportTable


class StalenessSample(msgspec.Struct, frozen=True, kw_only=True):
    """How soon writes became visible, in milliseconds after their answers."""

    writes: int
    stale_reads: int
    """Number of first reads that did not show the write."""
    p50_ms: float
    p99_ms: float
    max_ms: float
    finds: float
    """MongoDB queries per read while nothing is written."""

    @property
    def is_cached(self) -> bool:
        """Whether reads were answered from the cache, so that they could be stale."""
        return self.finds < 0.5


class Staleness(msgspec.Struct, frozen=True, kw_only=True):
    """Staleness through another gateway, without and with cache, and through the same one."""

    uncached: StalenessSample
    cached: StalenessSample
    same: StalenessSample


def build_table(staleness: Staleness) -> ReportTable:
    """Return the table of all samples."""
    rows = (
        ("another gateway, cache off", staleness.uncached),
        ("another gateway, cache on", staleness.cached),
        ("the same gateway, cache on", staleness.same),
    )
    return ReportTable(
        "From a write's answer to the first read that shows it",
        ("read through", "writes", "stale at once", "p50 ms", "p99 ms", "max ms", "queries a read"),
        [
            (
                title,
                str(sample.writes),
                str(sample.stale_reads),
                *(f"{x:.1f}" for x in (sample.p50_ms, sample.p99_ms, sample.max_ms, sample.finds)),
            )
            for title, sample in rows
        ],
        note="Queries: those sent to MongoDB while nothing is written; 0 means from the cache.",
    )
