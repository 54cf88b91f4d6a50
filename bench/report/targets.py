"""Performance targets: maximum ratios of server CPU per request within one run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from bench.data.workloads import (
    GRAPHQL_NOT_MODIFIED,
    GRAPHQL_WORKLOADS,
    LEVEL_TAGS,
    LIST,
    LOCATIONS,
    MATRIX,
    NESTED,
    NEW_MATRIX,
    NOT_MODIFIED,
    UNIQUE,
    UNIT,
    WORKLOADS,
)
from bench.peers.by_hand import BY_HAND
from bench.peers.fastapi_peers import WITH_BYTES, WITH_MODELS
from bench.peers.floorgate import CACHED, UNCACHED
from bench.peers.node import SOFA_JIT, SOFA_JS
from bench.peers.raw import RAW
from bench.peers.strawberry_stock import STRAWBERRY
from bench.report.results import Results, cpu_ratios
from bench.report.staleness_table import StalenessSample
from bench.report.tables import NO_VALUE, ReportTable

STALENESS_MS = 50.0
ALL_WORKLOADS = tuple(workload.name for workload in WORKLOADS)
HITS = tuple(name for name in ALL_WORKLOADS if name not in UNIQUE)
"""What the gateway with a cache answers from it."""
GRAPHQL_HITS = tuple(
    workload.name
    for workload in GRAPHQL_WORKLOADS
    if workload.name in HITS and not workload.is_conditional
)
RIVAL_PEERS = tuple(peer.name for peer in (WITH_MODELS, WITH_BYTES, STRAWBERRY, SOFA_JS, SOFA_JIT))
"""Alternatives that a user could choose; the other two peers are limits."""


@dataclass(frozen=True, slots=True)
class PerformanceTarget:
    """A bound on Floorgate's CPU per request over that of another peer."""

    title: str
    peer: str
    workloads: Sequence[str]
    """The worst workload counts."""
    reference_peers: Sequence[str]
    """The reference with the worst ratio for Floorgate counts."""
    reference_title: str
    max_ratio: float
    """Below 1, the reciprocal is shown."""


def _single_target(
    what: str, workload: str, peer: str, against: str, against_what: str, max_ratio: float
) -> PerformanceTarget:
    return PerformanceTarget(what, peer, (workload,), (against,), against_what, max_ratio)


LIST_TITLE, UNIT_TITLE, NESTED_TITLE = "list of 1,000 units", "GET one", "nested GraphQL, 3 levels"
MATRIX_TITLE = "matrix of 50 pairs"
LIMIT, BYTES, STOCK = "the hand-written limit", "raw ready bytes", "stock strawberry"

TARGETS = (
    _single_target(LIST_TITLE, LIST, UNCACHED.name, BY_HAND.name, LIMIT, 1.1),
    _single_target(LIST_TITLE, LIST, UNCACHED.name, STRAWBERRY.name, STOCK, 1 / 8),
    _single_target(
        LIST_TITLE, LIST, UNCACHED.name, WITH_MODELS.name, "FastAPI with a response model", 1 / 2
    ),
    _single_target(LIST_TITLE, LIST, CACHED.name, RAW.name, BYTES, 2.0),
    _single_target(UNIT_TITLE, UNIT, UNCACHED.name, BY_HAND.name, LIMIT, 1.3),
    _single_target(UNIT_TITLE, UNIT, CACHED.name, RAW.name, BYTES, 2.0),
    _single_target("level tags", LEVEL_TAGS, UNCACHED.name, BY_HAND.name, LIMIT, 1.4),
    _single_target(
        "90 locations by tag", LOCATIONS, UNCACHED.name, WITH_BYTES.name, WITH_BYTES.title, 1.2
    ),
    _single_target(MATRIX_TITLE, MATRIX, UNCACHED.name, BY_HAND.name, LIMIT, 2.0),
    _single_target(f"{MATRIX_TITLE}, each new", NEW_MATRIX, CACHED.name, BY_HAND.name, LIMIT, 2.0),
    _single_target(MATRIX_TITLE, MATRIX, CACHED.name, RAW.name, BYTES, 2.0),
    _single_target("304", NOT_MODIFIED, CACHED.name, RAW.name, BYTES, 1.5),
    _single_target("304, GraphQL", GRAPHQL_NOT_MODIFIED, CACHED.name, RAW.name, BYTES, 1.5),
    PerformanceTarget("every GraphQL query", CACHED.name, GRAPHQL_HITS, (RAW.name,), BYTES, 2.0),
    _single_target(NESTED_TITLE, NESTED, UNCACHED.name, STRAWBERRY.name, STOCK, 1 / 8),
    PerformanceTarget(
        "every workload", UNCACHED.name, ALL_WORKLOADS, (SOFA_JS.name,), SOFA_JS.title, 1.0
    ),
    PerformanceTarget(
        "every workload", CACHED.name, ALL_WORKLOADS, (SOFA_JIT.name,), SOFA_JIT.title, 1.0
    ),
    PerformanceTarget(
        "every workload",
        CACHED.name,
        ALL_WORKLOADS,
        tuple(
            peer.name for peer in (BY_HAND, WITH_MODELS, WITH_BYTES, STRAWBERRY, SOFA_JS, SOFA_JIT)
        ),
        "every peer",
        1.0,
    ),
)


@dataclass(frozen=True, slots=True)
class TailTarget:
    """A bound on p99 over p50 of Floorgate's latency at half of its saturation."""

    title: str
    peer: str
    workloads: Sequence[str]
    """The worst workload counts."""
    max_ratio: float


TAIL_TARGETS = (
    TailTarget("tail of hits", CACHED.name, HITS, 5.0),
    TailTarget("tail of misses", UNCACHED.name, ALL_WORKLOADS, 8.0),
)


@dataclass(frozen=True, slots=True)
class MeasuredRatio:
    """A ratio, and the workload and reference it was measured with."""

    ratio: float
    workload: str
    against: str


def find_worst_ratio(target: PerformanceTarget, results: Results) -> MeasuredRatio | None:
    """Return the worst of a target's ratios, None if no reference took part."""
    ratios = [
        MeasuredRatio(spread.median, workload, against)
        for workload in target.workloads
        for against in target.reference_peers
        if (spread := cpu_ratios(results.samples, workload, target.peer, against)) is not None
    ]
    return max(ratios, key=lambda measured: measured.ratio) if ratios else None


def build_table(results: Results) -> ReportTable:
    """Return a table of every target and its measured ratio."""
    return ReportTable(
        "To reach: ratios of server CPU per request",
        ("", "cache", "to reach", "measured", ""),
        [*_iter_rows(results), *_tail_rows(results), *_staleness_rows(results)],
        text_columns=5,
    )


def _iter_rows(results: Results) -> Iterator[tuple[str, ...]]:
    for target in TARGETS:
        cache = "on" if target.peer == CACHED.name else "off"
        found = find_worst_ratio(target, results)
        bound = f"{_format_bound(target.max_ratio)} {target.reference_title}"
        if found is None:
            yield target.title, cache, bound, NO_VALUE, "not measured"
            continue
        measured = _format_ratio(found.ratio, target.max_ratio)
        if len(target.workloads) > 1:
            title = _WORKLOAD_TITLES[found.workload]
            measured += f" ({title}, beside {results.titles[found.against]})"
        yield target.title, cache, bound, measured, verdict(found.ratio, target.max_ratio)


_WORKLOAD_TITLES = {workload.name: workload.title for workload in WORKLOADS}


def _tail_rows(results: Results) -> Iterator[tuple[str, ...]]:
    for target in TAIL_TARGETS:
        begin = (
            target.title,
            "on" if target.peer == CACHED.name else "off",
            f"p99 at most {target.max_ratio:g} x p50 at half of saturation",
        )
        ratios = {
            workload: median(sample.p99_ms / sample.p50_ms for sample in samples)
            for workload in target.workloads
            if (samples := results.samples_of(workload, target.peer))
        }
        if not ratios:
            yield *begin, NO_VALUE, "not measured"
            continue
        worst = max(ratios, key=lambda workload: ratios[workload])
        measured = f"{ratios[worst]:.1f} x ({_WORKLOAD_TITLES[worst]})"
        yield *begin, measured, verdict(ratios[worst], target.max_ratio)


def build_rival_table(results: Results) -> ReportTable:
    """Return a table of the cases in which an alternative takes less CPU than Floorgate."""
    wins = [
        (
            workload.title,
            "on" if own == CACHED.name else "off",
            results.titles[rival],
            f"{1 / spread.median:.2f} x",
        )
        for own in (UNCACHED.name, CACHED.name)
        for workload in WORKLOADS
        for rival in RIVAL_PEERS
        if (spread := cpu_ratios(results.samples, workload.name, own, rival)) and spread.median > 1
    ]
    return ReportTable(
        "Where another wins",
        ("", "cache", "who takes less CPU", "beside Floorgate"),
        wins or [("nowhere", NO_VALUE, NO_VALUE, NO_VALUE)],
        text_columns=3,
    )


def verdict(measured: float, max_ratio: float) -> str:
    """Return whether a target is met, or by how much it is missed."""
    excess = measured / max_ratio
    if excess <= 1:
        return "met"
    return (
        f"missed by {100 * (excess - 1):.0f} %" if excess < 2 else f"missed {excess:.1f} times over"
    )


def _staleness_rows(results: Results) -> Iterator[tuple[str, ...]]:
    found = results.staleness
    if found is None:
        return
    what = "staleness after a write"
    stale = f"{found.uncached.stale_reads} stale of {found.uncached.writes} reads"
    result = _staleness_verdict(not found.uncached.stale_reads)
    yield what, "off", "through another gateway: none", stale, result
    late = f"p99 {found.cached.p99_ms:.1f} ms"
    result = _staleness_verdict(found.cached.p99_ms < STALENESS_MS, found.cached)
    yield what, "on", f"through another gateway: p99 under {STALENESS_MS:g} ms", late, result
    stale = f"{found.same.stale_reads} stale of {found.same.writes} reads"
    result = _staleness_verdict(not found.same.stale_reads, found.same)
    yield what, "on", "through the same gateway: none", stale, result


def _staleness_verdict(is_met: bool, cached: StalenessSample | None = None) -> str:
    if cached and not cached.is_cached:
        return "says nothing: the read was not answered from memory"
    return "met" if is_met else "missed"


def _format_bound(max_ratio: float) -> str:
    if max_ratio == 1:
        return "ahead of"
    return (
        f"at most {max_ratio:g} x" if max_ratio > 1 else f"at least {1 / max_ratio:g} x less than"
    )


def _format_ratio(ratio: float, max_ratio: float) -> str:
    if max_ratio >= 1:
        return f"{ratio:.2f} x"
    return f"{1 / ratio:.1f} x less" if ratio <= 1 else f"{ratio:.1f} x more"
