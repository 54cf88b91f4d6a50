"""The tables of a run, for a terminal and for docs/reliability.md."""

from collections.abc import Mapping

from bench.report.tables import NO_VALUE, ReportTable
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
            (
                title,
                *(
                    f"{verdict.maxima[name]:.1f}" if name in verdict.maxima else NO_VALUE
                    for name in SECONDS
                ),
            )
            for title, verdict in verdicts.items()
        ],
    )
