"""Statuses that no fault excuses, and the figures of an outage."""

from typing import Any

from tests.faults.checking.history import Request
from tests.faults.checking.requests import (
    Outage,
    find_gap,
    find_longest,
    find_recovery,
    find_wrong_statuses,
)


def request(status: int | None, sent: float = 0, ended: float = 1, **given: Any) -> Request:
    given = {"gateway": 0, "kind": "read", "has_retry_after": status == 503, **given}
    return Request("c", path="/", sent=sent, ended=ended, status=status, **given)


def test_a_503_says_when_to_try_again_and_a_500_is_never_right() -> None:
    assert find_wrong_statuses(map(request, (200, 204, 429, 503))) == []
    wrong = [request(500), request(500), request(503, has_retry_after=False), request(404)]
    assert find_wrong_statuses(wrong) == [
        "1 x 503 without Retry-After to reads",
        "1 x status 404 to reads",
        "2 x status 500 to reads",
    ]


def test_only_a_gateway_that_ends_may_leave_requests_without_a_response() -> None:
    assert find_wrong_statuses([request(None)]) == ["1 x no response to reads"]
    assert find_wrong_statuses([request(None)], ended_gateways={0}) == []
    assert find_wrong_statuses([request(None)], ended_gateways={1}) != []


def test_the_longest_request_is_of_its_kind() -> None:
    requests = [request(200, 0, 2), request(503, 0, 3), request(200, 0, 9, kind="write")]
    assert (find_longest(requests, "read"), find_longest(requests, "write")) == (3, 9)
    assert find_longest([], "read") == 0


def test_a_gap_is_between_two_successes_around_the_outage() -> None:
    requests = [request(200, 0, at) for at in (1, 2, 9, 10, 40)] + [request(503, 0, 5)]
    assert find_gap(requests, "read", Outage(3, 6, 12)) == 7
    assert find_gap(requests, "read", Outage(10.5, 20, 30)) == 20
    assert find_gap([], "read", Outage(3, 6, 12)) == 9


def test_the_gap_is_that_of_the_gateway_with_the_longer_one() -> None:
    requests = [request(200, 0, at, gateway=at % 2) for at in (2, 3, 4, 6, 8, 9, 10, 11)]
    assert find_gap(requests, "read", Outage(3, 6, 12)) == 6


def test_recovery_ends_with_the_last_failure() -> None:
    requests = [request(200, 0, 7), request(503, 0, 8), request(503, 0, 99)]
    assert find_recovery(requests, "read", Outage(3, 6, 12)) == 2
    assert find_recovery(requests, "write", Outage(3, 6, 12)) == 0
