"""A limit on requests with invalid API keys, for each client address.

See docs/decisions/server/rate-limits.md.
"""

import logging
import time
from typing import NamedTuple

from gateway.limits.arrival_table import ArrivalTable
from gateway.limits.rate_limit import RateLimiter
from storage.cache.cache import Cache

ADDRESSES_AT_LIMIT = 50
"""All addresses together may send as many invalid keys as this many at their limit."""
LOG_INTERVAL_SECONDS = 60.0
_ALL_ADDRESSES = "all"
_COUNTED_CLIENTS = 10_000

_logger = logging.getLogger("floorgate.keys")


class Excess(NamedTuple):
    """A limit that is exceeded."""

    client: str
    """The client, or all of them."""
    wait_seconds: float


class _Count:
    __slots__ = ("bad_keys", "next_line_at")

    def __init__(self) -> None:
        self.bad_keys = 0
        """Since the last log line."""
        self.next_line_at = 0.0


class BadKeyThrottle:
    """Rate-limit requests with unknown keys, and log the clients that exceed the limit."""

    def __init__(self, per_second: float, burst: int, arrivals: ArrivalTable) -> None:
        self._each = RateLimiter(per_second, burst, arrivals)
        self._all = RateLimiter(
            per_second * ADDRESSES_AT_LIMIT, burst * ADDRESSES_AT_LIMIT, arrivals
        )
        self._counts: Cache[str, _Count] = Cache(max_entries=_COUNTED_CLIENTS)

    def charge(self, client: str) -> Excess | None:
        """Count a request before its key is looked up, so that concurrent ones count as well.

        Return the limit that it exceeds, if any.
        """
        now = time.monotonic()
        wait_seconds = self._each.check(client, now).wait_seconds
        if wait_seconds is not None:
            return Excess(client, wait_seconds)
        wait_seconds = self._all.check(_ALL_ADDRESSES, now).wait_seconds
        if wait_seconds is None:
            return None
        self._each.refund(client)
        return Excess(_ALL_ADDRESSES, wait_seconds)

    def refund(self, client: str) -> None:
        """Take back a charge: the key is valid, or could not be looked up."""
        self._each.refund(client)
        self._all.refund(_ALL_ADDRESSES)

    def count(self, client: str, *, is_throttled: bool) -> None:
        """Count an invalid key. Log a line when the client is throttled, then one a minute.

        With a line for each key, a client could fill the disk.
        """
        count = self._counts.get(client)
        if count is None:
            count = _Count()
            self._counts.put(client, count)
        count.bad_keys += 1
        now = time.monotonic()
        if is_throttled and now >= count.next_line_at:
            fields = {"client": client, "bad_keys": count.bad_keys}
            _logger.warning("invalid API keys are throttled", extra={"fields": fields})
            count.bad_keys, count.next_line_at = 0, now + LOG_INTERVAL_SECONDS
