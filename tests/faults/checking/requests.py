"""Statuses, deadlines and gaps of the requests of a run."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import pairwise

from storage.errors import UnavailableCause
from tests.faults.checking.history import Request

ALLOWED_STATUSES = (200, 204, 412, 429, 503)


@dataclass(frozen=True, slots=True)
class Outage:
    """A fault, from its beginning to the moment when the database was whole enough again."""

    began: float
    recovered: float
    ended: float
    """When the next one may begin."""


def find_wrong_statuses(
    requests: Iterable[Request], ended_gateways: Collection[int] = ()
) -> list[str]:
    """Return a sentence for each kind of response that no fault excuses.

    Only of gateways that were killed or told to stop, connections may end without a response.
    """
    wrong: Counter[str] = Counter()
    for request in requests:
        if request.status is None:
            if request.gateway not in ended_gateways:
                wrong[f"no response to {request.kind}s"] += 1
        elif request.status not in ALLOWED_STATUSES:
            wrong[f"status {request.status} to {request.kind}s"] += 1
        elif request.status == 503 and not request.has_retry_after:
            wrong[f"503 without Retry-After to {request.kind}s"] += 1
        elif request.status == 503 and request.code not in {*UnavailableCause}:
            wrong[f"503 with the code {request.code!r} to {request.kind}s"] += 1
    return [f"{count} x {what}" for what, count in sorted(wrong.items())]


def find_longest(requests: Iterable[Request], kind: str) -> float:
    """Return the seconds of the longest request of a kind."""
    return max((each.seconds for each in requests if each.kind == kind), default=0.0)


def find_gap(requests: Iterable[Request], kind: str, outage: Outage) -> float:
    """Return the longest time in which no request of a kind to one of the gateways succeeded,
    around an outage."""
    ended: dict[int, list[float]] = defaultdict(list)
    for each in requests:
        if each.kind == kind and each.is_success:
            ended[each.gateway].append(each.ended)
    gaps = [_find_gap(sorted(successes), outage) for successes in ended.values()]
    return max(gaps, default=outage.ended - outage.began)


def _find_gap(successes: list[float], outage: Outage) -> float:
    times = [time for time in successes if time >= outage.began]
    before = max((time for time in successes if time < outage.began), default=outage.began)
    times = [before, *[time for time in times if time <= outage.ended], outage.ended]
    return max(later - earlier for earlier, later in pairwise(times))


def find_recovery(requests: Iterable[Request], kind: str, outage: Outage) -> float:
    """Return how long after the recovery of the database requests of a kind still failed."""
    failures = (
        each.ended
        for each in requests
        if each.kind == kind
        and not each.is_success
        and outage.recovered <= each.ended <= outage.ended
    )
    return max(failures, default=outage.recovered) - outage.recovered
