"""Who is let in: a bound on requests in flight, and a rate for each key."""

from collections import OrderedDict
from collections.abc import Collection

from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.access import UNAVAILABLE_MESSAGES

HEALTH_PATHS = frozenset({"/health/live", "/health/ready"})
"""Always let in: a probe that is shed would have a busy service restarted."""


class LoadSheddingMiddleware:
    """Sheds what is beyond `limit` requests in flight in this process, before any other work.

    Without it an overloaded event loop makes the database driver's timeouts fire, and
    everybody fails; with it the rest stay fast. 0 turns it off.
    """

    def __init__(
        self, app: ASGIApp, max_in_flight: int = 100, exempt_paths: Collection[str] = HEALTH_PATHS
    ) -> None:
        self.app = app
        self.max_in_flight = max_in_flight
        self.exempt_paths = exempt_paths
        self.in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not self.max_in_flight or scope["path"] in self.exempt_paths:
            await self.app(scope, receive, send)
            return
        if self.in_flight >= self.max_in_flight:
            for message in UNAVAILABLE_MESSAGES:
                await send(message)
            return
        self.in_flight += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self.in_flight -= 1


class RateLimiter:
    """The generic cell rate algorithm (ITU-T I.371, virtual scheduling), one cell a request.

    A key may make `burst` requests at once and `per_second` in the long run; refused ones cost
    nothing. One number a key is kept, for the `capacity` keys used last; a forgotten key
    starts anew. In memory: each process counts by itself. A `per_second` of 0 turns it off.
    """

    def __init__(self, per_second: float, burst: int, max_keys: int = 100_000) -> None:
        if per_second < 0 or burst < 1 or max_keys < 1:
            raise ValueError("A rate must not be negative; burst and capacity must be at least 1")
        self._interval_seconds = 1 / per_second if per_second else 0.0
        self._tolerance_seconds = (burst - 1) * self._interval_seconds
        self._max_keys = max_keys
        self._theoretical_arrivals: OrderedDict[str, float] = OrderedDict()

    def check(self, key_id: str, now: float) -> float | None:
        """None lets the request in; else the seconds after which one will be let in.

        `now` is in seconds of any clock that does not run backwards.
        """
        if not self._interval_seconds:
            return None
        expected = max(self._theoretical_arrivals.get(key_id, now), now)
        retry_after_seconds = expected - self._tolerance_seconds - now
        if retry_after_seconds > 1e-9:  # what floating point leaves of nothing
            return retry_after_seconds
        self._theoretical_arrivals[key_id] = expected + self._interval_seconds
        self._theoretical_arrivals.move_to_end(key_id)
        if len(self._theoretical_arrivals) > self._max_keys:
            self._theoretical_arrivals.popitem(last=False)
        return None
