"""Rate limits of API keys and of client addresses, which all workers of a gateway share.

The supervisor imports this module too, so it imports little.
See docs/decisions/server/rate-limits.md.
"""

import fcntl
import functools
import hashlib
import math
import mmap
import os
from typing import NamedTuple

from storage.mongo.shared_memory import allocate

SLOTS = 65_536
"""Clients that a table remembers."""
_SLOTS_PER_SET = 8
SETS = SLOTS // _SLOTS_PER_SET
_TAG_BYTES = SLOTS * 8
_TABLE_BYTES = 2 * _TAG_BYTES
_LOCK_ATTEMPTS = 5_000
"""The attempts to lock, which take some 15 ms. A process holds a lock for microseconds, unless it
is stopped while it does."""


@functools.lru_cache(maxsize=1_000)
def compute_tag(name: str) -> int:
    """Return what stands for a name in a table, the same in all processes."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest())


class ArrivalTable:
    """Map names to theoretical arrival times, in a fixed amount of memory.

    A table is set-associative: the digest of a name selects eight slots, and the name is in one of
    them. A time in the past says no more than an unknown name does, so its slot is free. Without a
    free slot, the name with the earliest time is evicted and starts anew.

    Times are of `time.monotonic()`, which on Linux all processes read from one clock.
    """

    def __init__(
        self, memory: mmap.mmap, number: int = 0, lock_descriptor: int | None = None
    ) -> None:
        """Use a table in memory; without `lock_descriptor`, no other process does."""
        view = memoryview(memory)[number * _TABLE_BYTES :][:_TABLE_BYTES]
        self._tags = view[:_TAG_BYTES].cast("Q")
        self.times = view[_TAG_BYTES:].cast("d")
        """Theoretical arrival times by slot; 0 for a name that was not in the table."""
        self._lock_descriptor = lock_descriptor
        self._first_lock = number * SETS

    def lock_slot(self, name: str) -> int:
        """Return the slot of a name. No other process changes its time until `unlock_slot`."""
        tag = compute_tag(name)
        set_number = tag % SETS
        if self._lock_descriptor is not None:
            self._lock(set_number)
        first = set_number * _SLOTS_PER_SET
        slots = range(first, first + _SLOTS_PER_SET)
        for slot in slots:
            if self._tags[slot] == tag:
                return slot
        slot = min(slots, key=self.times.__getitem__)
        self._tags[slot], self.times[slot] = tag, 0.0
        return slot

    def unlock_slot(self, slot: int) -> None:
        """Let other processes change the time in a slot."""
        if self._lock_descriptor is not None:
            number = self._first_lock + slot // _SLOTS_PER_SET
            fcntl.lockf(self._lock_descriptor, fcntl.LOCK_UN, 1, number)

    # Record locks belong to a process, and the kernel releases those of a process that dies.

    def _lock(self, set_number: int) -> bool:
        """Lock the slots of a set, or return False.

        Never wait for long: a process that was stopped may hold the lock, and requests go before an
        exact count. What is lost then is what this process admits until the other one continues.
        """
        assert self._lock_descriptor is not None
        exclusive = fcntl.LOCK_EX | fcntl.LOCK_NB
        for _ in range(_LOCK_ATTEMPTS):
            try:
                fcntl.lockf(self._lock_descriptor, exclusive, 1, self._first_lock + set_number)
            except (BlockingIOError, PermissionError):  # POSIX allows both
                os.sched_yield()
            else:
                return True
        return False


class ArrivalTables(NamedTuple):
    keys: ArrivalTable
    """The table of API keys, by their id."""
    addresses: ArrivalTable
    """The table of client addresses, on its own so that many of them evict no key."""

    @classmethod
    def for_single_process(cls) -> "ArrivalTables":
        memory = mmap.mmap(-1, len(cls._fields) * _TABLE_BYTES)
        return cls(*(ArrivalTable(memory, number) for number in range(len(cls._fields))))

    @classmethod
    def attach(cls, descriptor: int) -> "ArrivalTables":
        """Return the tables in memory that the supervisor created; keep the descriptor open."""
        memory = mmap.mmap(descriptor, len(cls._fields) * _TABLE_BYTES)
        return cls(
            *(ArrivalTable(memory, number, descriptor) for number in range(len(cls._fields)))
        )


def create_shared_memory() -> int:
    """Return the file descriptor of memory with empty tables. Pages take memory once used."""
    return allocate("floorgate-arrivals", len(ArrivalTables._fields) * _TABLE_BYTES)


_ROUNDING = 0.01
"""Rounding errors of times, as a share of the interval between two requests."""


class RateLimitStatus(NamedTuple):
    """What a request met, and what the client may do next."""

    wait_seconds: float | None = None
    """The time to wait until a request is admitted; None if this one was."""
    remaining: int = 0
    """Requests that would be admitted at once now."""
    reset_seconds: int = 0
    """The time until the whole burst is available again or, if nothing is, one request."""
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

    >>> from gateway.rate_limits import ArrivalTables
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
        slot = arrivals.lock_slot(name)
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
            slot = self._arrivals.lock_slot(name)
            self._arrivals.times[slot] -= self._interval_seconds
            self._arrivals.unlock_slot(slot)
