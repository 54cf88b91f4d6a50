"""Admission: which requests a worker works on, decided before the application runs.

Only work counts. See docs/decisions/server/load-shedding.md.
"""

import asyncio
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from starlette.types import Scope

from gateway.authentication import find_api_key
from gateway.client_address import group_address
from gateway.exchange import get_client_address
from gateway.limits.rate_limit import RateLimiter, RateLimitStatus
from gateway.server.connections.input_turns import Standing
from gateway.server.limit_log import LimitLog
from rest.error_codes import ERRORS_PATH
from rest.errors import RETRY_AFTER_HEADERS, HttpError, service_unavailable_error
from storage.cache.cache import Cache
from storage.errors import Cause

HEALTH_PATHS = frozenset({"/health/live", "/health/ready"})
"""Never rejected: an orchestrator would restart a busy service that fails its probes."""
KEYLESS_PATHS = frozenset(
    {
        "/v1",
        "/v1/openapi",
        "/v1/openapi.json",
        "/v1/openapi.yaml",
        "/v1/bundle.schema.json",
        ERRORS_PATH,
    }
)
KEYLESS_PREFIX = "/pages/"
MAX_KEYLESS_IN_FLIGHT = 20
"""Requests that need no key, which a worker works on at a time, apart from all others."""
MAX_ARRIVING_BYTES = 128 << 20
"""Total of all incomplete request bodies: six times the largest body allowed."""
MAX_REJECTIONS_PER_SECOND = 1000
"""By the protocol: 3 to 6 % of the time of a worker. Clients that cause more wait."""
MAX_REJECTIONS_PER_ADDRESS = 200
"""The same, of requests without a known key from one address."""
REJECTION_BURST_SECONDS = 0.025
MAX_DELAY_SECONDS = 1.0
"""The `Retry-After` of a rejection."""
_COUNTED_ADDRESSES = 10_000
SCOPE_ADMISSION = "floorgate.admission"
"""Scope member: the `Decision` about a request, if the protocol has made it."""


class Rejection(NamedTuple):
    """An error instead of work."""

    limit: str
    """What is exceeded, for the log."""
    error: HttpError
    has_known_key: bool = False


OVERLOADED = Rejection("requests_in_flight", service_unavailable_error(Cause.QUEUE))
_OVERLOADED_FOR_KEY = OVERLOADED._replace(has_known_key=True)


class _Slots:
    """Room for `limit` requests at a time, of which one group may have `group_limit`."""

    def __init__(self, limit: int, group_limit: int) -> None:
        self.limit = limit
        self.group_limit = group_limit
        self.taken = 0
        self.taken_by = defaultdict[str, int](int)

    def take(self, group: str) -> None:
        self.taken += 1
        self.taken_by[group] += 1

    def give_back(self, group: str) -> None:
        self.taken -= 1
        self.taken_by[group] -= 1
        if not self.taken_by[group]:
            del self.taken_by[group]


class Permit:
    """The slot of one request. It is held while the request causes work."""

    def __init__(self, admission: "Admission", slots: _Slots, group: str) -> None:
        self._admission = admission
        self._slots = slots
        self.group = group
        """A known key, or empty."""
        self._is_held = False

    def acquire(self) -> Rejection | None:
        """Take a slot, or return the response to send because there is none."""
        if self._slots.taken >= self._slots.limit:
            return _OVERLOADED_FOR_KEY if self.group else OVERLOADED
        if self._slots.taken_by.get(self.group, 0) >= self._slots.group_limit:
            return self._admission.key_is_busy if self.group else OVERLOADED
        self._slots.take(self.group)
        self._is_held = True
        return None

    def count_arriving(self, change_bytes: int) -> bool:
        """Count bytes of an incomplete body; return whether there is room for them."""
        admission, group = self._admission, self.group
        admission.arriving_bytes += change_bytes
        admission.arriving_by[group] += change_bytes
        if not admission.arriving_by[group]:
            del admission.arriving_by[group]
        return (
            admission.arriving_bytes <= MAX_ARRIVING_BYTES
            and admission.arriving_by[group] <= MAX_ARRIVING_BYTES // 2
        )

    def release(self) -> None:
        """Give the slot back, if it is held."""
        if self._is_held:
            self._is_held = False
            self._slots.give_back(self.group)


Decision: TypeAlias = Permit | Rejection | None
"""None: the request needs no slot."""


class Admission:
    """Decide whether a worker has room for a request.

    A worker does the work of `max_in_flight` requests at a time, of which `max_per_key` may have
    the same API key. Invented keys (not `is_known_key`) count as one, together with requests
    without any, so that inventing keys gives a client no more slots.
    Requests that need no key have slots of their own: neither they nor the others can take all.
    `address_limiter` limits how many requests without a known key come from one address.
    """

    def __init__(
        self,
        max_in_flight: int = 100,
        max_per_key: int = 50,
        is_known_key: Callable[[str], bool] = lambda key: True,
        address_limiter: RateLimiter | None = None,
    ) -> None:
        self.keyed = _Slots(max_in_flight, max_per_key)
        self.keyless = _Slots(MAX_KEYLESS_IN_FLIGHT, MAX_KEYLESS_IN_FLIGHT)
        self.arriving_bytes = 0
        self.arriving_by: Counter[str] = Counter()
        """By API key, as for slots; one may have half of all."""
        self.key_is_busy = Rejection(
            "requests_per_key",
            HttpError(
                429,
                f"API key: at most {max_per_key} requests may be in progress at a time; "
                "wait for responses before sending more",
                "RATE_LIMITED",
                headers=RETRY_AFTER_HEADERS,
            ),
            has_known_key=True,
        )
        self._is_known_key = is_known_key
        self._address_limiter = address_limiter
        self._unstarted = [deque[Callable[[], None]]() for _ in Standing]
        self._rejections_due = Cache[str, float](max_entries=_COUNTED_ADDRESSES)
        """When the rejections so far would have been sent at their maximum rate, by address."""
        self._has_started_one = False
        """Whether a request has started in this turn of the event loop."""
        self._log = LimitLog("floorgate.admission")

    @property
    def in_flight(self) -> int:
        """The number of requests that are worked on."""
        return self.keyed.taken + self.keyless.taken

    def admit(self, scope: Scope) -> Decision:
        """Return a permit that holds a slot for a request, or its rejection."""
        path: str = scope["path"]
        if path in HEALTH_PATHS:
            return None
        if path in KEYLESS_PATHS or path.startswith(KEYLESS_PREFIX):
            slots, group = self.keyless, ""
        else:
            key = find_api_key(scope) or ""
            slots, group = self.keyed, key if self._is_known_key(key) else ""
        rejection = None if group else self._check_address(scope)
        permit = Permit(self, slots, group)
        return rejection or permit.acquire() or permit

    def _check_address(self, scope: Scope) -> Rejection | None:
        """Apply the rate limit of the client's address."""
        if self._address_limiter is None:
            return None
        client = group_address(get_client_address(scope))
        status = self._address_limiter.check(f"{client} without a key", time.monotonic())
        return None if status.wait_seconds is None else _address_is_busy(status)

    def start(self, begin: Callable[[], None], standing: Standing = Standing.ACCEPTED) -> None:
        """Begin the work of an admitted request: of one in each turn of the event loop, in order.

        If all those admitted began at once, each turn would have a step of every request, and the
        loop would read, and reject, the next ones only after all of these. There is one for each
        standing, so that clients without a key do not delay others.
        """
        if self._has_started_one:
            self._unstarted[standing].append(begin)
        else:
            self._start_all([begin])

    def _start_all(self, begun: list[Callable[[], None]]) -> None:
        self._has_started_one = bool(begun)
        if begun:
            asyncio.get_running_loop().call_soon(self._begin_turn)
        for begin in begun:
            begin()

    def _begin_turn(self) -> None:
        self._start_all([waiting.popleft() for waiting in self._unstarted if waiting])

    def delay_after(self, now: float, cost: int = 1, address: str = "") -> float:
        """Return the seconds to wait before reading from a client again that is rejected `now`.

        It was told to wait a second. If it does, or few are rejected, it notices nothing. Clients
        that ask again at once would otherwise take the time of the requests that are worked on.
        Requests without a known key count for their `address` alone.
        """
        rate = MAX_REJECTIONS_PER_SECOND
        if address:
            rate = min(rate, MAX_REJECTIONS_PER_ADDRESS)
        burst_seconds = REJECTION_BURST_SECONDS * MAX_REJECTIONS_PER_SECOND / rate
        due = max(self._rejections_due.get(address) or 0.0, now - burst_seconds) + cost / rate
        self._rejections_due.put(address, due)
        return min(max(0.0, due - now), MAX_DELAY_SECONDS)

    def count_rejection(self, rejection: Rejection, client: str) -> None:
        """Count a rejection that gets no line in the access log.

        With a line for each, the log would cost more than the rejections.
        """
        message, cause = "Requests are rejected: too many", rejection.error.cause
        self._log.note(rejection.limit, message, client, cause)


def _address_is_busy(status: RateLimitStatus) -> Rejection:
    headers = {
        "Retry-After": str(status.reset_seconds),
        **{name.decode(): value.decode() for name, value in status.headers},
    }
    error = HttpError(429, "Too many requests from this address", "RATE_LIMITED", headers=headers)
    return Rejection("requests_per_address", error)
