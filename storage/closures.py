"""What the operator has closed on a map: doors, connectors and spaces that routes do not use.

They are a field of the map's document that imports and processing do not write, so it stays. It is
read with the network, by the same command, so what is closed and what it is closed in are of one
time (docs/decisions/routing/closures.md).
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from storage.administration import audit
from storage.administration.audit import AuditChange, AuditEntry, AuditTarget, Operation, Origin
from storage.maps import MAPS
from storage.mongo import driver
from storage.records.kinds import Document
from storage.records.timestamps import UPDATED_AT, current_timestamp
from storage.records.visibility import AssetScope
from storage.store import Store

CLOSURES_FIELD = "closures"


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


async def set_closures(
    database: driver.Database,
    map_id: str,
    change: Callable[[Closures], Closures],
    origin: Origin | None = None,
    precondition: Callable[[driver.Session], Awaitable[None]] | None = None,
) -> Closures | None:
    """Replace what is closed on a map by what `change` makes of it, and return that.

    None if there is no such map. Raises UnavailableError, and what `change` and `precondition`
    raise; nothing is written then.
    """

    async def work(session: driver.Session) -> tuple[Closures | None, AuditEntry | None]:
        where = {"_id": map_id}
        fields = ("asset_id", CLOSURES_FIELD)
        unit_map = await database[MAPS.name].find_one(where, fields, session=session)
        if unit_map is None:
            return None, None
        if precondition is not None:
            await precondition(session)
        before = read_closures(unit_map)
        after = change(before)
        if after == before:
            return after, None
        written = {CLOSURES_FIELD: msgspec.to_builtins(after), UPDATED_AT: current_timestamp()}
        await database[MAPS.name].update_one(where, {"$set": written}, session=session)
        return after, _build_entry(unit_map, before, after)

    with driver.translate_errors():
        return await audit.run_in_transaction(database, origin, work)


def _build_entry(unit_map: Document, before: Closures, after: Closures) -> AuditEntry:
    """Build the audit entry: what is closed now and was not before, and the reverse."""
    changes = []
    for name in Closures.__struct_fields__:
        had, has = ({*getattr(each, name)} for each in (before, after))
        pairs: tuple[tuple[Operation, set[str]], ...] = (
            ("inserted", has - had),
            ("removed", had - has),
        )
        kind = f"{CLOSURES_FIELD}.{name}"
        changes += [AuditChange.of_all(kind, verb, sorted(ids)) for verb, ids in pairs if ids]
    target = AuditTarget(MAPS.name, [unit_map["_id"]])
    return AuditEntry("map.closed", target, changes, [unit_map["asset_id"]])
