"""The rate limit of each API key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.rate_limit import RateLimiter

RATES = st.sampled_from([0.5, 1.0, 3.0, 10.0, 1000.0])
BURSTS = st.integers(1, 20)
PAUSES = st.lists(st.floats(0, 5), min_size=1, max_size=60)


def test_a_burst_is_let_in_and_then_the_rate() -> None:
    limiter = RateLimiter(per_second=2, burst=3)
    assert [limiter.check("key", 0) for _ in range(3)] == [None] * 3
    assert limiter.check("key", 0) == pytest.approx(0.5)
    assert limiter.check("key", 0.4) == pytest.approx(0.1)
    assert limiter.check("key", 0.5) is None
    assert limiter.check("key", 0.5) == pytest.approx(0.5)


@given(RATES, BURSTS, PAUSES)
def test_no_window_holds_more_than_burst_and_rate(
    per_second: float, burst: int, pauses: list[float]
) -> None:
    limiter = RateLimiter(per_second, burst)
    now, admitted = 100.0, list[float]()
    for pause in pauses:
        now += pause
        admitted += [now for _ in range(3) if limiter.check("key", now) is None]
    for first, start in enumerate(admitted):
        for count, end in enumerate(admitted[first:], start=1):
            assert count <= burst + per_second * (end - start) + 1e-6


@given(RATES, BURSTS, PAUSES)
def test_a_client_that_waits_for_retry_after_is_let_in(
    per_second: float, burst: int, pauses: list[float]
) -> None:
    limiter = RateLimiter(per_second, burst)
    now = 100.0
    for pause in pauses:
        now += pause
        wait_seconds = limiter.check("key", now)
        if wait_seconds is not None:
            assert 0 < wait_seconds <= 1 / per_second + 1e-6
            now += wait_seconds
            assert limiter.check("key", now) is None


@given(RATES, st.integers(1, 100))
def test_a_client_within_the_rate_is_never_turned_away(per_second: float, requests: int) -> None:
    limiter = RateLimiter(per_second, burst=1)
    assert all(limiter.check("key", 5 + n / per_second) is None for n in range(requests))


def test_keys_do_not_share_a_rate() -> None:
    limiter = RateLimiter(per_second=1, burst=1)
    assert limiter.check("one", 0) is None
    assert limiter.check("other", 0) is None
    assert limiter.check("one", 0) is not None


def test_the_least_recently_used_keys_are_evicted() -> None:
    limiter = RateLimiter(per_second=0.001, burst=2, max_keys=2)
    for key in ("a", "b", "a", "c"):  # forgets b
        assert limiter.check(key, 0) is None
    assert limiter.check("a", 0) is not None
    assert [limiter.check("b", 0), limiter.check("b", 0)] == [None, None]


def test_a_rate_of_zero_means_no_limit() -> None:
    limiter = RateLimiter(per_second=0, burst=1)
    assert all(limiter.check("key", 0) is None for _ in range(100))


@pytest.mark.parametrize(("per_second", "burst"), [(-1, 1), (1, 0)])
def test_a_meaningless_rate_is_rejected(per_second: float, burst: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        RateLimiter(per_second, burst)
