"""Exporting the catalog as a bundle that can be imported again without changes.

All records are read from one snapshot of the database, so the export is consistent although others
write at the same time, and no import is in it half. Drawings are included as data URLs.
"""

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from storage.bundles.json_bundles import encode_line, to_member
from storage.catalog import ASSIGNMENTS, ATTRIBUTE_GROUPS, RECORD_TYPES, UNITS, Unit
from storage.importing.import_bundles import open_settled_snapshot
from storage.mongo import driver
from storage.records.kinds import Document, RecordType
from storage.records.visibility import ALL_ASSETS, AssetScope

FLUSH_BYTES = 1 << 20


async def export_bundle(
    database: driver.Database, scope: AssetScope = ALL_ASSETS, *, lines: bool = False
) -> AsyncIterator[bytes]:
    """Yield the bundle in chunks; members are sorted by key, one a line in both forms.

    A scope of some assets has the attribute groups that their units use, and no others.

    Waits for an import that is being applied, and finishes one that was killed. Raises
    UnavailableError, ImportRunningError, and StorageError if a drawing is lost.
    """
    form = _iter_line_form if lines else _iter_array_form
    buffer = bytearray()
    with driver.translate_errors():
        async with open_settled_snapshot(database) as session:
            async for piece in form(database, scope, session):
                buffer += piece
                if len(buffer) >= FLUSH_BYTES:
                    yield bytes(buffer)
                    buffer.clear()
    yield bytes(buffer)


async def _iter_array_form(
    database: driver.Database, scope: AssetScope, session: driver.Session
) -> AsyncIterator[bytes]:
    for number, kind in enumerate(RECORD_TYPES):
        yield b'%s"%s":[' % (b",\n" if number else b"{\n", kind.name.encode())
        separator = b"\n"
        async for member in iter_members(database, kind, scope, session):
            yield separator + msgspec.json.encode(member)
            separator = b",\n"
        yield b"]"
    yield b"\n}\n"


async def _iter_line_form(
    database: driver.Database, scope: AssetScope, session: driver.Session
) -> AsyncIterator[bytes]:
    for kind in RECORD_TYPES:
        async for member in iter_members(database, kind, scope, session):
            yield encode_line(kind, member)


async def iter_members(
    database: driver.Database,
    kind: RecordType[Any],
    scope: AssetScope,
    session: driver.Session,
    *,
    with_drawings: bool = True,
) -> AsyncIterator[Document]:
    """Yield the members of a kind by key; drawings as data URLs, or as their digests."""
    where = scope.restrict(kind, {})
    if kind is ATTRIBUTE_GROUPS and scope != ALL_ASSETS:
        assigned = scope.restrict(ASSIGNMENTS, {})
        used = await database[ASSIGNMENTS.name].distinct("group_id", assigned, session=session)
        where = {"_id": {"$in": used}}
    batches = driver.iter_batches(database[kind.name], where, kind.projection, session)
    async for batch in batches:
        for record in kind.decode(batch):
            yield await to_member(database, kind, record, session, with_drawing=with_drawings)


async def iter_units_with_attributes(
    database: driver.Database, scope: AssetScope, session: driver.Session
) -> AsyncIterator[tuple[Unit, list[tuple[str, str]]]]:
    """Yield the units by id, each with the ids of the groups and attributes that it has."""
    units = driver.iter_batches(
        database[UNITS.name], scope.restrict(UNITS, {}), UNITS.projection, session
    )
    async for batch in units:
        ids = [document["_id"] for document in batch]
        found: dict[str, list[tuple[str, str]]] = {}
        assignments = driver.iter_batches(
            database[ASSIGNMENTS.name],
            {"unit_id": {"$in": ids}},
            ASSIGNMENTS.projection,
            session,
        )
        async for documents in assignments:
            for document in documents:
                pair = document["group_id"], document["attribute_id"]
                found.setdefault(document["unit_id"], []).append(pair)
        for unit in UNITS.decode(batch):
            yield unit, found.get(unit.id, [])
