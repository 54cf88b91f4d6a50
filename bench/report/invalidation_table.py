"""The results of `bench.invalidation`, and their tables."""

from collections.abc import Iterator, Sequence

import msgspec

from bench.load.generator import LatencySummary
from bench.report.tables import NO_VALUE, ReportTable, format_figure

MIN_HITS_OF_OTHERS, MIN_HITS_OF_MIX = 0.999, 0.95
MAX_COMMIT_MS = 10.0
MIN_RATE_REACHED = 0.9
"""Of the writes that fell due: a busy machine makes fewer."""


class KindSample(msgspec.Struct, frozen=True, kw_only=True):
    """Reads of one kind of response."""

    title: str
    reader: str
    share: int
    """Of the reads, in percent."""
    reads: int
    misses: int


class RoundSample(msgspec.Struct, frozen=True, kw_only=True):
    """Reads and writes at the same time."""

    title: str
    kinds: list[KindSample]
    unconfirmed: int
    """Misses while the change stream had not confirmed recently that nothing was missed."""
    made: list[str]
    """What was missed although it was of other assets than those that were written."""
    seconds: float
    checked: int
    """Responses compared with what they had to be."""
    stale: int
    limit_ms: float
    """After which a response that does not show a write is stale."""
    latest_ms: float
    """The longest that a write was answered and not shown by a read that was sent then."""
    ordered_per_second: float
    """Writes that fell due."""
    writes: LatencySummary
    waits: LatencySummary
    """Of the writes, until all workers of the gateway had counted them."""

    @property
    def reads(self) -> int:
        """Reads of all kinds."""
        return sum(kind.reads for kind in self.kinds)

    @property
    def misses(self) -> int:
        """Misses of all kinds."""
        return sum(kind.misses for kind in self.kinds)

    @property
    def hit_rate(self) -> float:
        """The share of reads that were answered from the cache."""
        return 1 - self.misses / self.reads


class CommitSample(msgspec.Struct, frozen=True, kw_only=True):
    """How soon reads showed what was written to MongoDB, in milliseconds after its answer."""

    writes: int
    p50_ms: float
    p99_ms: float
    max_ms: float


class Invalidation(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a run measured."""

    assets: int
    cached: int
    """Responses in the cache before the first write."""
    commits: CommitSample
    other: RoundSample
    """Writes to one asset through another gateway."""
    same: RoundSample
    """Writes to one asset through the gateway that is read."""
    spread: RoundSample
    """Writes to all assets."""
    load: float

    @property
    def rounds(self) -> tuple[RoundSample, ...]:
        """All rounds."""
        return self.other, self.same, self.spread


def build_tables(result: Invalidation) -> list[ReportTable]:
    """Return the tables of targets, rounds and the read mix."""
    return [
        ReportTable(
            "To reach",
            ("", "to reach", "measured", ""),
            [*_iter_targets(result)],
            text_columns=4,
            note=f"{result.assets:,} assets, {result.cached:,} cached responses; load average "
            f"{result.load:.1f}.",
        ),
        ReportTable(
            "Reads during writes",
            (
                *("writes", "reads/s", "reads", "misses", "hit rate", "checked", "stale"),
                *("latest ms", "writes/s", "p50 ms", "p99 ms", "waits p50 ms", "p99 ms"),
            ),
            [_round_row(each) for each in result.rounds],
            note="Latest: the longest that a write had been answered when a read was sent that "
            "did not show it. Waits: the part of a write in which its gateway waits until its "
            "workers have counted it.",
        ),
        ReportTable(
            "The read mix, while writes are spread over all assets",
            ("response", "keys that see", "share", "reads", "hit rate"),
            [_kind_row(kind) for kind in result.spread.kinds],
            text_columns=2,
        ),
    ]


def _iter_targets(result: Invalidation) -> Iterator[tuple[str, ...]]:
    for each in (result.other, result.same):
        yield f"responses of other assets, {each.title}", *_judge_hits(each, MIN_HITS_OF_OTHERS)
    yield f"all responses, {result.spread.title}", *_judge_hits(result.spread, MIN_HITS_OF_MIX)
    for each in result.rounds:
        measured = f"{each.stale:,} of {each.checked:,}"
        what = f"stale after {each.limit_ms:.0f} ms" if each.limit_ms else "stale"
        yield f"{what}, {each.title}", "0", measured, "missed" if each.stale else "met"
    commits = result.commits
    yield (
        "from commit to invalidation, p99",
        f"under {MAX_COMMIT_MS:g} ms",
        f"{commits.p99_ms:.1f} ms (p50 {commits.p50_ms:.1f}, max {commits.max_ms:.1f}; "
        f"{commits.writes:,} writes)",
        "met" if commits.p99_ms < MAX_COMMIT_MS else "missed",
    )


def _judge_hits(sample: RoundSample, least: float) -> tuple[str, str, str]:
    verdict = "met" if sample.hit_rate >= least else "missed"
    reason = f", {sample.unconfirmed:,} as the stream was silent" if sample.unconfirmed else ""
    misses = f"{sample.misses:,} misses of {sample.reads:,}{reason}"
    rate = sample.writes.requests / sample.seconds
    if rate < MIN_RATE_REACHED * sample.ordered_per_second:
        verdict += ", at fewer writes"
    measured = f"{_percent(sample.hit_rate)} ({misses}; {format_figure(rate)} writes/s reached)"
    return f"at least {100 * least:g} %", measured, verdict


def _round_row(sample: RoundSample) -> Sequence[str]:
    return (
        sample.title,
        format_figure(sample.reads / sample.seconds),
        f"{sample.reads:,}",
        f"{sample.misses:,}",
        _percent(sample.hit_rate),
        f"{sample.checked:,}",
        f"{sample.stale:,}",
        f"{sample.latest_ms:.1f}",
        format_figure(sample.writes.requests / sample.seconds),
        *(
            f"{figure:.1f}"
            for latencies in (sample.writes, sample.waits)
            for figure in (latencies.p50_ms, latencies.p99_ms)
        ),
    )


def _kind_row(kind: KindSample) -> Sequence[str]:
    hits = _percent(1 - kind.misses / kind.reads) if kind.reads else NO_VALUE
    return kind.title, kind.reader, f"{kind.share} %", f"{kind.reads:,}", hits


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
