"""What a round has shown: the promises that were broken, and the figures."""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.faults.checking import requests as request_checks
from tests.faults.checking.history import Operation, Page, Request, by_register, read_extras
from tests.faults.checking.linearizability import UndecidedError, find_violation
from tests.faults.checking.requests import Outage
from tests.faults.checking.staleness import StaleRead, find_stale_reads

FOREIGN_SECONDS = 1.0
"""How long a cached response may miss a write that this gateway has not acknowledged: one through
another gateway, or one that was answered 503 and happened after all."""
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Round:
    """All that was recorded around one fault."""

    operations: Sequence[Operation]
    extra_pages: Sequence[Page]
    requests: Sequence[Request]
    counts: Counter[str]
    outage: Outage
    homes: Mapping[str, int]
    """The gateway through which each register is written."""
    initial: Mapping[str, str | None]
    final: Mapping[str, str | None]
    """What the database had before and after."""
    audited: Counter[str]
    """Records in the audit log by the id of their request."""
    ended_gateways: Collection[int] = ()
    """Those that were killed or terminated."""
    problems: Sequence[str] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    """What the fault itself has found."""


@dataclass
class Verdict:
    """Broken promises in sentences, and figures; those of rounds can be added up."""

    violations: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    maxima: dict[str, float] = field(default_factory=dict)

    def add(self, other: "Verdict") -> None:
        """Add what another round has shown."""
        self.violations += other.violations
        self.counts += other.counts
        for name, value in other.maxima.items():
            self.maxima[name] = max(value, self.maxima.get(name, 0.0))


def judge(played: Round, longest_allowed: float) -> Verdict:
    """Check a round; no request may take longer than `longest_allowed` seconds."""
    verdict = Verdict([*played.problems], maxima={**played.figures})
    operations = [*played.operations, *read_extras(_extras(played), played.extra_pages)]
    registers = by_register(operations)
    _judge_requests(played, longest_allowed, verdict)
    _judge_audit(played, verdict)
    for register, own in registers.items():
        _judge_register(register, own, played, verdict)
    for what in (
        *("units with two attributes", "half batches", "half imports"),
        *("new keys that do not work", "revoked keys that still work"),
    ):
        verdict.counts[what] += played.counts[what]
        if played.counts[what]:
            verdict.violations.append(f"{played.counts[what]} x {what}")
    verdict.counts["pages"] += sum(
        count for name, count in played.counts.items() if name.startswith("pages")
    )
    return verdict


def _extras(played: Round) -> list[Operation]:
    return [each for each in played.operations if each.register.startswith("extra ")]


def _judge_requests(played: Round, longest_allowed: float, verdict: Verdict) -> None:
    requests = [each for each in played.requests if each.kind != "import"]
    # Connections to a gateway that is about to start wait until it serves.
    served = [each for each in requests if each.gateway not in played.ended_gateways]
    wrong = request_checks.find_wrong_statuses(played.requests, played.ended_gateways)
    verdict.violations += wrong
    verdict.counts["requests"] += len(played.requests)
    verdict.counts["500"] += sum((each.status or 0) == 500 for each in played.requests)
    verdict.counts["503"] += sum(each.status == 503 for each in played.requests)
    verdict.counts["no response"] += sum(each.status is None for each in played.requests)
    for kind in ("read", "write"):
        longest = request_checks.find_longest(served, kind)
        verdict.maxima[f"longest {kind}"] = longest
        if longest > longest_allowed:
            verdict.violations.append(
                f"a {kind} took {longest:.1f} s, over {longest_allowed:.1f} s"
            )
        verdict.maxima[f"{kind} gap"] = request_checks.find_gap(served, kind, played.outage)
        verdict.maxima["recovery"] = max(
            verdict.maxima.get("recovery", 0.0),
            request_checks.find_recovery(requests, kind, played.outage),
        )


def _judge_audit(played: Round, verdict: Verdict) -> None:
    """Count the records of each write: one if it changed something, never two."""
    for each in played.operations:
        if not each.request_id:
            continue
        count = played.audited[each.request_id]
        verdict.counts["acknowledged" if not each.is_unknown else "unknown"] += 1
        if count > 1:
            verdict.counts["doubled"] += 1
            verdict.violations.append(f"written {count} times: {each}")
        elif not count and not each.is_unknown and each.must_change:
            verdict.counts["lost"] += 1
            verdict.violations.append(f"acknowledged and lost: {each}")


def _judge_register(
    register: str, operations: list[Operation], played: Round, verdict: Verdict
) -> None:
    values = Counter(each.value for each in operations if each.action == "write")
    if values and max(values.values()) > 1:
        verdict.violations.append(
            f"{register} was given a value twice: the try took too long to be judged"
        )
        return
    home = played.homes[register]
    stale = [*find_stale_reads(operations)]
    at_home = [each for each in operations if each.gateway == home]
    stale_at_home = {each.read for each in find_stale_reads(at_home)}
    broken = [each for each in stale if not _is_allowed(each, home, stale_at_home)]
    for each in stale:
        name = "stale" if each in broken else "behind another gateway"
        verdict.counts[name] += 1
        verdict.maxima[name] = max(verdict.maxima.get(name, 0.0), each.seconds)
    verdict.violations += [
        f"stale: {each}" for each in sorted(broken, key=lambda each: -each.seconds)[:SHOWN]
    ]
    checked = [
        each
        for each in operations
        if each.gateway == home and (each.action != "read" or not each.is_cached)
    ]
    if register in played.final:
        checked.append(
            Operation(register, "read", played.final[register], *_after(operations), "the database")
        )
    verdict.counts["checked operations"] += len(checked)
    try:
        impossible = find_violation(checked, played.initial.get(register))
    except UndecidedError:
        verdict.violations.append(f"too many orders of {register} to check")
        return
    if impossible is not None:
        verdict.counts["not linearizable"] += 1
        verdict.violations.append(f"not linearizable at {impossible}")


def _after(operations: Sequence[Operation]) -> tuple[float, float]:
    last = max(
        time for each in operations for time in (each.invoked, each.returned) if time < math.inf
    )
    return last + 1, last + 2


def _is_allowed(stale: StaleRead, home: int, stale_at_home: Collection[Operation]) -> bool:
    """Return whether a stale read missed only what its gateway may not know yet: what another one
    has shown, or what was read elsewhere than where it is written."""
    is_acknowledged_here = stale.read.gateway == home and stale.is_acknowledged
    may_lag = stale.read.is_cached or stale.read not in stale_at_home
    return not is_acknowledged_here and may_lag and stale.seconds <= FOREIGN_SECONDS


def describe(violations: Sequence[str], limit: int = 20) -> Iterator[str]:
    """Return the first violations, and how many there are."""
    yield from violations[:limit]
    if len(violations) > limit:
        yield f"... and {len(violations) - limit} more"
