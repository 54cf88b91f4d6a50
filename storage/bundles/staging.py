"""Where members wait until the whole of their bundle is known to be right.

One collection per kind, named after the import, in the database that they are to go into. A member
has there its number in the import as `_id`, the key it is told apart by as `_key`, and `_place`,
where it came from. Once an import begins to apply, its staging is its redo log.

Members are read in the order in which they came: a million of them do not fit MongoDB's cache, and
bundles keep together what belongs together, so that few pages are touched at a time.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from itertools import count
from typing import Any

from pymongo.errors import BulkWriteError

from storage.bundles.format import BundleMember
from storage.bundles.violations import Violations
from storage.mongo import driver, iteration
from storage.records.kinds import Document, Kind

STAGING_PREFIX = "staging."
KEY_FIELD = "_key"
ORIGIN_FIELD = "_place"
SHOWN_UNITS_FIELD = "_shown"
"""The field of a staged map that holds the ids of the units in its drawing."""
DUPLICATE_KEY_CODE = 11000


class Staging:
    """The staged members of one import."""

    def __init__(self, database: driver.Database, import_id: str) -> None:
        self._database = database
        self._prefix = f"{STAGING_PREFIX}{import_id}."
        self._next_numbers = count()
        self._indexed_kinds: set[str] = set()

    def collection_of(self, kind_name: str) -> driver.Collection:
        """The collection of the staged members of a kind."""
        return self._database[self._prefix + kind_name]

    async def add_members(self, members: Sequence[BundleMember], violations: Violations) -> None:
        """Stages members; a key that is already staged is a complaint that names both places."""
        by_kind: dict[str, list[BundleMember]] = defaultdict(list)
        for member in members:
            by_kind[member.kind.name].append(member)
        for kind_name, group in by_kind.items():
            if kind_name not in self._indexed_kinds:
                self._indexed_kinds.add(kind_name)
                await self.collection_of(kind_name).create_index(KEY_FIELD, unique=True)
            documents = [self._to_staged(member) for member in group]
            try:
                await self.collection_of(kind_name).insert_many(documents, ordered=False)
            except BulkWriteError as error:
                await self._add_duplicate_violations(group[0].kind, error, violations)

    def _to_staged(self, member: BundleMember) -> Document:
        document = member.document
        document[KEY_FIELD] = document.pop("_id")
        return {"_id": next(self._next_numbers), **document, ORIGIN_FIELD: member.origin}

    async def _add_duplicate_violations(
        self, kind: Kind[Any], error: BulkWriteError, violations: Violations
    ) -> None:
        faults = error.details["writeErrors"] if error.details else []
        if not faults or any(fault["code"] != DUPLICATE_KEY_CODE for fault in faults):
            raise error
        second = [fault["op"] for fault in faults]
        keys = list({document[KEY_FIELD] for document in second})
        found = (
            await self.collection_of(kind.name)
            .find({KEY_FIELD: {"$in": keys}}, [KEY_FIELD, ORIGIN_FIELD])
            .to_list(None)
        )
        first = {document[KEY_FIELD]: document[ORIGIN_FIELD] for document in found}
        for document in second:
            key = document[KEY_FIELD]
            violations.add(
                document[ORIGIN_FIELD], f"{describe_record(kind, key)} is already at {first[key]}"
            )

    async def iter_batches(self, kind: Kind[Any]) -> AsyncIterator[list[Document]]:
        """The staged members of a kind with their keys as `_id`, some at a time.

        They come as they came in the bundle; where keys are narrowed, in the order of their keys.
        """
        order = KEY_FIELD if kind.single_valued_flag else "_id"
        async for batch in iteration.iter_batches(self.collection_of(kind.name), order_by=order):
            for document in batch:
                document["_id"] = document.pop(KEY_FIELD)
            yield batch

    async def find_members(
        self, kind_name: str, keys: list[str], fields: set[str]
    ) -> list[Document]:
        """Those fields of the staged members of a kind that have these keys, which are `_id`."""
        projection = dict.fromkeys({KEY_FIELD, *fields}, 1)
        found = (
            await self.collection_of(kind_name)
            .find({KEY_FIELD: {"$in": keys}}, projection)
            .to_list(None)
        )
        return [{**document, "_id": document[KEY_FIELD]} for document in found]

    async def drop_all(self) -> None:
        """Forgets this import's members, and any that a dead import left behind."""
        for name in await self._database.list_collection_names():
            if name.startswith(STAGING_PREFIX):
                await self._database.drop_collection(name)


def describe_record(kind: Kind[Any], key: str) -> str:
    """A record for people: its kind and the fields of its key."""
    if kind.key_fields == ("id",):
        return f'{kind.singular} "{key}"'
    pairs = zip(kind.key_fields, key.split("\0"), strict=False)
    return f"{kind.singular} of " + ", ".join(f'{field} "{value}"' for field, value in pairs)
