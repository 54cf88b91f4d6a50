"""Tombstones: what was removed from the catalog and when, for those who follow its changes.

A tombstone is written once the record is gone, or in one transaction with its removal. It ends when
the record is inserted again, or after TOMBSTONE_DAYS. Their ids begin with the time at which they
are written. A transaction may be committed after one that has taken its time later, but MongoDB
ends it after a minute: a list grows at its end, but for its last minutes (OVERLAP_MINUTES).
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from storage.mongo import driver
from storage.records.kinds import KEY_SEPARATOR, Document, Id, Record, RecordType, get_key_values

TOMBSTONE_DAYS = 90
OVERLAP_MINUTES = 5
"""Before the last tombstone that was read, others may have been written since: transactions take up
to a minute, the clocks of gateways differ, and a reading of several pages takes time."""
NO_ASSET = ""
"""`asset_id` of the tombstone of a record that belongs to no asset."""


class Tombstone(Record, frozen=True, kw_only=True):
    """A record that was removed."""

    id: Id
    kind: str
    key: str
    """Its identifying fields, joined: its `_id`, and the attribute where that leaves it out."""
    values: list[str]
    """Its identifying fields."""
    asset_id: str
    removed_at: datetime


TOMBSTONES = RecordType(
    "tombstones", "tombstone", Tombstone, indexes=(("asset_id", "_id"), ("kind", "key"))
)
TOMBSTONE_INDEXES = [
    *(driver.IndexModel([(field, 1) for field in index]) for index in TOMBSTONES.indexes),
    driver.IndexModel(
        [("removed_at", 1)],
        expireAfterSeconds=int(timedelta(days=TOMBSTONE_DAYS).total_seconds()),
    ),
]


def first_id_at(time: datetime) -> str:
    """Return what the ids of tombstones of this millisecond begin with; they sort by time.

    >>> first_id_at(datetime(2026, 1, 31, 12, tzinfo=UTC))
    '2026-01-31T12:00:00.000Z'
    """
    text = time.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.removesuffix("+00:00") + "Z"


def build_tombstone(
    kind: RecordType[Any], values: Sequence[str], asset_id: str, removed_at: datetime
) -> Document:
    """Return the document of a tombstone; it is the same if the removal is repeated."""
    key = KEY_SEPARATOR.join(values)
    return {
        "_id": KEY_SEPARATOR.join((first_id_at(removed_at), kind.name, key)),
        "kind": kind.name,
        "key": key,
        "values": [*values],
        "asset_id": asset_id,
        "removed_at": removed_at,
    }


async def add_tombstones(
    database: driver.Database,
    kind: RecordType[Any],
    documents: Iterable[Document],
    session: driver.Session,
) -> None:
    """Write the tombstones of these records with a transaction that removes them."""
    now = datetime.now(UTC)
    tombstones = [
        build_tombstone(
            kind,
            get_key_values(kind, document),
            document.get(kind.scope_field, NO_ASSET),
            now,
        )
        for document in documents
    ]
    if tombstones:
        await database[TOMBSTONES.name].insert_many(tombstones, session=session)


async def end_tombstones(
    database: driver.Database,
    kind: RecordType[Any],
    documents: Iterable[Document],
    session: driver.Session | None = None,
) -> None:
    """End the tombstones of records that are inserted again."""
    keys = sorted(KEY_SEPARATOR.join(get_key_values(kind, each)) for each in documents)
    if keys:
        where = {"kind": kind.name, "key": {"$in": keys}}
        await database[TOMBSTONES.name].delete_many(where, session=session)
