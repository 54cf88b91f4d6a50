"""The results of `bench.followers`, and their table."""

from collections.abc import Sequence

import msgspec

from bench.report.tables import ReportTable, format_figure


class FollowersSample(msgspec.Struct, frozen=True, kw_only=True):
    """What followers by one transport cost a worker, and how soon they know of a write."""

    transport: str
    followers: int
    idle_kb: float
    """Memory for each follower before the first write."""
    used_kb: float
    """Memory for each follower after all writes."""
    p50_ms: float
    """From sending a write to the last follower that knows of it."""
    p99_ms: float
    max_ms: float
    cpu_ms: float
    """Of the worker, for a write that all followers know of."""
    hidden_cpu_ms: float
    """Of the worker, for a write that no follower may see."""
    burst_per_second: float
    """Events that followers received a second, of many writes at once."""


def build_table(samples: Sequence[FollowersSample]) -> ReportTable:
    """Return the table of all transports."""
    return ReportTable(
        "Followers of changes on one worker",
        (
            *("transport", "followers", "KB each, idle", "KB each, after"),
            *("p50 ms", "p99 ms", "max ms", "CPU ms", "CPU ms, hidden", "events/s"),
        ),
        [
            (
                sample.transport,
                f"{sample.followers:,}",
                *map(format_figure, msgspec.structs.astuple(sample)[2:]),
            )
            for sample in samples
        ],
        note="ms: from sending a write to the last follower that has received it. CPU: of the "
        "worker for a write that all followers see, and for one that none may see. Events/s: all "
        "followers together, while writes come faster than they are received.",
    )
