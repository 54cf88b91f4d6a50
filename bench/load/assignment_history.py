"""What each unit was assigned and when, to judge whether a response is older than it may be."""

import math
from collections import defaultdict
from collections.abc import Hashable
from typing import NamedTuple

import orjson

from bench.data.portfolio_requests import Address, Assigned

NEVER = math.inf


class Write:
    """An attribute that was written, and when the answer to that came."""

    __slots__ = ("answered_at", "attribute")

    def __init__(self, attribute: str, answered_at: float = NEVER) -> None:
        self.attribute = attribute
        self.answered_at = answered_at


class Place(NamedTuple):
    """What has one attribute at a time."""

    group: str
    unit: str


class AssignmentHistory:
    """The writes to each place, one at a time, in their order.

    A read that is sent at some time has to show every write that was answered before.

    >>> history = AssignmentHistory("oak")
    >>> history.begin(Assigned("finishes", "unit", "stone")).answered_at = 5.0
    >>> old = Assigned("finishes", "unit", "oak")
    >>> history.compute_delay(old, sent_at=4.0), history.compute_delay(old, sent_at=7.0)
    (0.0, 2.0)
    """

    def __init__(self, first: str) -> None:
        first_write = Write(first, -NEVER)
        self._writes = defaultdict[Place, list[Write]](lambda: [first_write])

    def begin(self, assigned: Assigned) -> Write:
        """Add a write that is about to be sent."""
        write = Write(assigned.attribute)
        self._writes[Place(assigned.group, assigned.unit)].append(write)
        return write

    def current(self, place: Place) -> str:
        """Return the attribute that was written last."""
        return self._writes[place][-1].attribute

    def compute_delay(self, shown: Assigned, sent_at: float) -> float:
        """Return for how long a read, when it was sent, should have shown a newer write than it
        does; 0 if it need not, infinity if what it shows was never written.
        """
        newer_answered_at = NEVER
        for write in reversed(self._writes[Place(shown.group, shown.unit)]):
            if write.attribute == shown.attribute:
                return max(0.0, sent_at - newer_answered_at)
            newer_answered_at = write.answered_at
        return NEVER


class ResponseJudge:
    """Compare each response with what it has to be."""

    def __init__(self, history: AssignmentHistory) -> None:
        self.history = history
        self._bodies: dict[Hashable, int] = {}

    def compute_delay(self, address: Address, body: bytes, sent_at: float) -> float:
        """Return for how long a newer response was due when this one's request was sent.

        0 if none was; infinity for a response that was never right. What shows no assignments has
        to be the same for ever.
        """
        kind = address.kind
        if kind.read_assigned is None:
            place = kind.name, address.asset, address.request.headers["API-Key"]
            is_same = self._bodies.setdefault(place, hash(body)) == hash(body)
            return 0.0 if is_same else NEVER
        shown = [*kind.read_assigned(orjson.loads(body))]
        if len({each[:2] for each in shown}) != kind.shown:
            return NEVER
        return max(self.history.compute_delay(each, sent_at) for each in shown)
