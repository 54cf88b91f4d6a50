"""The tables of a run, for a terminal and for docs/reliability.md."""

from collections.abc import Mapping

from bench.report import NO_VALUE, ReportTable
from tests.faults.checking.verdict import Verdict

COUNTS = {
    "tries": "tries",
    "kills": "kills",
    "seconds": "seconds",
    "requests": "requests",
    "acknowledged": "acknowledged",
    "unknown": "unknown",
    "lost": "lost",
    "doubled": "doubled",
    "half batches": "half batches",
    "units with two attributes": "two attributes",
    "stale": "stale reads",
    "not linearizable": "impossible orders",
    "500": "500",
    "503": "503",
    "no response": "no response",
}
SECONDS = {
    "longest read": "longest read",
    "longest write": "longest write",
    "read gap": "no reads for",
    "write gap": "no writes for",
    "recovery": "errors after recovery",
    "import finished": "import finished",
    "cache recovery": "cache recovered",
    "stale": "stalest read",
    "behind another gateway": "behind another gateway",
}


BROKEN = (
    *("lost", "doubled", "half batches", "units with two attributes"),
    *("stale", "not linearizable", "500"),
)
"""The counts of which each one breaks a promise."""
PAGE_COUNTS = ("tries", "kills", "requests", "acknowledged", "unknown", "503", "no response")
PAGE_SECONDS = ("longest read", "longest write", "read gap", "write gap", "recovery")


def build_page_table(verdicts: Mapping[str, Verdict]) -> ReportTable:
    """Return what a reader of the docs looks for: one table of counts and seconds."""
    seconds = [f"{SECONDS[name]}, s" for name in PAGE_SECONDS]
    return ReportTable(
        "Faults",
        ("fault", *PAGE_COUNTS, "broken", *seconds),
        [
            (
                title,
                *(f"{verdict.counts[name]:,}" for name in PAGE_COUNTS),
                f"{sum(verdict.counts[name] for name in BROKEN):,}",
                *(_show_seconds(verdict, name) for name in PAGE_SECONDS),
            )
            for title, verdict in verdicts.items()
        ],
    )


def _show_seconds(verdict: Verdict, name: str) -> str:
    return f"{verdict.maxima[name]:.1f}" if name in verdict.maxima else NO_VALUE


def build_count_table(verdicts: Mapping[str, Verdict]) -> ReportTable:
    """Return what was written, lost and answered under each fault."""
    return ReportTable(
        "Counts",
        ("fault", *COUNTS.values()),
        [
            (title, *(f"{verdict.counts[name]:,}" for name in COUNTS))
            for title, verdict in verdicts.items()
        ],
    )


def build_time_table(verdicts: Mapping[str, Verdict]) -> ReportTable:
    """Return the longest times under each fault."""
    return ReportTable(
        "Longest times in seconds",
        ("fault", *SECONDS.values()),
        [
            (title, *(_show_seconds(verdict, name) for name in SECONDS))
            for title, verdict in verdicts.items()
        ],
    )
