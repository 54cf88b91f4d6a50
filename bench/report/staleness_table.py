"""What `bench.staleness` measures, and its table."""

import msgspec

from bench.report.tables import ReportTable


class StalenessSample(msgspec.Struct, frozen=True, kw_only=True):
    """When writes showed, in milliseconds after they were answered."""

    writes: int
    stale_reads: int
    """How many first reads showed less than was written."""
    p50_ms: float
    p99_ms: float
    most_ms: float
    finds: float
    """What a read asks of MongoDB while nothing is written."""

    @property
    def is_cached(self) -> bool:
        """Whether reads were answered from memory, so that they could have been stale."""
        return self.finds < 0.5


class Staleness(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen through another gateway, without and with caches, and through the same."""

    uncached: StalenessSample
    cached: StalenessSample
    same: StalenessSample


def build_table(found: Staleness) -> ReportTable:
    """What was seen."""
    rows = (
        ("another gateway, cache off", found.uncached),
        ("another gateway, cache on", found.cached),
        ("the same gateway, cache on", found.same),
    )
    return ReportTable(
        "From a write's answer to the first read that shows it",
        ("read through", "writes", "stale at once", "p50 ms", "p99 ms", "most ms", "finds a read"),
        [
            (
                title,
                str(seen.writes),
                str(seen.stale_reads),
                *(f"{each:.1f}" for each in (seen.p50_ms, seen.p99_ms, seen.most_ms, seen.finds)),
            )
            for title, seen in rows
        ],
        note="Finds: what a read asks of MongoDB while nothing is written; 0 is from memory.",
    )
