"""A rate limit for each API key or client."""

import math
from typing import NamedTuple

from gateway.limits.arrival_table import ArrivalTable

_ROUNDING = 0.01
"""Rounding errors of times, as a share of the interval between two requests."""


class RateLimitStatus(NamedTuple):
    """What a request met, and what the client may do next."""

    wait_seconds: float | None = None
    """How long to wait until a request is admitted; None if this one was."""
    remaining: int = 0
    """Requests that would be admitted at once now."""
    reset_seconds: int = 0
    """Until the whole burst is available again or, if nothing is, until a request is admitted."""
    policy: bytes | None = None
    """Value of the header `RateLimit-Policy`; None without a limit."""

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """The header fields that tell the client (draft-ietf-httpapi-ratelimit-headers-10)."""
        if self.policy is None:
            return []
        limit = b'"default";r=%d;t=%d' % (self.remaining, self.reset_seconds)
        return [(b"ratelimit-policy", self.policy), (b"ratelimit", limit)]


_UNLIMITED = RateLimitStatus()


class RateLimiter:
    """The generic cell rate algorithm (ITU-T I.371, virtual scheduling), one cell per request.

    A client may make `burst` requests at once and `per_second` in the long run. Rejected requests
    do not count. The state is one number per client, in a table that processes may share. A
    `per_second` of 0 turns the limit off.

    >>> from gateway.limits.arrival_table import ArrivalTables
    >>> limiter = RateLimiter(2, burst=1, arrivals=ArrivalTables.for_single_process().keys)
    >>> limiter.check("key", now=1.0).wait_seconds
    >>> limiter.check("key", now=1.0).wait_seconds
    0.5
    """

    def __init__(self, per_second: float, burst: int, arrivals: ArrivalTable) -> None:
        if per_second < 0 or burst < 1:
            raise ValueError("per_second must not be negative, and burst must be at least 1")
        self.burst = burst
        self._arrivals = arrivals
        self._interval_seconds = 1 / per_second if per_second else 0.0
        self._tolerance_seconds = (burst - 1) * self._interval_seconds
        window_seconds = max(1, math.ceil(burst * self._interval_seconds))
        self._policy = b'"default";q=%d;w=%d' % (burst, window_seconds)

    def check(self, name: str, now: float) -> RateLimitStatus:
        """Admit or reject a request. `now` is in seconds of `time.monotonic()`.

        Processes may call this in another order than they read the clock: a window of any length
        holds no more requests than allowed.
        """
        if not self._interval_seconds:
            return _UNLIMITED
        arrivals = self._arrivals
        slot = arrivals.lock_slot(name)  # each request passes here: no context manager
        try:
            arrival = max(arrivals.times[slot], now)
            wait_seconds = arrival - self._tolerance_seconds - now
            if wait_seconds > _ROUNDING * self._interval_seconds:
                return RateLimitStatus(wait_seconds, 0, math.ceil(wait_seconds), self._policy)
            arrival += self._interval_seconds
            arrivals.times[slot] = arrival
        finally:
            arrivals.unlock_slot(slot)
        ahead_seconds = arrival - now
        remaining = math.floor(self.burst + _ROUNDING - ahead_seconds / self._interval_seconds)
        if remaining <= 0:  # available again means: one request is
            remaining, ahead_seconds = 0, ahead_seconds - self._tolerance_seconds
        return RateLimitStatus(None, remaining, math.ceil(ahead_seconds), self._policy)

    def refund(self, name: str) -> None:
        """Take back that a request was admitted."""
        if self._interval_seconds:
            with self._arrivals.find_slot(name) as slot:
                self._arrivals.times[slot] -= self._interval_seconds
