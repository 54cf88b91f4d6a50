"""The rate limit of each API key."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.limits.arrival_table import ArrivalTables
from gateway.limits.rate_limit import RateLimiter, RateLimitStatus

RATES = st.sampled_from([0.5, 1.0, 3.0, 10.0, 1000.0])
BURSTS = st.integers(1, 20)
PAUSES = st.lists(st.floats(0, 5), min_size=1, max_size=60)
UPTIMES = st.sampled_from([100.0, 12_345_678.9])
"""Readings of the clock; a year of uptime leaves a float a few nanoseconds of precision."""


def make_limiter(per_second: float, burst: int) -> RateLimiter:
    return RateLimiter(per_second, burst, ArrivalTables.for_single_process().keys)


def is_admitted(limiter: RateLimiter, now: float, name: str = "key") -> bool:
    return limiter.check(name, now).wait_seconds is None


def count_admitted(limiter: RateLimiter, now: float) -> int:
    """How many requests are admitted at once."""
    return next(count for count in range(10_000) if not is_admitted(limiter, now))


def make_requests(
    limiter: RateLimiter, pauses: list[float], now: float
) -> tuple[float, RateLimitStatus]:
    """The time and the status of the last of some requests, each after a pause."""
    for pause in pauses:
        now += pause
        status = limiter.check("key", now)
    return now, status


def test_a_burst_is_admitted_and_then_the_rate() -> None:
    limiter = make_limiter(per_second=2, burst=3)
    assert [is_admitted(limiter, 0) for _ in range(3)] == [True] * 3
    assert limiter.check("key", 0).wait_seconds == pytest.approx(0.5)
    assert limiter.check("key", 0.4).wait_seconds == pytest.approx(0.1)
    assert is_admitted(limiter, 0.5)
    assert limiter.check("key", 0.5).wait_seconds == pytest.approx(0.5)


@given(RATES, BURSTS, PAUSES, UPTIMES)
def test_no_window_holds_more_than_burst_and_rate(
    per_second: float, burst: int, pauses: list[float], now: float
) -> None:
    limiter = make_limiter(per_second, burst)
    admitted = list[float]()
    for pause in pauses:
        now += pause
        admitted += [now for _ in range(3) if is_admitted(limiter, now)]
    for first, start in enumerate(admitted):
        for count, end in enumerate(admitted[first:], start=1):
            assert count <= burst + per_second * (end - start) + 0.011


@given(RATES, BURSTS, PAUSES, UPTIMES)
def test_a_client_that_waits_for_retry_after_is_admitted(
    per_second: float, burst: int, pauses: list[float], now: float
) -> None:
    limiter = make_limiter(per_second, burst)
    for pause in pauses:
        now += pause
        status = limiter.check("key", now)
        if status.wait_seconds is not None:
            assert 0 < status.wait_seconds <= 1 / per_second + 1e-6
            assert status.remaining == 0
            assert status.reset_seconds == math.ceil(status.wait_seconds)
            assert is_admitted(limiter, now + status.wait_seconds)
            now += status.wait_seconds


@given(RATES, BURSTS, PAUSES, UPTIMES)
def test_as_many_requests_are_admitted_as_the_header_says(
    per_second: float, burst: int, pauses: list[float], now: float
) -> None:
    limiter = make_limiter(per_second, burst)
    now, status = make_requests(limiter, pauses, now)
    assert count_admitted(limiter, now) == status.remaining


@given(RATES, BURSTS, PAUSES, UPTIMES)
def test_the_whole_burst_is_available_after_the_reset(
    per_second: float, burst: int, pauses: list[float], now: float
) -> None:
    limiter = make_limiter(per_second, burst)
    now, status = make_requests(limiter, pauses, now)
    expected = burst if status.remaining else 1
    assert count_admitted(limiter, now + status.reset_seconds) >= expected


def test_every_request_takes_one_from_what_remains() -> None:
    limiter = make_limiter(per_second=2, burst=4)
    statuses = [limiter.check("key", 50.0) for _ in range(5)]
    assert [(each.remaining, each.reset_seconds) for each in statuses] == [
        (3, 1),
        (2, 1),
        (1, 2),
        (0, 1),  # one request is available again
        (0, 1),
    ]
    later = limiter.check("key", 52.0)
    assert (later.remaining, later.reset_seconds) == (3, 1)


def test_the_largest_default_burst_is_exact_after_years_of_uptime() -> None:
    limiter = make_limiter(per_second=500, burst=1000)
    assert count_admitted(limiter, 123_456_789.012) == 1000


@pytest.mark.parametrize(
    ("per_second", "burst", "policy"),
    [(500, 1000, "q=1000;w=2"), (1, 50, "q=50;w=50"), (3, 10, "q=10;w=4"), (500, 50, "q=50;w=1")],
)
def test_the_policy_is_the_burst_and_the_seconds_until_it_is_available_again(
    per_second: int, burst: int, policy: str
) -> None:
    headers = dict(make_limiter(per_second, burst).check("key", 7.0).headers)
    assert headers[b"ratelimit-policy"].decode() == f'"default";{policy}'
    assert re.fullmatch(rb'"default";r=\d+;t=\d+', headers[b"ratelimit"])


def test_a_refunded_request_does_not_count() -> None:
    limiter = make_limiter(per_second=1, burst=2)
    for _ in range(5):
        assert is_admitted(limiter, 3)
        limiter.refund("key")
    assert count_admitted(limiter, 3) == 2


def test_a_rate_of_zero_means_no_limit_and_no_header() -> None:
    limiter = make_limiter(per_second=0, burst=1)
    assert {limiter.check("key", 0) for _ in range(100)} == {RateLimitStatus()}
    limiter.refund("key")
    assert RateLimitStatus().headers == []


@pytest.mark.parametrize(("per_second", "burst"), [(-1, 1), (1, 0)])
def test_a_meaningless_rate_is_rejected(per_second: float, burst: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        make_limiter(per_second, burst)
