"""The closures of a map: doors, connectors and spaces that routes do not use.

They are a field of the map's document that imports do not write, so it stays. It is read with the
network, by the same command, so what is closed and what it is closed in are of one time
(docs/decisions/routing/closures.md).

Shapes without an id in the drawing are numbered, so another drawing may give the id of a closed
part to another one. What was closed is therefore stored beside the ids, and compared when a network
is published: the only write of processing.
"""

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from storage.administration import audit
from storage.catalog import MAPS, NETWORK_FIELD
from storage.errors import NetworkOutdatedError
from storage.mongo import driver
from storage.records.kinds import UPDATED_AT, Document, current_timestamp
from storage.records.visibility import AssetScope
from storage.store import Store

CLOSURES_FIELD = "closures"
CLOSED_PARTS_FIELD = "closed_parts"
NUMBERED = "#"
"""Matches ids that readers have made from the number of a shape."""
SAME_PLACE_FEET = 3.0
MOVED_ID_FEET = 1.0
"""The greatest distances of a part from where the closed one was, with the same id and with
another."""
MAX_NAMED = 10
"""Ids that a message names."""


class Closures(msgspec.Struct, frozen=True):
    """The ids of what is closed on a map, each list sorted.

    An id that its network does not have closes nothing.
    """

    connectors: list[str] = []
    doors: list[str] = []
    spaces: list[str] = []

    @classmethod
    def of(cls, **ids: Any) -> "Closures":
        """Return closures of ids in any order.

        >>> Closures.of(doors=["d2", "d1", "d2"]).doors
        ['d1', 'd2']
        """
        return cls(**{name: sorted({*some}) for name, some in ids.items()})

    def __bool__(self) -> bool:
        return bool(self.connectors or self.doors or self.spaces)


class NetworkPart(msgspec.Struct, frozen=True):
    """A part of a network that can be closed, as one is told from another.

    `field` is that of Closures that has its id. Places are a floor, x and y in the map's units.
    """

    field: str
    id: str
    kind: str | None
    places: list[tuple[str, float, float]]

    def is_like(self, other: "NetworkPart", within: float) -> bool:
        """Return whether another part is of the same kind, and has a place near one of this."""
        return (self.field, self.kind) == (other.field, other.kind) and any(
            one[0] == place[0] and math.dist(one[1:], place[1:]) <= within
            for one in self.places
            for place in other.places
        )

    def __str__(self) -> str:
        floor, x, y = next(iter(self.places), ("no floor", 0, 0))
        return f"{self.id} ({x:g},{y:g} on {floor})"


class KeptClosures(NamedTuple):
    """The closures that hold in another network, notes on those that do not, and audit changes."""

    closures: Closures
    parts: list[NetworkPart]
    notes: list[str]
    changes: list[audit.AuditChange]


def read_closures(unit_map: Document) -> Closures:
    """Return what a map's document says is closed."""
    return msgspec.convert(unit_map.get(CLOSURES_FIELD) or {}, Closures)


async def load_closures(
    store: Store, scope: AssetScope, map_ids: Sequence[str]
) -> dict[str, Closures]:
    """Return what is closed on visible maps, by id, where anything is. Raises UnavailableError."""
    where = {"_id": {"$in": [*map_ids]}, CLOSURES_FIELD: {"$exists": True}}
    found = await store.load_field(MAPS, scope, where, CLOSURES_FIELD)
    return {map_id: msgspec.convert(stored, Closures) for map_id, stored in found.items()}


def keep_closures(
    unit_map: Document, parts: Sequence[NetworkPart], feet_per_unit: float
) -> KeptClosures:
    """Return what is closed on a map if its network now has these parts.

    A numbered id that another part has now, or none, is replaced by that of the part in its place.
    """
    before, was = read_closures(unit_map), _read_parts(unit_map)
    known = {(part.field, part.id): part for part in parts}
    kept: dict[str, list[str]] = {name: [] for name in Closures.__struct_fields__}
    unknown, moved, lost = [], [], []
    for name, key in _list_keys(before):
        now, old = known.get((name, key)), was.get((name, key))
        there = now
        near = SAME_PLACE_FEET / feet_per_unit
        if old and NUMBERED in key and not (now and old.is_like(now, near)):
            found = [each for each in parts if old.is_like(each, MOVED_ID_FEET / feet_per_unit)]
            there = found[0] if len(found) == 1 else None
        if there is not None:
            kept[name].append(there.id)
            if there is not now:
                moved.append(f"{name} {old}, now {there.id}")
        elif now is not None:
            lost.append(f"{name} {old}")
        else:
            kept[name].append(key)
            unknown.append(f"{name} {key}")
    after = Closures.of(**kept)
    causes = {
        "no longer closed, because its id is now that of another part": lost,
        "closed under another id": moved,
        "closed, but no longer on the map": unknown,
    }
    notes = [f"{cause}: {name_some(texts)}" for cause, texts in causes.items() if texts]
    return KeptClosures(after, _list_parts(after, {**was, **known}), notes, _compare(before, after))


def name_some(texts: Sequence[str]) -> str:
    """Return the first of some texts, and how many more there are.

    >>> name_some(["a", "b"])
    'a, b'
    """
    others = len(texts) - MAX_NAMED
    return ", ".join(texts[:MAX_NAMED]) + (f" and {others} more" if others > 0 else "")


def _read_parts(unit_map: Document) -> dict[tuple[str, str], NetworkPart]:
    parts = msgspec.convert(unit_map.get(CLOSED_PARTS_FIELD) or [], list[NetworkPart])
    return {(part.field, part.id): part for part in parts}


def _list_parts(
    closures: Closures, parts: Mapping[tuple[str, str], NetworkPart]
) -> list[NetworkPart]:
    return [parts[key] for key in _list_keys(closures) if key in parts]


def _list_keys(closures: Closures) -> list[tuple[str, str]]:
    names = Closures.__struct_fields__
    return [(name, key) for name in names for key in getattr(closures, name)]


def build_fields(closures: Closures, parts: Sequence[NetworkPart]) -> Document:
    """Return the fields of a map's document."""
    return {
        CLOSURES_FIELD: msgspec.to_builtins(closures),
        CLOSED_PARTS_FIELD: msgspec.to_builtins(parts),
    }


async def set_closures(
    database: driver.Database,
    map_id: str,
    change: Callable[[Closures], Closures],
    origin: audit.Origin | None = None,
    precondition: Callable[[driver.Session], Awaitable[None]] | None = None,
    parts: Sequence[NetworkPart] = (),
    digest: str | None = None,
) -> Closures | None:
    """Replace what is closed on a map by what `change` makes of it, and return that.

    `parts` are those of the network with the `digest`. None if there is no such map. Raises
    UnavailableError, NetworkOutdatedError if the map has another network, and what `change` and
    `precondition` raise; nothing is written then.
    """

    async def work(session: driver.Session) -> tuple[Closures | None, audit.AuditEntry | None]:
        where = {"_id": map_id}
        fields = ("asset_id", NETWORK_FIELD, CLOSURES_FIELD, CLOSED_PARTS_FIELD)
        unit_map = await database[MAPS.name].find_one(where, fields, session=session)
        if unit_map is None:
            return None, None
        if precondition is not None:
            await precondition(session)
        if unit_map.get(NETWORK_FIELD) != digest and parts:
            raise NetworkOutdatedError(f"the map {map_id!r} was processed meanwhile; try again")
        before = read_closures(unit_map)
        after = change(before)
        if after == before:
            return after, None
        known = {(part.field, part.id): part for part in parts} | _read_parts(unit_map)
        written = build_fields(after, _list_parts(after, known)) | {UPDATED_AT: current_timestamp()}
        await database[MAPS.name].update_one(where, {"$set": written}, session=session)
        target = audit.AuditTarget(MAPS.name, [map_id])
        changes = _compare(before, after)
        return after, audit.AuditEntry("map.closed", target, changes, [unit_map["asset_id"]])

    return await audit.run_audited(database, origin, work)


def _compare(before: Closures, after: Closures) -> list[audit.AuditChange]:
    """Return the audit changes: what is closed now and was not before, and the reverse."""
    changes: list[audit.AuditChange] = []
    for name in Closures.__struct_fields__:
        had, has = ({*getattr(each, name)} for each in (before, after))
        pairs: tuple[tuple[audit.Operation, set[str]], ...] = (
            ("inserted", has - had),
            ("removed", had - has),
        )
        kind = f"{CLOSURES_FIELD}.{name}"
        changes += [audit.AuditChange.of_all(kind, verb, sorted(ids)) for verb, ids in pairs if ids]
    return changes
