"""Plans of the simulation, drawn from a seed: what clients do, and what breaks when.

A plan is a list, in the order in which its events begin. So a part of a plan is a plan too, which
is what shrinking needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Literal, TypeAlias

from tests.faults.catalog import BLOCK_UNITS, GATEWAYS, SINGLE_UNITS, find_home
from tests.faults.wire import Fault

CLIENTS = 8
ACTS = 40
FAULT_SHARE = 0.35
"""How many acts have a fault or a restart before them."""
Kind = Literal[
    "write",
    "remove",
    "swap",
    "leave",
    "add",
    "take",
    "import",
    "use keys",
    "read",
    "read uncached",
    "read many",
    "read asset",
]


@dataclass(frozen=True, slots=True)
class Act:
    """What a client does as soon as it has done its last act, through a gateway."""

    client: int
    gateway: int
    kind: Kind
    register: str = ""
    value: int = 0
    """No two writes of a plan have the same."""

    def __str__(self) -> str:
        what = f" {self.register} = {self.value}" if self.value else ""
        return f"client {self.client} at gateway {self.gateway}: {self.kind}{what}"


@dataclass(frozen=True, slots=True)
class Break:
    """A fault of some of the commands that a gateway sends from now on."""

    gateway: int
    fault: Fault
    command: str
    """What their labels begin with, such as `update attribute_assignments`."""
    skip: int = 0
    """How many of them pass before."""
    times: int = 1

    def __str__(self) -> str:
        return (
            f"gateway {self.gateway}: {self.fault.value} for {self.times} x"
            f" {self.command!r} after {self.skip}"
        )


@dataclass(frozen=True, slots=True)
class Interrupt:
    """The end of all faults at a gateway; a restart of it; a new connection of each follower."""

    gateway: int
    kind: Literal["mend", "restart", "reconnect"]

    def __str__(self) -> str:
        return f"gateway {self.gateway}: {self.kind}"


Event: TypeAlias = Act | Break | Interrupt
Plan: TypeAlias = Sequence[Event]

ACT_WEIGHTS: dict[Kind, int] = {
    "write": 10,
    "remove": 2,
    "swap": 3,
    "leave": 2,
    "add": 4,
    "take": 3,
    "import": 2,
    "use keys": 1,  # it waits a second
    "read": 8,
    "read uncached": 4,
    "read many": 3,
    "read asset": 4,
}
REGISTERS = [*SINGLE_UNITS, *(f"block {block}" for block in range(len(BLOCK_UNITS)))]
CONFLICTING = [
    *("update attribute_assignments", "delete attribute_assignments", "insert audit_log"),
    *("update conditional_writes", "insert tombstones", "delete tombstones"),
]
"""Writes in transactions: MongoDB itself repeats others that conflict."""
COMMANDS = [
    *CONFLICTING,
    *("commitTransaction", "commitTransaction", "abortTransaction", "killSessions"),
    *("find attribute_groups", "find units", "find attribute_assignments", "find imports"),
    *("findAndModify imports", "insert staging", "update units", "update assets", "drop"),
    *("insert api_keys", "findAndModify api_keys", "find api_keys", "aggregate", "listCollections"),
    *("getMore the change stream", "aggregate the change stream", "find", "update", "insert", ""),
]


def draw(seed: int) -> Plan:
    """Draw a plan. Each has a few kinds of faults at a few commands: so these meet more often."""
    random = Random(seed)
    faults = random.sample([*Fault], random.randint(1, 4))
    commands = random.sample(COMMANDS, random.randint(4, 8))
    kinds = {kind: weight * random.choice((0, 1, 1, 3)) for kind, weight in ACT_WEIGHTS.items()}
    if not any(kinds.values()):
        kinds = ACT_WEIGHTS
    events, acts = list[Event](), list[Act]()
    for _ in range(ACTS):
        if random.random() < FAULT_SHARE:
            events.append(_draw_trouble(random, faults, commands))
        (kind,) = random.choices([*kinds], [*kinds.values()])
        acts.append(_draw_act(random, kind, acts))
        events.append(acts[-1])
    return events


def _draw_trouble(random: Random, faults: list[Fault], commands: list[str]) -> Event:
    gateway = random.randrange(GATEWAYS)
    if random.random() < 0.75:
        fault, command = random.choice(faults), random.choice(commands)
        if fault is Fault.WRITE_CONFLICT:
            command = random.choice(CONFLICTING)
        return Break(gateway, fault, command, random.choice((0, 0, 1, 4)), random.choice((1, 1, 3)))
    return Interrupt(gateway, random.choice(("mend", "mend", "reconnect", "reconnect", "restart")))


def _draw_act(random: Random, kind: Kind, before: Sequence[Act]) -> Act:
    """Draw an act; what it takes away, an act before it has written, if there is one."""
    client, value = random.randrange(CLIENTS), len(before) + 1
    if kind in ("remove", "take"):
        kinds = ("add",) if kind == "take" else ("write", "swap", "leave")
        taken = {each.register for each in before if each.kind == "take"}
        written = [each for each in before if each.kind in kinds and each.register not in taken]
        if written:
            return replace(random.choice(written), client=client, kind=kind)
        kind = "read"
    if kind in ("write", "swap", "leave"):
        register = random.choice(REGISTERS)
    elif kind == "add":
        register = f"extra {random.randrange(len(BLOCK_UNITS))} v{value}"
    elif kind == "import":
        register = "asset"
    else:
        return Act(client, random.randrange(GATEWAYS), kind)
    return Act(client, find_home(register), kind, register, value)
