"""The records that an import removes or clears, staged like its members.

Each kind has a collection of the records to remove and one of those that lose a reference to them.
With them the staged members remain the redo log: whoever finishes the import removes the same.
"""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from functools import cache
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

from storage.administration.import_lease import ImportLease
from storage.catalog import ASSIGNMENTS, RECORD_TYPES, RECORD_TYPES_BY_NAME
from storage.importing.planning import Change, find_left, values_at
from storage.importing.staging import KEY_FIELD, Staging
from storage.mongo import driver
from storage.records.kinds import (
    KEY_SEPARATOR,
    UPDATED_AT,
    Document,
    ForeignKey,
    RecordType,
    RemovalEffect,
    format_key,
    get_key_values,
    stored_name,
)
from storage.tombstones import TOMBSTONES, build_tombstone
from storage.write_guards import end_earlier_writes


class Dependency(NamedTuple):
    """A way in which records of a kind depend on an owner."""

    kind: RecordType[Any]
    effect: RemovalEffect
    condition: Callable[[Sequence[str]], Document]
    """Given the keys of owners, returns the condition on the records that depend on them."""
    path: str
    """The field at this path names the owner."""
    is_same_asset: bool = True
    """Owner and dependent have one `asset_id`, by which more indexes can be used."""


@cache
def get_dependencies(owner: str) -> tuple[Dependency, ...]:
    """Return how other records depend on those of a kind.

    >>> [(dependency.kind.name, dependency.effect) for dependency in get_dependencies("maps")]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('backgrounds', 'remove'), ('units', 'clear'), ('level_tags', 'remove'),
     ('locations', 'remove')]
    """
    dependencies = []
    for kind in RECORD_TYPES:
        for key in kind.foreign_keys:
            if key.kind == owner:
                is_same_asset = ("asset_id", "asset_id") in key.equal_fields
                dependencies.append(
                    Dependency(kind, key.on_removal, _refer_by(key), key.field, is_same_asset)
                )
        dependencies += [
            Dependency(kind, "remove", made.condition, made.path)
            for made in kind.made_for
            if made.kind == owner
        ]
    return tuple(dependencies)


def _refer_by(key: ForeignKey) -> Callable[[Sequence[str]], Document]:
    return lambda keys: {stored_name(key.field): {"$in": [*keys]}}


def _sort_owners_first() -> tuple[RecordType[Any], ...]:
    graph: dict[str, set[str]] = {kind.name: set() for kind in RECORD_TYPES}
    for kind in RECORD_TYPES:
        for dependency in get_dependencies(kind.name):
            if dependency.effect != "clear":
                graph[dependency.kind.name].add(kind.name)
    return tuple(RECORD_TYPES_BY_NAME[name] for name in TopologicalSorter(graph).static_order())


OWNERS_FIRST = _sort_owners_first()
"""All kinds, each after those with which its records are removed. `RECORD_TYPES` has backgrounds
before their maps."""


REMOVED, CLEARED = "removed", "cleared"
VALUES_FIELD = "values"
"""A staged removal has its identifying fields here."""
OWNER_FIELD = "owner"
"""A staged removal says with what it is removed, such as `floor oak-1`, unless for itself."""
CHANGES_FIELD = "set"
"""A staged record that loses a reference has the fields to set here."""


class Removals:
    """The staged removals of one import."""

    def __init__(self, database: driver.Database, staging: Staging, import_time: str) -> None:
        self._database = database
        self._staging = staging
        self._import_time = import_time
        self.is_empty = True

    def collection_of(self, kind_name: str, what: str = REMOVED) -> driver.Collection:
        """Return the collection of what is removed of a kind, or cleared in it."""
        return self._staging.collection_of(f"{what}.{kind_name}")

    async def discard(self) -> None:
        """Forget what is staged."""
        own = {
            self.collection_of(kind.name, what).name
            for kind in RECORD_TYPES
            for what in (REMOVED, CLEARED)
        }
        await self._staging.drop(own.intersection(await self._staging.list_names()))
        self.is_empty = True

    async def stage_absent(
        self, kind: RecordType[Any], where: Document, used_in: tuple[str, str] | None = None
    ) -> list[str]:
        """Stage the records of a kind with this condition that are not among the staged members.

        Given a kind and a field of it, those that no record refers to stay; return their keys.
        """
        fields = dict.fromkeys((*_fields_of(kind), kind.single_valued_flag or "_id"), 1)
        staged = _KeyStream(self._staging.collection_of(kind.name))
        unused: set[str] = set()
        async for batch in driver.iter_batches(self._database[kind.name], where, fields):
            absent = {
                document["_id"]: document
                for document in batch
                if not await staged.has(
                    document["_id"], is_prefix=bool(document.get(kind.single_valued_flag))
                )
            }
            if used_in:
                users, field = used_in
                found = self._database[users].distinct(field, {field: {"$in": [*absent]}})
                unused |= absent.keys() - await found
            await self.stage(kind, [absent[key] for key in absent if key not in unused])
        return sorted(unused)

    async def stage_dependents(self) -> None:
        """Stage what is removed with the staged removals, then what loses a reference to them."""
        for owner in OWNERS_FIRST:
            for dependency in get_dependencies(owner.name):
                if dependency.effect != "clear":
                    await self._stage_dependency(owner, dependency)
        for owner in OWNERS_FIRST:
            for dependency in get_dependencies(owner.name):
                if dependency.effect != "remove":
                    await self._stage_cleared(owner, dependency)

    async def stage_dependents_of_kind(self, kind: RecordType[Any]) -> None:
        """Stage the records of a kind that are removed with what is staged, once more."""
        for owner in OWNERS_FIRST:
            for dependency in get_dependencies(owner.name):
                if dependency.kind is kind and dependency.effect == "remove":
                    await self._stage_dependency(owner, dependency)

    async def _stage_dependency(self, owner: RecordType[Any], dependency: Dependency) -> None:
        async for found in self._iter_dependents(owner, dependency):
            if dependency.effect == "remove_last":
                left = await find_left(self.find, owner.name, dependency.path, found)
                found = [document for document in found if not left[document["_id"]]]
            await self.stage(dependency.kind, found)

    async def _stage_cleared(self, owner: RecordType[Any], dependency: Dependency) -> None:
        async for found in self._iter_dependents(owner, dependency):
            gone = await self.find(dependency.kind.name, [document["_id"] for document in found])
            left = await find_left(self.find, owner.name, dependency.path, found)
            cleared = []
            for document in found:
                if document["_id"] not in gone:
                    field = dependency.path.partition(".")[0]
                    fields: Document = {field: left[document["_id"]]}
                    if UPDATED_AT in dependency.kind.stored_fields:
                        fields[UPDATED_AT] = self._import_time
                    cleared.append({"_id": document["_id"], CHANGES_FIELD: fields})
            if cleared:
                self.is_empty = False
                await driver.insert_absent(
                    self.collection_of(dependency.kind.name, CLEARED), cleared
                )

    async def _iter_dependents(
        self, owner: RecordType[Any], dependency: Dependency
    ) -> AsyncIterator[list[Document]]:
        """Yield the records of a dependency that are not staged as members, each with its owner.

        Members that are staged name an owner that stays, or are refused. A reference that they do
        not speak of is cleared when they are planned.
        """
        path = stored_name(dependency.path)
        projection = dict.fromkeys((*_fields_of(dependency.kind), path.partition(".")[0]), 1)
        async for owners in self.iter_removed(owner):
            for asset_id, group in _group_by_asset(owners).items():
                names = {each["_id"]: format_key(each[VALUES_FIELD]) for each in group}
                where = dependency.condition([*names])
                if dependency.is_same_asset:
                    where["asset_id"] = asset_id
                found = driver.iter_batches(self._database[dependency.kind.name], where, projection)
                async for batch in found:
                    keys = [document["_id"] for document in batch]
                    staged = await self._staging.find_members(dependency.kind.name, keys, set())
                    kept = {document["_id"] for document in staged}
                    for document in batch:
                        key = next(key for key in values_at(document, path) if key in names)
                        document[OWNER_FIELD] = f"{owner.singular} {names[key]}"
                    yield [document for document in batch if document["_id"] not in kept]

    async def stage(self, kind: RecordType[Any], documents: Iterable[Document]) -> None:
        """Stage records to remove, each with its owner if it is removed with one."""
        staged = []
        for document in documents:
            removal = {
                "_id": document["_id"],
                "asset_id": document.get(kind.scope_field) or "",
                VALUES_FIELD: get_key_values(kind, document),
            }
            if owner := document.get(OWNER_FIELD):
                removal[OWNER_FIELD] = owner
            staged.append(removal)
        if staged:
            self.is_empty = False
            await driver.insert_absent(self.collection_of(kind.name), staged)

    async def find(self, kind_name: str, keys: Collection[str]) -> set[str]:
        """Return which of these records are removed."""
        if self.is_empty or not keys:
            return set()
        where = {"_id": {"$in": sorted(keys)}}
        found = self.collection_of(kind_name).find(where, {"_id": 1})
        return {document["_id"] async for document in found}

    async def iter_changes(self, kind: RecordType[Any]) -> AsyncIterator[list[Change]]:
        """Yield what is removed of a kind, then what loses a reference."""
        if self.is_empty:
            return
        async for removals in self.iter_removed(kind):
            owners = {each["_id"]: each.get(OWNER_FIELD) for each in removals}
            live = await self._load(kind, [*owners])
            yield [Change(document, {}, owners[document["_id"]]) for document in live]
        async for fields in self.iter_cleared(kind):
            live = await self._load(kind, [*fields])
            yield [Change(document, document | fields[document["_id"]]) for document in live]

    async def _load(self, kind: RecordType[Any], keys: list[str]) -> list[Document]:
        where = {"_id": {"$in": keys}}
        found = await self._database[kind.name].find(where, sort=[("_id", 1)]).to_list(None)
        return [kind.fill_defaults(document) for document in found]

    async def iter_removed(self, kind: RecordType[Any]) -> AsyncIterator[list[Document]]:
        """Yield the staged removals of a kind, by key."""
        async for batch in driver.iter_batches(self.collection_of(kind.name)):
            yield batch

    async def iter_cleared(self, kind: RecordType[Any]) -> AsyncIterator[dict[str, Document]]:
        """Yield the fields to set in records that lose a reference, by key."""
        async for batch in driver.iter_batches(self.collection_of(kind.name, CLEARED)):
            yield {document["_id"]: document[CHANGES_FIELD] for document in batch}


class _KeyStream:
    """The staged keys of a kind in their order, to be asked for rising keys."""

    def __init__(self, collection: driver.Collection) -> None:
        self._batches = driver.iter_batches(
            collection, None, {KEY_FIELD: 1, "_id": 0}, order_by=KEY_FIELD
        )
        self._batch: list[Document] = []
        self._position = 0
        self._is_at_end = False

    async def has(self, key: str, *, is_prefix: bool) -> bool:
        """Return whether the key is staged; as the first fields of one, if `is_prefix`."""
        # Both are sorted by code point, as MongoDB sorts by UTF-8.
        while (staged := await self._peek()) is not None and staged < key:
            self._position += 1
        if staged is None:
            return False
        return staged == key or (is_prefix and staged.startswith(key + KEY_SEPARATOR))

    async def _peek(self) -> str | None:
        if self._position == len(self._batch) and not self._is_at_end:
            self._batch = await anext(self._batches, [])
            self._position = 0
            self._is_at_end = not self._batch
        return None if self._is_at_end else self._batch[self._position][KEY_FIELD]


def _fields_of(kind: RecordType[Any]) -> set[str]:
    """Return the stored names of a kind's identifying fields and of its asset."""
    return {*map(stored_name, kind.key_fields), *([kind.scope_field] if kind.scope_field else ())}


def _group_by_asset(documents: list[Document]) -> dict[str, list[Document]]:
    groups: dict[str, list[Document]] = defaultdict(list)
    for document in documents:
        groups[document["asset_id"]].append(document)
    return groups


# Removing what is staged can be repeated and changes nothing more. References are cleared and
# dependents removed before their owners, so that readers never meet a record without its owner.
# Only assignments of attributes are written beside imports. Requests that see the state `removing`
# assign none to what is staged; those that began before it are over, or fail, once the guards are
# written (`storage.write_guards`). Then those that they left behind are staged too.


async def apply_removals(
    database: driver.Database,
    removals: Removals,
    lease: ImportLease,
    on_progress: Callable[[int], None],
) -> None:
    """Clear references, then remove the staged records, owners last, and write their tombstones.

    `on_progress` receives the number of records that a batch has changed or removed.
    """
    await end_earlier_writes(database)
    lease.check_held()
    await removals.stage_dependents_of_kind(ASSIGNMENTS)
    for kind in RECORD_TYPES:
        async for cleared in removals.iter_cleared(kind):
            lease.check_held()
            writes = [
                driver.UpdateOne({"_id": key}, {"$set": fields}) for key, fields in cleared.items()
            ]
            await database[kind.name].bulk_write(writes, ordered=False)
            on_progress(len(writes))
    for kind in reversed(RECORD_TYPES):  # maps before their backgrounds, which only they lead to
        async for batch in removals.iter_removed(kind):
            await _remove(database, kind, batch, lease)
            on_progress(len(batch))


async def _remove(
    database: driver.Database,
    kind: RecordType[Any],
    removals: list[Document],
    lease: ImportLease,
) -> None:
    """Remove records, then write the tombstones that they do not have.

    A record with a tombstone is gone. Tombstones have the time at which they are written, so that
    followers do not miss those of an import that is finished late.
    """
    names = {each["_id"]: KEY_SEPARATOR.join(each[VALUES_FIELD]) for each in removals}
    lease.check_held()
    await database[kind.name].delete_many({"_id": {"$in": [*names]}})
    removed_at = await lease.take_time()
    where = {
        "kind": kind.name,
        "key": {"$in": [*names.values()]},
        "removed_at": {"$gte": lease.committed_at},
    }
    found = await database[TOMBSTONES.name].find(where, ["key"]).to_list(None)
    listed = {document["key"] for document in found}
    tombstones = [
        build_tombstone(kind, each[VALUES_FIELD], each["asset_id"], removed_at)
        for each in removals
        if names[each["_id"]] not in listed
    ]
    if tombstones:
        lease.check_held()
        await driver.insert_absent(database[TOMBSTONES.name], tombstones)
