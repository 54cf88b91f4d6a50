"""Records in the form in which bundles hold them."""

from typing import Any

import msgspec

from storage.bundles.reading.record_names import describe_record
from storage.bundles.reading.sources import to_data_url
from storage.catalog import MAPS
from storage.errors import StorageError
from storage.mongo import driver, files
from storage.records.kinds import Document, Record, RecordType


async def to_member(
    database: driver.Database,
    kind: RecordType[Any],
    record: Record,
    session: driver.Session | None = None,
    *,
    with_drawing: bool = True,
) -> Document:
    """Return a record as the member of a bundle; a drawing as a data URL, or as its digest.

    Raises StorageError if the drawing is lost.
    """
    member: Document = msgspec.structs.asdict(record)
    if kind is MAPS and member["source"] and with_drawing:
        content = await files.read_file(database, member["source"], session)
        if content is None:
            raise StorageError(f"the drawing of {describe_record(MAPS, member['id'])} is lost")
        member["source"] = to_data_url(content)
    return member


def encode_line(kind: RecordType[Any], member: Document) -> bytes:
    """Return a member in the line form."""
    return msgspec.json.encode({"type": kind.singular, **member}) + b"\n"
