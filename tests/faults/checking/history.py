"""What clients did and what they were answered, as they saw it. Times are of `time.monotonic`."""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Action = Literal["write", "remove", "read"]


@dataclass(frozen=True, slots=True)
class Operation:
    """A write, a removal or a read of one register, such as the attribute of a unit.

    A removal changes the register only if it has this value. What may or may not have happened,
    because there was no answer or a 503, has not returned: it may still happen at any time.
    """

    register: str
    action: Action
    value: str | None
    invoked: float
    returned: float = math.inf
    client: str = ""
    gateway: int = 0
    is_cached: bool = False
    """Whether it was a read that a cache may answer."""

    @property
    def is_unknown(self) -> bool:
        """Whether nobody told the client how it ended."""
        return self.returned == math.inf


@dataclass(frozen=True, slots=True)
class Request:
    """A request and its response."""

    client: str
    gateway: int
    kind: Literal["read", "write"]
    path: str
    sent: float
    ended: float
    status: int | None
    """None without a response."""
    has_retry_after: bool = False

    @property
    def is_success(self) -> bool:
        """Whether the response is what the client asked for."""
        return self.status in (200, 204)

    @property
    def seconds(self) -> float:
        """How long the client waited."""
        return self.ended - self.sent


def by_register(operations: Iterable[Operation]) -> dict[str, list[Operation]]:
    """Return the operations of each register, in the order in which they began."""
    registers: dict[str, list[Operation]] = defaultdict(list)
    for operation in sorted(operations, key=lambda each: each.invoked):
        registers[operation.register].append(operation)
    return registers
