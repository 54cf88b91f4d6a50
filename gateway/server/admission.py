"""Admission: which requests a worker works on, and the order in which it parses input.

Both are decided before the application runs. Only work counts.
See docs/decisions/server/load-shedding.md.
"""

import asyncio
import logging
import time
from abc import abstractmethod
from collections import Counter, deque
from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

from starlette.types import Scope

from gateway.authentication import PresentedKey, find_api_key
from gateway.exchange import get_client_address, group_address
from gateway.rate_limits import RateLimiter
from rest.errors import (
    ERRORS_PATH,
    HttpError,
    service_unavailable_error,
    too_many_in_progress_error,
)
from storage.cache.cache import Cache
from storage.errors import UnavailableCause

# Order in which input is parsed, within a budget for each turn of the event loop.
#
# The loop reads from each connection that has sent something before it polls again. If all of it
# were parsed at once, many connections, or many small frames, would decide how long the others
# wait. See docs/decisions/server/connections.md.


UNITS_PER_TURN = 100
"""The budget of a turn, in units of some 10 microseconds: about 1 ms for input."""
RESERVED_UNITS = 60
"""Units for clients with a valid key, and for what is parsed as soon as it arrives."""
PIECE_UNITS = 2
BYTES_PER_UNIT = 2048
_HEAD_END = b"\r\n\r\n"


class Standing(IntEnum):
    """What is known of a client, in the order in which clients are served."""

    ACCEPTED = 0  # it has sent a valid key
    NEW = 1
    REJECTED = 2  # its last request, without a key, was rejected, or it sent too many frames


class InputTurns:
    """The budget of a worker, and the connections that wait for their turn."""

    def __init__(self) -> None:
        self.left = UNITS_PER_TURN
        self._waiting = [deque[ScheduledInput]() for _ in Standing]
        self._is_scheduled = False

    def spend(self, units: int) -> None:
        """Take units from the budget; the next turn has all of them again."""
        self.left -= units
        if self.left < UNITS_PER_TURN // 2:  # a callback for each request would cost a little
            self._schedule()

    def add(self, source: "ScheduledInput", standing: Standing) -> None:
        self._waiting[standing].append(source)
        self._schedule()

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._begin_turn)

    def _begin_turn(self) -> None:
        self._is_scheduled = False
        self.left = UNITS_PER_TURN
        for standing, waiting in enumerate(self._waiting):
            if waiting:  # one of each, however many are before it
                waiting.popleft().parse_next()
            while waiting and self.left > (RESERVED_UNITS if standing else 0):
                waiting.popleft().parse_next()
        if any(self._waiting):
            self._schedule()


class ScheduledInput:
    """A connection that parses what it receives at once or, once the budget is spent, in its turn.

    It holds what was read last, and reads on when that is parsed.
    """

    connection: Any
    transport: asyncio.Transport
    max_piece_bytes: int

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._unparsed = bytearray()
        self._is_queued = False

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():  # TLS goes on reading while it closes
            return
        turns: InputTurns = self.connection.table.turns
        is_short = len(data) <= self.max_piece_bytes and data.count(_HEAD_END) < 2
        if is_short and turns.left > 0 and not self._unparsed and self._may_parse():
            turns.spend(PIECE_UNITS)
            self.parse(data)  # most requests, without a copy
            return
        self._unparsed += data
        if len(self._unparsed) > self.max_piece_bytes:
            self._pause_input()
        self.parse_later()

    def parse_later(self) -> None:
        """Wait for a turn to parse what was received, if it may be parsed yet."""
        if self._unparsed and not self._is_queued and self._may_parse():
            self._is_queued = True
            self.connection.table.turns.add(self, self.connection.standing)

    def parse_next(self) -> None:
        """Parse one piece, which completes the head of one request at most."""
        self._is_queued = False
        if self.transport.is_closing() or not self._may_parse():
            return
        size = self._find_piece_size()
        piece = bytes(self._unparsed[:size])
        del self._unparsed[:size]
        self.connection.table.turns.spend(PIECE_UNITS + len(piece) // BYTES_PER_UNIT)
        self.parse(piece)
        if self._unparsed:
            self.parse_later()
        else:
            self._resume_input()

    def _find_piece_size(self) -> int:
        size = self._unparsed.find(_HEAD_END, 0, self.max_piece_bytes) + len(_HEAD_END)
        has_more = self._unparsed.find(_HEAD_END, size, self.max_piece_bytes) >= 0
        return size if has_more else self.max_piece_bytes

    @abstractmethod
    def parse(self, piece: bytes) -> None:
        """Parse the next bytes of the connection."""

    @abstractmethod
    def _may_parse(self) -> bool:
        """Return whether there is room for what is parsed."""

    @abstractmethod
    def _pause_input(self) -> None: ...

    @abstractmethod
    def _resume_input(self) -> None: ...


QUIET_SECONDS = 10.0
"""The time between two lines about the same limit."""


class LimitLog:
    """Logs the first event of a limit at once, and how many followed when the time of quiet ends.

    Used in an event loop.
    """

    def __init__(self, logger_name: str) -> None:
        self._logger = logging.getLogger(logger_name)
        self._unlogged: dict[str, tuple[int, str, dict[str, Any]]] = {}
        """It counts how often each limit was met since its last line, which it also has."""

    def note(
        self,
        limit: str,
        message: str,
        client: str | None,
        code: str | None = None,
        key_id: str | None = None,
    ) -> None:
        """Log that a client met a limit, or count it for the next line.

        `code` is that of the error response, if there is one, and `key_id` of the key to ask about.
        """
        fields: dict[str, Any] = {"client": client}
        if code is not None:
            fields["errors"] = [code]
        if key_id is not None:
            fields["key_id"] = key_id
        if limit in self._unlogged:
            self._unlogged[limit] = self._unlogged[limit][0] + 1, message, fields
        else:
            self._write(limit, 1, message, fields)

    def _write(self, limit: str, count: int, message: str, fields: dict[str, Any]) -> None:
        self._logger.warning(message, extra={"fields": {"limit": limit, "count": count, **fields}})
        self._unlogged[limit] = 0, "", {}
        asyncio.get_running_loop().call_later(QUIET_SECONDS, self._end_quiet, limit)

    def _end_quiet(self, limit: str) -> None:
        count, message, fields = self._unlogged.pop(limit)
        if count:
            self._write(limit, count, message, fields)


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
KEYLESS_PREFIXES = ("/pages/", "/clients/")
MAX_KEYLESS_IN_FLIGHT = 20
"""Requests that need no key, which a worker works on at a time, apart from all others."""
MAX_ARRIVING_BYTES = 128 << 20
"""Total of all incomplete request bodies: six times the largest body allowed."""
MAX_REJECTIONS_PER_SECOND = 1000
"""Rejections by the protocol: 3 to 6 % of a worker's time. Clients that cause more wait."""
MAX_REJECTIONS_PER_ADDRESS = 200
"""Rejections of requests without a known key from one address."""
REJECTION_BURST_SECONDS = 0.025
MAX_DELAY_SECONDS = 1.0
"""The `Retry-After` of a rejection."""
_COUNTED_ADDRESSES = 10_000
SCOPE_ADMISSION = "floorgate.admission"
"""Scope member: the `Decision` about a request, if the protocol has made it."""


LIMITS = ("requests_in_flight", "requests_per_key", "requests_per_address")


class Rejection(NamedTuple):
    """An error instead of work."""

    limit: str
    """What is exceeded, for the log."""
    error: HttpError
    has_known_key: bool = False
    busiest: str = ""
    """The known key with the most requests in progress, for the log; of a key's own limit, it."""


OVERLOADED = Rejection("requests_in_flight", service_unavailable_error(UnavailableCause.QUEUE_FULL))
_OVERLOADED_FOR_KEY = OVERLOADED._replace(has_known_key=True)


class _Slots:
    """Room for `limit` requests at a time, of which one group may have `group_limit`."""

    def __init__(self, limit: int, group_limit: int) -> None:
        self.limit = limit
        self.group_limit = group_limit
        self.taken = 0
        self.taken_by: dict[str, int] = {}


class Permit:
    """The slot of one request. It is held while the request causes work."""

    def __init__(self, admission: "Admission", slots: _Slots, group: str) -> None:
        self.admission = admission
        self._slots = slots
        self.group = group
        """A known key, or empty."""
        self.is_held = False

    def acquire(self) -> Rejection | None:
        """Take a slot, or return the response to send because there is none."""
        slots, group = self._slots, self.group
        taken = slots.taken_by.get(group, 0)
        if slots.taken >= slots.limit:
            rejection = _OVERLOADED_FOR_KEY if group else OVERLOADED
            busiest = max(slots.taken_by, key=slots.taken_by.__getitem__, default="")
            return rejection._replace(busiest=busiest)
        if taken >= slots.group_limit:
            return self.admission.key_is_busy._replace(busiest=group) if group else OVERLOADED
        slots.taken += 1
        slots.taken_by[group] = taken + 1
        self.is_held = True
        return None

    def count_arriving(self, change_bytes: int) -> Rejection | None:
        """Count bytes of an incomplete body; return the response if there is no room for them."""
        admission, group = self.admission, self.group
        admission.arriving_bytes += change_bytes
        admission.arriving_by[group] += change_bytes
        if not admission.arriving_by[group]:
            del admission.arriving_by[group]
        share = admission.arriving_by[group]
        has_room = admission.arriving_bytes <= MAX_ARRIVING_BYTES
        return None if has_room and share <= MAX_ARRIVING_BYTES // 2 else OVERLOADED

    def release(self) -> None:
        """Give the slot back, if it is held."""
        if self.is_held:
            self.is_held = False
            slots, group = self._slots, self.group
            slots.taken -= 1
            left = slots.taken_by.pop(group) - 1
            if left:
                slots.taken_by[group] = left


Decision: TypeAlias = Permit | Rejection | None
"""None: the request needs no slot."""


class Admission:
    """Decide whether a worker has room for a request.

    A worker does the work of `max_in_flight` requests at a time, of which `max_per_key` may have
    the same API key. Invented keys (not `is_known_key`) count as one, together with requests
    without any, so that inventing keys gives a client no more slots.
    Requests that need no key have slots of their own: neither they nor the others can take all.
    `address_limiter` limits how many requests without a known key come from one address.
    `find_key_id` returns the id of a key for the log.
    """

    def __init__(
        self,
        max_in_flight: int = 100,
        max_per_key: int = 50,
        is_known_key: Callable[[PresentedKey], bool] = lambda key: True,
        address_limiter: RateLimiter | None = None,
        find_key_id: Callable[[str], str | None] = lambda key: None,
    ) -> None:
        self.keyed = _Slots(max_in_flight, max_per_key)
        self.keyless = _Slots(MAX_KEYLESS_IN_FLIGHT, MAX_KEYLESS_IN_FLIGHT)
        self.arriving_bytes = 0
        self.arriving_by: Counter[str] = Counter()
        """Arriving bytes by API key, as for slots; one may have half of all."""
        self.key_is_busy = Rejection(
            "requests_per_key",
            too_many_in_progress_error(
                f"API key: at most {max_per_key} requests may be in progress at a time; "
                "wait for responses before sending more"
            ),
            has_known_key=True,
        )
        self._is_known_key = is_known_key
        self._address_limiter = address_limiter
        self._find_key_id = find_key_id
        self._unstarted = [deque[Callable[[], None]]() for _ in Standing]
        self._rejections_due = Cache[str, float](max_entries=_COUNTED_ADDRESSES)
        """When the rejections so far would have been sent at their maximum rate, by address."""
        self.admitted = 0
        """Requests that got a slot before they began."""
        self.rejected = Counter(dict.fromkeys(LIMITS, 0))
        """Requests that got none, by the limit."""
        self._has_started_one = False
        """True if a request has started in this turn of the event loop."""
        self._log = LimitLog("floorgate.admission")

    @property
    def in_flight(self) -> int:
        return self.keyed.taken + self.keyless.taken

    def admit(self, scope: Scope) -> Decision:
        """Return a permit that holds a slot for a request, or its rejection."""
        path: str = scope["path"]
        if path in HEALTH_PATHS:
            return None
        if path in KEYLESS_PATHS or path.startswith(KEYLESS_PREFIXES):
            slots, group = self.keyless, ""
        else:
            key = find_api_key(scope)
            slots, group = self.keyed, key.text if self._is_known_key(key) else ""
        rejection = None if group else self._check_address(scope)
        permit = Permit(self, slots, group)
        if rejection := rejection or permit.acquire():
            return rejection
        self.admitted += 1
        return permit

    def _check_address(self, scope: Scope) -> Rejection | None:
        """Apply the rate limit of the client's address."""
        if self._address_limiter is None:
            return None
        client = group_address(get_client_address(scope))
        status = self._address_limiter.check(f"{client} without a key", time.monotonic())
        if status.wait_seconds is None:
            return None
        headers = {name.decode(): value.decode() for name, value in status.headers}
        headers["Retry-After"] = str(status.reset_seconds)
        message = "Too many requests from this address"
        error = HttpError(429, message, "ADDRESS_RATE_LIMITED", headers=headers)
        return Rejection("requests_per_address", error)

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
        self.rejected[rejection.limit] += 1
        message, code = "Requests are rejected: too many", rejection.error.code
        key_id = self._find_key_id(rejection.busiest) if rejection.busiest else None
        self._log.note(rejection.limit, message, client, code, key_id)
