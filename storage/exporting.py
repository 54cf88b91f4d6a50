"""Exporting the catalog as a bundle that importing takes back unchanged.

Everything is read from one snapshot of the database, so that an export is consistent whatever is
written meanwhile. Drawings travel within it, as data URLs: the bundle is complete by itself.
"""

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from storage import driver, files, walking
from storage.catalog import KINDS
from storage.errors import StorageError
from storage.kinds import Document, Kind
from storage.maps import MAPS
from storage.sources import to_data_url
from storage.staging import describe
from storage.visibility import EVERYTHING, Scope

FLUSH_BYTES = 1 << 20


async def export_bundle(
    client: driver.Client,
    database_name: str,
    scope: Scope = EVERYTHING,
    *,
    lines: bool = False,
) -> AsyncIterator[bytes]:
    """The bundle in pieces, members in the order of their keys, one a line in both forms."""
    form = _lines if lines else _arrays
    database = client[database_name]
    buffer = bytearray()
    with driver.translating():
        async with driver.snapshot(client) as session:
            async for piece in form(database, scope, session):
                buffer += piece
                if len(buffer) >= FLUSH_BYTES:
                    yield bytes(buffer)
                    buffer.clear()
    yield bytes(buffer)


async def _arrays(
    database: driver.Database, scope: Scope, session: driver.Session
) -> AsyncIterator[bytes]:
    for number, kind in enumerate(KINDS):
        yield b'%s"%s":[' % (b",\n" if number else b"{\n", kind.name.encode())
        before = b"\n"
        async for member in _members(database, kind, scope, session):
            yield before + msgspec.json.encode(member)
            before = b",\n"
        yield b"]"
    yield b"\n}\n"


async def _lines(
    database: driver.Database, scope: Scope, session: driver.Session
) -> AsyncIterator[bytes]:
    for kind in KINDS:
        async for member in _members(database, kind, scope, session):
            yield msgspec.json.encode({"type": kind.singular, **member}) + b"\n"


async def _members(
    database: driver.Database, kind: Kind[Any], scope: Scope, session: driver.Session
) -> AsyncIterator[Document]:
    where = scope.limit(kind, {})
    found = walking.batches(database[kind.name], where, kind.projection, session)
    async for batch in found:
        for record in kind.read(batch):
            member: Document = msgspec.structs.asdict(record)
            if kind is MAPS and member["source"]:
                member["source"] = await _drawing(database, member, session)
            yield member


async def _drawing(database: driver.Database, member: Document, session: driver.Session) -> str:
    content = await files.read(database, member["source"], session)
    if content is None:
        raise StorageError(f"the drawing of {describe(MAPS, member['id'])} is lost")
    return to_data_url(content)
