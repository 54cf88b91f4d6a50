"""A rate limit for each API key."""

from collections import OrderedDict


class RateLimiter:
    """The generic cell rate algorithm (ITU-T I.371, virtual scheduling), one cell per request.

    A key may make `burst` requests at once and `per_second` in the long run. Rejected requests
    do not count. The state is one number per key, for the `max_keys` keys used last; an
    evicted key starts anew. Each process counts by itself. A `per_second` of 0 turns it off.

    >>> limiter = RateLimiter(per_second=2, burst=1)
    >>> limiter.check("key", now=0.0)
    >>> limiter.check("key", now=0.0)
    0.5
    """

    def __init__(self, per_second: float, burst: int, max_keys: int = 100_000) -> None:
        if per_second < 0 or burst < 1 or max_keys < 1:
            raise ValueError(
                "per_second must not be negative; burst and max_keys must be at least 1"
            )
        self._interval_seconds = 1 / per_second if per_second else 0.0
        self._tolerance_seconds = (burst - 1) * self._interval_seconds
        self._max_keys = max_keys
        self._theoretical_arrivals: OrderedDict[str, float] = OrderedDict()

    def check(self, key_id: str, now: float) -> float | None:
        """Admit a request and return None, or reject it and return the seconds to wait.

        `now` is in seconds of any monotonic clock.
        """
        if not self._interval_seconds:
            return None
        expected = max(self._theoretical_arrivals.get(key_id, now), now)
        retry_after_seconds = expected - self._tolerance_seconds - now
        if retry_after_seconds > 1e-9:  # more than a rounding error
            return retry_after_seconds
        self._theoretical_arrivals[key_id] = expected + self._interval_seconds
        self._theoretical_arrivals.move_to_end(key_id)
        if len(self._theoretical_arrivals) > self._max_keys:
            self._theoretical_arrivals.popitem(last=False)
        return None
