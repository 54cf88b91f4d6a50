"""Performance targets: maximum ratios of server CPU per request within one run."""

from collections.abc import Iterator, Sequence
from statistics import median
from typing import NamedTuple

from bench.data import workloads
from bench.harness import Row
from bench.peers.by_hand import BY_HAND, WITH_BYTES, WITH_MODELS
from bench.peers.node import SOFA_JIT, SOFA_JS
from bench.peers.peer import CACHED, UNCACHED
from bench.peers.raw import RAW
from bench.peers.strawberry_stock import STRAWBERRY
from bench.report import NO_VALUE, ReportTable

STALENESS_MS = 50.0
MIN_FINDS_UNCACHED = 0.5
"""Queries of MongoDB for a read, from which on it is not answered from the cache."""
OTHER_UNCACHED, OTHER, SAME = (
    "another gateway, cache off",
    "another gateway, cache on",
    "the same gateway, cache on",
)
"""Writes are read through these."""
MAX_WINS = 12
ALL_WORKLOADS = tuple(workload.name for workload in workloads.WORKLOADS)
HITS = tuple(name for name in ALL_WORKLOADS if name not in workloads.UNIQUE)
"""The gateway with a cache answers these from it."""
GRAPHQL_HITS = tuple(
    workload.name
    for workload in workloads.GRAPHQL_WORKLOADS
    if workload.name in HITS and not workload.is_conditional
)
PEER_TITLES = {
    peer.name: peer.title
    for peer in (
        *(UNCACHED, CACHED, RAW, BY_HAND, WITH_BYTES, WITH_MODELS, STRAWBERRY, SOFA_JS, SOFA_JIT),
    )
}
"""The titles of the peers in the order of the tables."""
RIVAL_PEERS = tuple(peer.name for peer in (WITH_MODELS, WITH_BYTES, STRAWBERRY, SOFA_JS, SOFA_JIT))
"""Alternatives that a user could choose; the other two peers are limits."""
CONDITIONS = (
    "Taken {taken_at} on {machine}, load average {load}; {units:,} units; medians of {rounds} "
    "interleaved rounds of {seconds:g} s. Python {python}, {packages}."
)


class PerformanceTarget(NamedTuple):
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


EVERY_PEER = (BY_HAND.name, *RIVAL_PEERS)
LIST_TITLE, MATRIX_TITLE = "list of 1,000 units", "matrix of 50 pairs"
NESTED_TITLE = "nested GraphQL, 3 levels"
LIMIT, BYTES, STOCK = "the hand-written limit", "raw ready bytes", "stock strawberry"
MODELS = "FastAPI with a response model"
OFF, ON = UNCACHED.name, CACHED.name
TARGETS = (
    PerformanceTarget(LIST_TITLE, OFF, [workloads.LIST], [BY_HAND.name], LIMIT, 1.1),
    PerformanceTarget(LIST_TITLE, OFF, [workloads.LIST], [STRAWBERRY.name], STOCK, 1 / 8),
    PerformanceTarget(LIST_TITLE, OFF, [workloads.LIST], [WITH_MODELS.name], MODELS, 1 / 2),
    PerformanceTarget(LIST_TITLE, ON, [workloads.LIST], [RAW.name], BYTES, 2.0),
    PerformanceTarget("GET one", OFF, [workloads.UNIT], [BY_HAND.name], LIMIT, 1.15),
    PerformanceTarget("GET one", ON, [workloads.UNIT], [RAW.name], BYTES, 2.0),
    PerformanceTarget("level tags", OFF, [workloads.LEVEL_TAGS], [BY_HAND.name], LIMIT, 1.15),
    PerformanceTarget(
        "90 locations by tag", OFF, [workloads.LOCATIONS], [WITH_BYTES.name], WITH_BYTES.title, 1.15
    ),
    PerformanceTarget(MATRIX_TITLE, OFF, [workloads.MATRIX], [BY_HAND.name], LIMIT, 2.0),
    PerformanceTarget(
        f"{MATRIX_TITLE}, each new", ON, [workloads.NEW_MATRIX], [BY_HAND.name], LIMIT, 2.5
    ),
    PerformanceTarget(MATRIX_TITLE, ON, [workloads.MATRIX], [RAW.name], BYTES, 2.0),
    PerformanceTarget("304", ON, [workloads.NOT_MODIFIED], [RAW.name], BYTES, 1.5),
    PerformanceTarget("304, GraphQL", ON, [workloads.GRAPHQL_NOT_MODIFIED], [RAW.name], BYTES, 1.5),
    PerformanceTarget("every GraphQL query", ON, GRAPHQL_HITS, [RAW.name], BYTES, 2.0),
    PerformanceTarget(NESTED_TITLE, OFF, [workloads.NESTED], [STRAWBERRY.name], STOCK, 1 / 8),
    PerformanceTarget("every workload", OFF, ALL_WORKLOADS, [SOFA_JS.name], SOFA_JS.title, 1.0),
    PerformanceTarget("every workload", ON, ALL_WORKLOADS, [SOFA_JIT.name], SOFA_JIT.title, 1.0),
    PerformanceTarget("every workload", ON, ALL_WORKLOADS, EVERY_PEER, "every peer", 1.0),
)


TAIL_TARGETS = (
    ("tail of hits", CACHED.name, HITS, 5.0),
    ("tail of misses", UNCACHED.name, ALL_WORKLOADS, 8.0),
)
"""Bounds on p99 over p50 of Floorgate's latency at half of its saturation, of the worst workload:
titles, peers, workloads and the most."""


class MeasuredRatio(NamedTuple):
    """A ratio, and the workload and reference it was measured with."""

    ratio: float
    workload: str
    against: str


def select_samples(rows: Sequence[Row], workload: str, peer: str) -> list[Row]:
    """Return the samples of a workload on a peer; empty if the peer does not serve it."""
    return [x for x in rows if (x.get("workload"), x.get("peer")) == (workload, peer)]


def find_cpu_ratio(rows: Sequence[Row], workload: str, peer: str, reference: str) -> float | None:
    """Return the median of CPU per request of a peer divided by that of the reference in a round.

    None if one of the two does not serve the workload.
    """
    own, others = (
        {row["round"]: row["cpu_ms"] for row in select_samples(rows, workload, name)}
        for name in (peer, reference)
    )
    ratios = [cpu_ms / others[number] for number, cpu_ms in own.items() if others.get(number)]
    return median(ratios) if ratios else None


def find_worst_ratio(target: PerformanceTarget, rows: Sequence[Row]) -> MeasuredRatio | None:
    """Return the worst of a target's ratios, None if no reference took part."""
    ratios = [
        MeasuredRatio(ratio, workload, against)
        for workload in target.workloads
        for against in target.reference_peers
        if (ratio := find_cpu_ratio(rows, workload, target.peer, against)) is not None
    ]
    return max(ratios, default=None)


def build_target_table(rows: Sequence[Row]) -> ReportTable:
    """Return a table of every target and its measured ratio, from samples and staleness."""
    return ReportTable(
        "To reach: ratios of server CPU per request",
        ("", "cache", "to reach", "measured", ""),
        [
            *_iter_ratio_rows(rows),
            *_iter_tail_rows(rows),
            _count_wins(rows),
            *_iter_staleness_rows(rows),
        ],
        text_columns=5,
        note=CONDITIONS,
    )


def _iter_ratio_rows(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    for target in TARGETS:
        bound = f"{_format_bound(target.max_ratio)} {target.reference_title}"
        begin = target.title, _describe_cache(target.peer), bound
        found = find_worst_ratio(target, rows)
        if found is None:
            yield *begin, NO_VALUE, "not measured"
            continue
        measured = _format_ratio(found.ratio, target.max_ratio)
        if len(target.workloads) > 1:
            against = PEER_TITLES[found.against]
            measured += f" ({_WORKLOAD_TITLES[found.workload]}, beside {against})"
        yield *begin, measured, verdict(found.ratio, target.max_ratio)


_WORKLOAD_TITLES = {workload.name: workload.title for workload in workloads.WORKLOADS}


def _describe_cache(peer: str) -> str:
    return "on" if peer == CACHED.name else "off"


def _iter_tail_rows(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    for title, peer, names, max_ratio in TAIL_TARGETS:
        bound = f"p99 at most {max_ratio:g} x p50 at half of saturation"
        begin = title, _describe_cache(peer), bound
        ratios = [
            (median(sample["p99_ms"] / sample["p50_ms"] for sample in samples), workload)
            for workload in names
            if (samples := select_samples(rows, workload, peer))
        ]
        if not ratios:
            yield *begin, NO_VALUE, "not measured"
            continue
        ratio, worst = max(ratios)
        yield *begin, f"{ratio:.1f} x ({_WORKLOAD_TITLES[worst]})", verdict(ratio, max_ratio)


def list_wins(rows: Sequence[Row]) -> list[tuple[str, str, str, float]]:
    """Return the cases in which an alternative takes less CPU than Floorgate, and how much."""
    return [
        (workload.title, _describe_cache(own), PEER_TITLES[rival], 1 / ratio)
        for own in (UNCACHED.name, CACHED.name)
        for workload in workloads.WORKLOADS
        for rival in RIVAL_PEERS
        if (ratio := find_cpu_ratio(rows, workload.name, own, rival)) and ratio > 1
    ]


def build_rival_table(rows: Sequence[Row]) -> ReportTable:
    """Return a table of the cases in which an alternative takes less CPU than Floorgate."""
    wins = [
        (title, cache, rival, f"{share:.2f} x") for title, cache, rival, share in list_wins(rows)
    ]
    return ReportTable(
        "Where another wins",
        ("", "cache", "who takes less CPU", "beside Floorgate"),
        wins or [("nowhere", NO_VALUE, NO_VALUE, NO_VALUE)],
        text_columns=3,
    )


def _count_wins(rows: Sequence[Row]) -> tuple[str, ...]:
    count = len(list_wins(rows))
    bound = f"at most {MAX_WINS}"
    return (
        "places where a peer takes less CPU",
        "off, on",
        bound,
        str(count),
        verdict(count, MAX_WINS),
    )


def verdict(measured: float, max_ratio: float) -> str:
    """Return whether a target is met, or by how much it is missed."""
    excess = measured / max_ratio
    if excess <= 1:
        return "met"
    return (
        f"missed by {100 * (excess - 1):.0f} %" if excess < 2 else f"missed {excess:.1f} times over"
    )


def _iter_staleness_rows(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """Yield the targets of staleness, which say nothing of reads that the cache does not answer."""
    measured = {row["read through"]: row for row in rows if "read through" in row}
    if not measured:
        return
    what = "staleness after a write"
    uncached, cached, same = (measured[through] for through in (OTHER_UNCACHED, OTHER, SAME))
    stale = f"{uncached['stale at once']} stale of {uncached['writes']} reads"
    is_met = not uncached["stale at once"]
    yield what, "off", "through another gateway: none", stale, "met" if is_met else "missed"
    bound = f"through another gateway: p99 under {STALENESS_MS:g} ms"
    late = f"p99 {cached['p99 ms']:.1f} ms"
    yield what, "on", bound, late, _judge_cached(cached, cached["p99 ms"] < STALENESS_MS)
    stale = f"{same['stale at once']} stale of {same['writes']} reads"
    bound = "through the same gateway: none"
    yield what, "on", bound, stale, _judge_cached(same, not same["stale at once"])


def _judge_cached(row: Row, is_met: bool) -> str:
    if row["queries a read"] >= MIN_FINDS_UNCACHED:
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
