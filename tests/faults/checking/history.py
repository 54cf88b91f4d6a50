"""What clients did and what they were answered, as they saw it. Times are of `time.monotonic`."""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Action = Literal["write", "remove", "read"]
ANY = "*"


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
    request_id: str = ""
    """Of a write or a removal, as the audit log has it."""
    must_change: bool = False
    """Whether it changes something if it happens; a removal may find nothing to remove."""
    replaces: str | None = ANY
    """Of a write with a precondition, the value before; it does nothing where there is another."""

    @property
    def is_unknown(self) -> bool:
        """Whether nobody told the client how it ended."""
        return self.returned == math.inf


@dataclass(frozen=True, slots=True)
class Page:
    """A list that one request has returned: the values of many registers at once."""

    invoked: float
    returned: float
    client: str
    gateway: int
    is_cached: bool
    values: dict[str, str | None]

    def read(self, register: str) -> Operation:
        """Return what the page says of one register."""
        value = self.values.get(register)
        return Operation(
            *(register, "read", value, self.invoked, self.returned),
            *(self.client, self.gateway, self.is_cached),
        )


@dataclass(frozen=True, slots=True)
class Request:
    """A request and its response."""

    client: str
    gateway: int
    kind: str
    """`read`, `write`, `import` or `key`."""
    path: str
    sent: float
    ended: float
    status: int | None
    """None without a response."""
    has_retry_after: bool = False
    code: str = ""
    """It is the code of a 503."""

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


def read_extras(operations: Iterable[Operation], pages: Iterable[Page]) -> list[Operation]:
    """Return what pages say of registers that are written "yes" once and then "gone".

    An absent one was not written yet if nobody had begun to remove it; else it may be either, and
    tells nothing.
    """
    pages = list(pages)
    reads = []
    for register, writes in by_register(operations).items():
        removed_at = min(
            (each.invoked for each in writes if each.value == "gone"), default=math.inf
        )
        for page in pages:
            value = page.values.get(register)
            if value == "yes" or (value is None and writes[0].invoked < page.returned < removed_at):
                reads.append(page.read(register))
    return reads
