"""The records that an import removes or clears, staged like its members.

Each kind has a collection of the records to remove and one of those that lose a reference to them.
With them the staged members remain the redo log: whoever finishes the import removes the same.
"""

import asyncio
from collections import defaultdict
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from functools import partial
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

from storage.administration.import_lease import ImportLease
from storage.bundles.names import suggest
from storage.bundles.violations import Mentions, Violations, quote_first, quote_json
from storage.catalog import (
    ASSETS,
    ASSIGNMENTS,
    FLOORS,
    MAPS,
    PROCESSED_FIELD,
    RECORD_TYPES,
    RECORD_TYPES_BY_NAME,
    UNITS,
)
from storage.errors import BundleError
from storage.importing.planning import Change, find_left, values_at
from storage.importing.staging import KEY_FIELD, Staging, find_neighbours
from storage.mongo import driver
from storage.records.kinds import (
    KEY_SEPARATOR,
    UPDATED_AT,
    Document,
    RecordType,
    RemovalEffect,
    format_key,
    get_key_values,
    get_stored_keys,
    parse_key,
    stored_name,
)
from storage.tombstones import TOMBSTONES, build_tombstone
from storage.write_guards import end_earlier_writes


class Dependency(NamedTuple):
    """A way in which records of a kind depend on an owner."""

    owner: RecordType[Any]
    kind: RecordType[Any]
    effect: RemovalEffect
    path: str
    """The field at this path names the owner."""
    condition: Callable[[Sequence[str]], Document]
    """Given the keys of owners, returns the condition on the records that depend on them."""
    is_same_asset: bool = True
    """Owner and dependent have one `asset_id`, by which more indexes can be used."""


def _iter_dependencies() -> Iterator[Dependency]:
    for kind in RECORD_TYPES:
        for key in kind.foreign_keys:
            owner, refers = RECORD_TYPES_BY_NAME[key.kind], partial(_refer_by, key.field)
            is_same_asset = ("asset_id", "asset_id") in key.equal_fields
            yield Dependency(owner, kind, key.on_removal, key.field, refers, is_same_asset)
        for made in kind.made_for:
            owner = RECORD_TYPES_BY_NAME[made.kind]
            yield Dependency(owner, kind, "remove", made.path, made.condition)


def _refer_by(field: str, keys: Sequence[str]) -> Document:
    return {stored_name(field): {"$in": [*keys]}}


def list_dependencies() -> list[Dependency]:
    """Return how records depend on others: owners after those with which they are removed.

    `RECORD_TYPES` has backgrounds before their maps.

    >>> [(each.kind.name, each.effect) for each in list_dependencies() if each.owner is MAPS]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('backgrounds', 'remove'), ('units', 'clear'), ('level_tags', 'remove'),
     ('locations', 'remove')]
    """
    dependencies = [*_iter_dependencies()]
    graph: dict[str, set[str]] = {kind.name: set() for kind in RECORD_TYPES}
    for each in dependencies:
        if each.effect != "clear":
            graph[each.kind.name].add(each.owner.name)
    order = [*TopologicalSorter(graph).static_order()]
    return sorted(dependencies, key=lambda each: order.index(each.owner.name))


DEPENDENCIES = list_dependencies()


REMOVED, CLEARED = "removed", "cleared"
VALUES_FIELD = "values"
"""A staged removal has its identifying fields here."""
OWNER_FIELD = "owner"
"""A staged removal says with what it is removed, such as `floor oak-1`, unless for itself."""
CHANGES_FIELD = "set"
"""A staged record that loses a reference has the fields to set here."""


@dataclass
class Removals:
    """The staged removals of one import."""

    database: driver.Database
    staging: Staging
    import_time: str
    is_empty: bool = True

    def collection_of(self, kind_name: str, what: str = REMOVED) -> driver.Collection:
        """Return the collection of what is removed of a kind, or cleared in it."""
        return self.staging.collection_of(f"{what}.{kind_name}")

    async def discard(self) -> None:
        """Forget what is staged."""
        own = {
            self.collection_of(kind.name, what).name
            for kind in RECORD_TYPES
            for what in (REMOVED, CLEARED)
        }
        await self.staging.drop(own.intersection(await self.staging.list_names()))
        self.is_empty = True

    async def stage_absent(
        self, kind: RecordType[Any], where: Document, used_in: tuple[str, str] | None = None
    ) -> list[str]:
        """Stage the records of a kind with this condition that are not among the staged members.

        Given a kind and a field of it, those that no record refers to stay; return their keys.
        """
        fields = dict.fromkeys((*_fields_of(kind), kind.single_valued_flag or "_id"), 1)
        staged = _KeyStream(self.staging.collection_of(kind.name))
        unused: set[str] = set()
        async for batch in driver.iter_batches(self.database[kind.name], where, fields):
            absent = {
                document["_id"]: document
                for document in batch
                if not await staged.has(
                    document["_id"], is_prefix=bool(document.get(kind.single_valued_flag))
                )
            }
            if used_in:
                users, field = used_in
                found = self.database[users].distinct(field, {field: {"$in": [*absent]}})
                unused |= absent.keys() - await found
            await self.stage(kind, [absent[key] for key in absent if key not in unused])
        return sorted(unused)

    async def stage_dependents(self) -> None:
        """Stage what is removed with the staged removals, then what loses a reference to them."""
        await self.stage_removed_dependents(RECORD_TYPES)
        for dependency in DEPENDENCIES:
            if dependency.effect != "remove":
                await self._stage_cleared(dependency)

    async def stage_removed_dependents(self, kinds: Sequence[RecordType[Any]]) -> None:
        """Stage the records of these kinds that are removed with what is staged."""
        for dependency in DEPENDENCIES:
            if dependency.effect == "clear" or dependency.kind not in kinds:
                continue
            owner = dependency.owner.name
            async for found in self._iter_dependents(dependency):
                if dependency.effect == "remove_last":
                    left = await find_left(self.find, owner, dependency.path, found)
                    found = [document for document in found if not left[document["_id"]]]
                await self.stage(dependency.kind, found)

    async def _stage_cleared(self, dependency: Dependency) -> None:
        owner = dependency.owner.name
        async for found in self._iter_dependents(dependency):
            gone = await self.find(dependency.kind.name, [document["_id"] for document in found])
            left = await find_left(self.find, owner, dependency.path, found)
            field = dependency.path.partition(".")[0]
            has_time = UPDATED_AT in dependency.kind.stored_fields
            times = {UPDATED_AT: self.import_time} if has_time else {}
            cleared = [
                {"_id": key, CHANGES_FIELD: {field: left[key], **times}}
                for key in (document["_id"] for document in found)
                if key not in gone
            ]
            if cleared:
                self.is_empty = False
                await driver.insert_absent(
                    self.collection_of(dependency.kind.name, CLEARED), cleared
                )

    async def _iter_dependents(self, dependency: Dependency) -> AsyncIterator[list[Document]]:
        """Yield the records of a dependency that are not staged as members, each with its owner.

        Members that are staged name an owner that stays, or are refused. A reference that they do
        not speak of is cleared when they are planned.
        """
        owner, path = dependency.owner, stored_name(dependency.path)
        projection = dict.fromkeys((*_fields_of(dependency.kind), path.partition(".")[0]), 1)
        async for owners in self.iter_removed(owner):
            names_by_asset: dict[str, dict[str, str]] = defaultdict(dict)
            for each in owners:
                names_by_asset[each["asset_id"]][each["_id"]] = format_key(each[VALUES_FIELD])
            for asset_id, names in names_by_asset.items():
                where = dependency.condition([*names])
                if dependency.is_same_asset:
                    where["asset_id"] = asset_id
                found = driver.iter_batches(self.database[dependency.kind.name], where, projection)
                async for batch in found:
                    keys = [document["_id"] for document in batch]
                    staged = await self.staging.find_members(dependency.kind.name, keys, set())
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
        return {document["_id"] for document in await driver.read_all(found)}

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
        found = await driver.read_all(self.database[kind.name].find(where, sort=[("_id", 1)]))
        return [kind.fill_defaults(document) for document in found]

    def iter_removed(self, kind: RecordType[Any]) -> AsyncIterator[list[Document]]:
        """Yield the staged removals of a kind, by key."""
        return driver.iter_batches(self.collection_of(kind.name))

    async def iter_cleared(self, kind: RecordType[Any]) -> AsyncIterator[dict[str, Document]]:
        """Yield the fields to set in records that lose a reference, by key."""
        async for batch in driver.iter_batches(self.collection_of(kind.name, CLEARED)):
            yield {document["_id"]: document[CHANGES_FIELD] for document in batch}


class _KeyStream:
    """The staged keys of a kind in their order, to be asked for rising keys."""

    def __init__(self, collection: driver.Collection) -> None:
        batches = driver.iter_batches(
            collection, None, {KEY_FIELD: 1, "_id": 0}, order_by=KEY_FIELD
        )
        self._keys = (document[KEY_FIELD] async for batch in batches for document in batch)
        self._next: str | None = ""

    async def has(self, key: str, *, is_prefix: bool) -> bool:
        """Return whether the key is staged; as the first fields of one, if `is_prefix`."""
        # Both are sorted by code point, as MongoDB sorts by UTF-8.
        while self._next is not None and self._next < key:
            self._next = await anext(self._keys, None)
        staged = self._next or ""
        return staged == key or (is_prefix and staged.startswith(key + KEY_SEPARATOR))


def _fields_of(kind: RecordType[Any]) -> set[str]:
    """Return the stored names of a kind's identifying fields and of its asset."""
    return {*map(stored_name, kind.key_fields), *([kind.scope_field] if kind.scope_field else ())}


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
    await removals.stage_removed_dependents([ASSIGNMENTS])
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
    found = await driver.read_all(database[TOMBSTONES.name].find(where, ["key"]))
    listed = {document["key"] for document in found}
    tombstones = [
        build_tombstone(kind, each[VALUES_FIELD], each["asset_id"], removed_at)
        for each in removals
        if names[each["_id"]] not in listed
    ]
    if tombstones:
        lease.check_held()
        await driver.insert_absent(database[TOMBSTONES.name], tombstones)


# An import removes records that a mirrored source lacks, and those that are named.


DEFAULT_SHARE = 0.2
ALWAYS_ALLOWED = 5
"""Records of a kind that may be removed however few there are: a fifth of three is none."""
NEVER_FREE = frozenset({ASSETS.name, FLOORS.name, MAPS.name})
"""A fifth of these kinds is a fifth: they have few records, and much goes with each."""


class RemovalLimit(NamedTuple):
    """A limit of removals: a share of the records of each kind, or a number of all kinds."""

    share: float | None = DEFAULT_SHARE
    total: int | None = None

    @classmethod
    def parse(cls, text: str) -> "RemovalLimit":
        """Parse `100` or `30%`. Raises ValueError.

        >>> RemovalLimit.parse("30%"), RemovalLimit.parse("100")
        (RemovalLimit(share=0.3, total=None), RemovalLimit(share=None, total=100))
        """
        number = text.strip().removesuffix("%")
        is_share = number != text.strip()
        if not (number.isascii() and number.isdecimal()) or (is_share and int(number) > 100):
            raise ValueError(f"must be a number such as 100, or a share such as 30%, not {text!r}")
        return cls(int(number) / 100) if is_share else cls(None, int(number))

    def find_excess(self, removed: Mapping[str, int], existing: Mapping[str, int]) -> str | None:
        """Return what exceeds the limit, as a sentence; None if nothing does.

        Both count records by kind: those to remove, and those there are.

        >>> RemovalLimit(0.2).find_excess({"units": 21}, {"units": 100})
        '21 of 100 units would be removed, more than 20% of a kind'
        >>> RemovalLimit(0.2).find_excess({"units": 20, "floors": 0}, {"units": 100, "floors": 9})
        """
        if self.total is not None and sum(removed.values()) > self.total:
            return (
                f"{sum(removed.values()):,} records would be removed, more than the"
                f" {self.total:,} allowed"
            )
        if self.share is None:
            return None
        parts = [
            f"{count:,} of {existing[kind]:,} {kind}"
            for kind, count in removed.items()
            if count > self.share * existing[kind]
            and (count > ALWAYS_ALLOWED or kind in NEVER_FREE)
        ]
        if not parts:
            return None
        return f"{', '.join(parts)} would be removed, more than {self.share:.0%} of a kind"


MAX_NAMED = 10


class Mirror:
    """A mirrored source: what it lists of these assets, or of all, is removed if it lacks it.

    >>> mentions = Mentions()
    >>> mentions.add("units", {"asset_id": {"$in": ["oak", "elm"]}})
    >>> Mirror(mentions, None).list_assets(), Mirror(mentions, {"oak"}).list_assets()
    (['elm', 'oak'], ['oak'])
    >>> mentions.add("units")
    >>> Mirror(mentions, {"oak"}).conditions
    {'units': {'processed': {'$ne': True}, 'asset_id': {'$in': ['oak']}}}
    """

    def __init__(self, mentions: Mentions, asset_ids: Collection[str] | None = None) -> None:
        self._mentions = mentions
        self._asset_ids = asset_ids
        self._unused_floors: list[str] = []
        self.conditions: dict[str, Document] = {}
        """Records of these kinds may be removed. What processing has made is not the source's, and
        stays as long as its owners."""
        for kind in RECORD_TYPES:
            condition = mentions.condition_of(kind.name)
            if condition is None or (asset_ids is not None and not kind.scope_field):
                continue
            where = self.conditions[kind.name] = {**condition, PROCESSED_FIELD: {"$ne": True}}
            if asset_ids is not None:
                where[kind.scope_field] = {"$in": sorted(asset_ids)}

    async def stage(self, removals: Removals, lease: ImportLease) -> None:
        """Stage what the source lacks.

        A table of apartments has only the floors with units: a roof that never had any is not its.
        """
        self._unused_floors = []
        for name, where in self.conditions.items():
            lease.check_held()
            is_of_tables = name == FLOORS.name and self._mentions.list_asset_ids(name) is not None
            used_in = (UNITS.name, "floor_id") if is_of_tables else None
            kind = RECORD_TYPES_BY_NAME[name]
            self._unused_floors += await removals.stage_absent(kind, where, used_in)

    def list_assets(self) -> list[str] | None:
        """Return the assets that can lose records of any kind; None for all."""
        asset_ids = self._asset_ids
        lists = [self._mentions.list_asset_ids(name) for name in self.conditions]
        if not lists or None in lists:
            return None if asset_ids is None else sorted(asset_ids)
        found = {each for ids in lists for each in ids or ()}
        return sorted(found if asset_ids is None else found.intersection(asset_ids))

    async def find_excess(
        self, database: driver.Database, removals: Removals, limit: RemovalLimit
    ) -> str | None:
        """Return what exceeds the limit of removals; None if nothing does.

        All that is removed is a share of what the assets have, and what is removed for itself also
        one of what is mirrored: the units of one property, of which a table was cut off.
        """
        if removals.is_empty:
            return None
        assets = self.list_assets()
        removed, existing, absent, listed = {}, {}, {}, {}
        for kind in RECORD_TYPES:
            staged, live = removals.collection_of(kind.name), database[kind.name]
            count = await staged.count_documents({})
            if not count:
                continue
            is_scoped = assets is not None and kind.scope_field
            where = {kind.scope_field: {"$in": assets}} if is_scoped else {}
            removed[kind.name], existing[kind.name] = count, await live.count_documents(where)
            if kind.name in self.conditions:
                absent[kind.name] = await staged.count_documents({OWNER_FIELD: {"$exists": False}})
                listed[kind.name] = await live.count_documents(self.conditions[kind.name])
        return limit.find_excess(removed, existing) or limit.find_excess(absent, listed)

    async def list_notes(self, database: driver.Database) -> list[str]:
        """Return notes on what a table of apartments cannot list.

        It has the units of its properties, and the floors of these: a property that is no longer in
        it stays as it is.
        """
        notes = []
        mentioned = self._mentions.list_asset_ids(UNITS.name)
        if mentioned is not None:
            where: list[Document] = [{"_id": {"$nin": mentioned}}]
            if self._asset_ids is not None:
                where.append({"_id": {"$in": sorted(self._asset_ids)}})
            found = database[ASSETS.name].find({"$and": where}, ["_id"], limit=MAX_NAMED + 1)
            if names := [document["_id"] async for document in found.sort("_id", 1)]:
                listed = quote_first(names, MAX_NAMED)
                left = "so left as they are: units of the assets"
                notes.append(f"not in the source, and {left} {listed}")
        if self._unused_floors:
            listed = quote_first(self._unused_floors, MAX_NAMED)
            left = "left as they are since they had no units"
            notes.append(f"not in the source, and {left}: floors {listed}")
        return notes


KINDS_BY_TEXT = {
    text: kind
    for kind in RECORD_TYPES
    for name in (kind.singular, kind.name)
    for text in (name, name.replace("_", "-"))
}
_BATCH_KEYS = 1_000


def find_kind(text: str) -> RecordType[Any]:
    """Return the kind with this name, such as `unit`, `units` or `unit-references`.

    Raises BundleError.
    """
    if kind := KINDS_BY_TEXT.get(text.lower()):
        return kind
    meant = suggest(text, KINDS_BY_TEXT)
    hint = f"did you mean {meant}? Kinds" if meant else "kinds"
    names = ", ".join(kind.singular for kind in RECORD_TYPES)
    raise BundleError([f"there is no kind {quote_json(text)}; {hint} are {names}"])


async def find_named(
    database: driver.Database, kind: RecordType[Any], texts: Sequence[str]
) -> list[Document]:
    """Return the records with these keys. Raises BundleError with all that do not exist."""
    violations = Violations()
    values_by_text = {}
    for text in texts:
        try:
            values_by_text[text] = parse_key(kind, text)
        except ValueError as error:
            violations.add("id", str(error))
    found: dict[str, Document] = {}
    wanted = [key for values in values_by_text.values() for key in get_stored_keys(kind, values)]
    for start in range(0, len(wanted), _BATCH_KEYS):
        where = {"_id": {"$in": wanted[start : start + _BATCH_KEYS]}}
        documents = await driver.read_all(database[kind.name].find(where))
        found |= {format_key(get_key_values(kind, each)): each for each in documents}
    for text, values in values_by_text.items():
        if format_key(values) not in found:
            meant = None if violations.is_full else await _find_meant(database, kind, text)
            hint = f"; did you mean {quote_json(meant)}?" if meant else ""
            violations.add(kind.name, f"there is no {kind.singular} {quote_json(text)}{hint}")
    violations.raise_if_any()
    return [found[format_key(values)] for values in values_by_text.values()]


async def _find_meant(database: driver.Database, kind: RecordType[Any], text: str) -> str | None:
    """Return a similar id, of those that begin alike."""
    if len(kind.key_fields) > 1:
        return None
    near = await find_neighbours(database[kind.name], "_id", text)
    return await asyncio.to_thread(suggest, text, near)
