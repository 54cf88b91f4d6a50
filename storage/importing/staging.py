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
from collections.abc import AsyncGenerator, Collection, Iterable, Sequence
from itertools import count
from typing import Any

from storage.administration.import_lease import STAGING_PREFIX, get_staging_prefix
from storage.bundles.json_bundles import BundleMember
from storage.bundles.violations import Violations, describe_duplicate
from storage.catalog import FLOORS, RECORD_TYPES_BY_NAME
from storage.mongo import driver
from storage.records.kinds import KEY_SEPARATOR, Document, RecordType

NEIGHBOURS = 100
"""So many ids before and after one are compared with it for a suggestion."""

KEY_FIELD = "_key"
AFTER_KEY_SEPARATOR = chr(ord(KEY_SEPARATOR) + 1)
ORIGIN_FIELD = "_place"
KEPT_FIELD = "_kept"
"""It names the fields that a record in the catalog keeps."""
BULK_MEMBERS = 10_000
"""A kind with more members has no index while they are staged."""
REJECTED_KEYS_AT_ONCE = 1000
SHOWN_FIELD = "_shown"
"""A staged map has the units and Levels in its drawing here."""


class Staging:
    """The staging collections of one import."""

    def __init__(self, database: driver.Database, import_id: str) -> None:
        self._database = database
        self._prefix = get_staging_prefix(import_id)
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

        A key that is staged again is a violation, as in `add_members`, and is not kept.
        """
        for kind_name, members in self._member_counts.items():
            collection = self.collection_of(kind_name)
            if members > BULK_MEMBERS and not await driver.build_index(
                collection, KEY_FIELD, unique=True
            ):
                await self._drop_repeated(RECORD_TYPES_BY_NAME[kind_name], violations)
        await self._add_repeated_rejected(violations)

    async def _drop_repeated(self, kind: RecordType[Any], violations: Violations) -> None:
        collection = self.collection_of(kind.name)
        await driver.build_index(collection, [(KEY_FIELD, 1), ("_id", 1)])
        fields = {KEY_FIELD: 1, ORIGIN_FIELD: 1}
        async for batch in driver.iter_batches(collection, projection=fields):
            where = {
                KEY_FIELD: {"$in": list({document[KEY_FIELD] for document in batch})},
                "_id": {"$lte": batch[-1]["_id"]},
            }
            found = await driver.read_all(collection.find(where, fields).sort("_id", -1))
            first = {document[KEY_FIELD]: document for document in found}
            repeated = []
            for document in batch:
                key = document[KEY_FIELD]
                if document["_id"] != first[key]["_id"]:
                    repeated.append(document["_id"])
                    message = describe_duplicate(kind, key, first[key][ORIGIN_FIELD])
                    violations.add(document[ORIGIN_FIELD], message)
            if repeated:
                await collection.delete_many({"_id": {"$in": repeated}})

    async def _add_repeated_rejected(self, violations: Violations) -> None:
        """Add staged members with the keys of members that were rejected for something else."""
        for kind, places in violations.rejected.iter_places():
            keys = [*places]
            for start in range(0, len(keys), REJECTED_KEYS_AT_ONCE):
                some = keys[start : start + REJECTED_KEYS_AT_ONCE]
                for staged in await self.find_members(kind.name, some, {ORIGIN_FIELD}):
                    key = staged["_id"]
                    violations.add_duplicate(kind, key, places[key], staged[ORIGIN_FIELD])

    def _to_staged(self, member: BundleMember) -> Document:
        document = member.document
        document[KEY_FIELD] = document.pop("_id")
        kept = {KEPT_FIELD: [*member.kept_fields]} if member.kept_fields else {}
        return {"_id": next(self._next_numbers), **document, ORIGIN_FIELD: member.origin, **kept}

    async def _add_duplicate_violations(
        self, kind: RecordType[Any], duplicates: list[Document], violations: Violations
    ) -> None:
        keys = list({document[KEY_FIELD] for document in duplicates})
        staged = await self.find_members(kind.name, keys, {ORIGIN_FIELD})
        origins = {document["_id"]: document[ORIGIN_FIELD] for document in staged}
        for document in duplicates:
            key = document[KEY_FIELD]
            violations.add(document[ORIGIN_FIELD], describe_duplicate(kind, key, origins[key]))

    async def iter_batches(self, kind: RecordType[Any]) -> AsyncGenerator[list[Document]]:
        """Yield the staged members of a kind in batches, with their keys as `_id`.

        In bundle order; sorted by key if the kind has a `single_valued_flag`.
        """
        order = KEY_FIELD if kind.single_valued_flag else "_id"
        async for batch in driver.iter_batches(self.collection_of(kind.name), order_by=order):
            for document in batch:
                document["_id"] = document.pop(KEY_FIELD)
            yield batch

    async def find_members(
        self, kind_name: str, keys: list[str], fields: set[str]
    ) -> list[Document]:
        """Return these fields of the staged members with these keys, with the key as `_id`."""
        projection = dict.fromkeys({KEY_FIELD, *fields}, 1)
        staged = self.collection_of(kind_name).find({KEY_FIELD: {"$in": keys}}, projection)
        return [{**each, "_id": each[KEY_FIELD]} for each in await driver.read_all(staged)]

    async def find_floors(self, asset_ids: Collection[str]) -> list[Document]:
        """Return the ids of the staged floors of assets, each with its `asset_id`."""
        where = {"asset_id": {"$in": [*asset_ids]}}
        staged = self.collection_of(FLOORS.name).find(where, [KEY_FIELD, "asset_id"])
        found = await driver.read_all(staged)
        return [{"_id": each[KEY_FIELD], "asset_id": each["asset_id"]} for each in found]

    async def has_key_within(self, kind_name: str, key: str) -> bool:
        """Return whether a member is staged whose first key fields are those of `key`."""
        among = {"$gt": key + KEY_SEPARATOR, "$lt": key + AFTER_KEY_SEPARATOR}
        return await self.collection_of(kind_name).find_one({KEY_FIELD: among}) is not None

    async def list_names(self) -> list[str]:
        """Return the staging collections of this import, and any that a killed one left behind."""
        names = await self._database.list_collection_names()
        return [name for name in names if name.startswith(STAGING_PREFIX)]

    async def drop(self, names: Iterable[str]) -> None:
        """Drop staging collections."""
        for name in names:
            await self._database.drop_collection(name)


async def find_neighbours(collection: driver.Collection, field: str, key: str) -> list[str]:
    """Return keys that stand next to one in their order, which are those that begin like it."""
    found = []
    for operator, direction in (("$lt", -1), ("$gt", 1)):
        where = {field: {operator: key}}
        cursor = collection.find(where, [field], limit=NEIGHBOURS).sort(field, direction)
        found += [document[field] async for document in cursor]
    return found
