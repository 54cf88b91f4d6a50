"""Staging: members are stored here until the whole bundle has been validated.

Each import has one staging collection per kind, in the database of the catalog. A staged member
has its number in the import as `_id`, its key as `_key`, and as `_place` where in the bundle it
came from. Once the import begins to apply, the staged members are its redo log.

Keys are unique by an index. To keep it up to date costs more than to write the members, so it is
dropped once there are many of them, and built in one go when all are staged.

Members are read in bundle order. Their working set may exceed MongoDB's cache, and bundles keep
related members together, so this order touches few pages at a time.
"""

from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Iterable, Sequence
from itertools import count
from typing import Any

from storage.bundles.reading.parser import BundleMember
from storage.bundles.reading.violations import MAX_VIOLATIONS, Violations
from storage.catalog import RECORD_TYPES_BY_NAME
from storage.mongo import driver, iteration
from storage.records.kinds import Document, RecordType

STAGING_PREFIX = "staging."
KEY_FIELD = "_key"
ORIGIN_FIELD = "_place"
BULK_MEMBERS = 10_000
"""A kind with more members has no index while they are staged."""
SHOWN_UNITS_FIELD = "_shown"
"""Field of a staged map with the ids of the units in its drawing."""


class Staging:
    """The staging collections of one import."""

    def __init__(self, database: driver.Database, import_id: str) -> None:
        self._database = database
        self._prefix = f"{STAGING_PREFIX}{import_id}."
        self._next_numbers = count()
        self._member_counts: Counter[str] = Counter()

    def collection_of(self, kind_name: str) -> driver.Collection:
        """Return the staging collection of a kind."""
        return self._database[self._prefix + kind_name]

    @property
    def publication(self) -> driver.Collection:
        """The collection of the network that is published with the import."""
        return self._database[f"{self._prefix}publication"]

    async def add_members(self, members: Sequence[BundleMember], violations: Violations) -> None:
        """Stage members; a key that is already staged is a violation that names both origins."""
        by_kind: dict[str, list[BundleMember]] = defaultdict(list)
        for member in members:
            by_kind[member.kind.name].append(member)
        for kind_name, group in by_kind.items():
            await self._prepare_index(kind_name, len(group))
            documents = [self._to_staged(member) for member in group]
            duplicates = await driver.insert_absent(self.collection_of(kind_name), documents)
            if duplicates:
                await self._add_duplicate_violations(group[0].kind, duplicates, violations)

    async def _prepare_index(self, kind_name: str, added: int) -> None:
        before, collection = self._member_counts[kind_name], self.collection_of(kind_name)
        self._member_counts[kind_name] += added
        if not before:
            await collection.create_index(KEY_FIELD, unique=True)
        elif before <= BULK_MEMBERS < before + added:
            await collection.drop_index(f"{KEY_FIELD}_1")

    async def build_indexes(self, violations: Violations) -> None:
        """Build the indexes that are missing, once all members are staged.

        A key that is staged again is a violation, as in `add_members`.
        """
        for kind_name, members in self._member_counts.items():
            collection = self.collection_of(kind_name)
            if members <= BULK_MEMBERS:
                continue
            if not await driver.build_unique_index(collection, KEY_FIELD):
                await self._add_repeated_keys(RECORD_TYPES_BY_NAME[kind_name], violations)

    async def _add_repeated_keys(self, kind: RecordType[Any], violations: Violations) -> None:
        collection = self.collection_of(kind.name)
        repeated = await driver.aggregate_documents(
            self._database,
            collection.name,
            [
                {"$group": {"_id": f"${KEY_FIELD}", "count": {"$sum": 1}}},
                {"$match": {"count": {"$gt": 1}}},
                {"$limit": MAX_VIOLATIONS},
            ],
        )
        keys = [document["_id"] for document in repeated]
        staged = collection.find({KEY_FIELD: {"$in": keys}}, [KEY_FIELD, ORIGIN_FIELD])
        origins: dict[str, str] = {}
        async for document in staged.sort("_id", 1):
            key, origin = document[KEY_FIELD], document[ORIGIN_FIELD]
            if key in origins:
                violations.add(origin, f"{describe_record(kind, key)} is already at {origins[key]}")
            origins.setdefault(key, origin)

    def _to_staged(self, member: BundleMember) -> Document:
        document = member.document
        document[KEY_FIELD] = document.pop("_id")
        return {"_id": next(self._next_numbers), **document, ORIGIN_FIELD: member.origin}

    async def _add_duplicate_violations(
        self, kind: RecordType[Any], duplicates: list[Document], violations: Violations
    ) -> None:
        keys = list({document[KEY_FIELD] for document in duplicates})
        staged = self.collection_of(kind.name).find(
            {KEY_FIELD: {"$in": keys}}, [KEY_FIELD, ORIGIN_FIELD]
        )
        origins = {document[KEY_FIELD]: document[ORIGIN_FIELD] async for document in staged}
        for document in duplicates:
            key = document[KEY_FIELD]
            violations.add(
                document[ORIGIN_FIELD], f"{describe_record(kind, key)} is already at {origins[key]}"
            )

    async def iter_batches(self, kind: RecordType[Any]) -> AsyncGenerator[list[Document]]:
        """Yield the staged members of a kind in batches, with their keys as `_id`.

        In bundle order; sorted by key if the kind has a `single_valued_flag`.
        """
        order = KEY_FIELD if kind.single_valued_flag else "_id"
        async for batch in iteration.iter_batches(self.collection_of(kind.name), order_by=order):
            for document in batch:
                document["_id"] = document.pop(KEY_FIELD)
            yield batch

    async def find_members(
        self, kind_name: str, keys: list[str], fields: set[str]
    ) -> list[Document]:
        """Return these fields of the staged members with these keys, with the key as `_id`."""
        projection = dict.fromkeys({KEY_FIELD, *fields}, 1)
        staged = self.collection_of(kind_name).find({KEY_FIELD: {"$in": keys}}, projection)
        return [{**document, "_id": document[KEY_FIELD]} async for document in staged]

    async def list_names(self) -> list[str]:
        """Return the staging collections of this import, and any that a killed one left behind."""
        names = await self._database.list_collection_names()
        return [name for name in names if name.startswith(STAGING_PREFIX)]

    async def drop(self, names: Iterable[str]) -> None:
        """Drop staging collections."""
        for name in names:
            await self._database.drop_collection(name)


def describe_record(kind: RecordType[Any], key: str) -> str:
    """Return a record's kind and key, for messages."""
    if kind.key_fields == ("id",):
        return f'{kind.singular} "{key}"'
    # With a `single_valued_flag`, a key may lack its last field.
    pairs = zip(kind.key_fields, key.split("\0"), strict=False)
    return f"{kind.singular} of " + ", ".join(f'{field} "{value}"' for field, value in pairs)
