"""Compute the changes that staged members make in the catalog, batch by batch.

An import computes the changes twice: to validate and count, then to apply. Applying is idempotent:
a record already written counts as unchanged, so an interrupted run can be repeated.
"""

import asyncio
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import aclosing, suppress
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple, TypeAlias, TypeVar

import msgspec

from storage.administration.audit import Operation
from storage.bundles.json_bundles import TIMESTAMPED_ARRAYS, TimestampedArray
from storage.cache.cache import MISSING, Cache
from storage.catalog import PARSED_FIELDS, RECORD_TYPES, UNITS
from storage.importing.staging import KEPT_FIELD, ORIGIN_FIELD, SHOWN_FIELD, Staging
from storage.mongo import driver
from storage.records.kinds import (
    CREATED_AT,
    TIMESTAMP_FIELDS,
    UPDATED_AT,
    Document,
    RecordType,
    stored_name,
)

T = TypeVar("T")


async def read_ahead(batches: AsyncGenerator[T]) -> AsyncGenerator[T]:
    """Yield batches; each is read while the consumer works on the one before."""
    async with aclosing(batches):
        reading = asyncio.ensure_future(anext(batches, None))
        try:
            while (batch := await reading) is not None:
                reading = asyncio.ensure_future(anext(batches, None))
                await asyncio.sleep(0)  # let it begin: the consumer may not wait for anything
                yield batch
        finally:
            reading.cancel()
            with suppress(asyncio.CancelledError):
                await reading


class PipelinedWriter:
    """Runs writes in the background: one at a time, or a few if their order does not matter."""

    def __init__(self, at_once: int = 1) -> None:
        self._at_once = at_once
        self._running: deque[asyncio.Task[None]] = deque()

    async def submit(self, write: Coroutine[Any, Any, None]) -> None:
        """Start a write once there is room for it. Raises the error of an earlier one."""
        try:
            while len(self._running) >= self._at_once:
                await self._running.popleft()
        except BaseException:
            write.close()
            raise
        self._running.append(asyncio.create_task(write))
        await asyncio.sleep(0)  # let it begin: the caller may not wait for anything

    async def drain(self) -> None:
        """Wait for the last writes. Raises the error of the first that failed."""
        running, self._running = self._running, deque()
        outcomes = await asyncio.gather(*running, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome


# The fields that a member gives are merged into the record that it changes. A member of a JSON
# bundle gives all of them, except in a merge. A row of a spreadsheet says nothing of fields without
# a column, and has values of others that only a new record gets.


def drop_kept_fields(given: Document, names: Collection[str]) -> None:
    """Drop from a member what only a new record gets of it, in place: its record exists."""
    for field in (*names, *(PARSED_FIELDS if "source" in names else ())):
        given.pop(field, None)


def find_lacking_fields(kind: RecordType[Any], given: Document) -> list[str]:
    """Return the required fields that a member lacks, so that it cannot be a new record."""
    required = (field.name for field in msgspec.structs.fields(kind.struct) if field.required)
    return [name for name in required if stored_name(name) not in given]


def merge_member(kind: RecordType[Any], given: Document, live: Document | None) -> Document:
    """Return the whole document of a member: fields that are absent keep the stored value.

    Without a stored record they have their defaults; then none may be lacking. Timestamps are
    those that are given. Arrays are replaced as a whole.
    """
    names = [field.name for field in msgspec.structs.fields(kind.struct)]
    values = {name: given[stored_name(name)] for name in names if stored_name(name) in given}
    if live is None:
        record = kind.struct(**values)
    else:
        no_times = dict.fromkeys([name for name in TIMESTAMP_FIELDS if name in names], "")
        record = msgspec.structs.replace(kind.decode([live])[0], **{**no_times, **values})
    derived = {name: given[name] for name in kind.derived_fields if name in given}
    # What is derived from the record's own fields comes last: they may be those of `live`.
    return {**(live or {}), **derived, **kind.to_document(record), "_id": given["_id"]}


# Timestamps come from the bundle, from the live record, or are the time of the import. Members are
# compared without them, those of nested items included. An unchanged member or item keeps the live
# ones.


PLAIN_FIELDS = {
    kind.name: [
        field
        for field in kind.stored_fields
        if field not in TIMESTAMP_FIELDS
        and all(field != nested.field for nested in TIMESTAMPED_ARRAYS[kind.name])
    ]
    for kind in RECORD_TYPES
}
"""These stored fields are neither timestamps nor arrays of items with timestamps, by kind."""


def has_same_content(kind: RecordType[Any], document: Document, live: Document) -> bool:
    """Return whether two documents are equal except for timestamps."""
    return not any(_iter_changed_fields(kind, document, live))


def list_changed_fields(
    kind: RecordType[Any], document: Document, live: Document
) -> dict[str, tuple[Any, Any]]:
    """Return the fields in which two documents differ except for timestamps, each with the value
    before and after; all fields of a document that is new (`live` is empty)."""
    return dict(_iter_changed_fields(kind, document, live))


def _iter_changed_fields(
    kind: RecordType[Any], document: Document, live: Document
) -> Iterator[tuple[str, tuple[Any, Any]]]:
    for field in PLAIN_FIELDS[kind.name]:
        before, after = live.get(field), document.get(field)
        if before != after or not live:
            yield field, (before, after)
    for nested in TIMESTAMPED_ARRAYS[kind.name]:
        before = _items_of(nested, live.get(nested.field)) if live else None
        after = _items_of(nested, document.get(nested.field))
        if before != after:
            yield nested.field, (before, after)


def set_timestamps(
    kind: RecordType[Any], document: Document, live: Document | None, now: str
) -> None:
    """Set the timestamps of a document that is new (`live` is None) or changed, in place."""
    if CREATED_AT in document:
        _set_own_timestamps(document, live, now)
    for nested in TIMESTAMPED_ARRAYS[kind.name]:
        live_items = (live or {}).get(nested.field, ())
        # By content first: a location may have several tags of one key.
        unchanged = {_content_of(nested, item): item for item in live_items}
        before = {item[nested.identity_field]: item for item in live_items}
        for item in document[nested.field]:
            if old := unchanged.get(_content_of(nested, item)):
                item.update({name: old[name] for name in TIMESTAMP_FIELDS})
            else:
                _set_own_timestamps(item, before.get(item[nested.identity_field]), now)


def _set_own_timestamps(document: Document, live: Document | None, now: str) -> None:
    given_created, given_updated = document[CREATED_AT], document[UPDATED_AT]
    if live is None:
        updated = given_updated or now
        created = given_created or updated
    else:
        # Stored timestamps compare as text: all are UTC in the same format.
        updated = given_updated if given_updated > live[UPDATED_AT] else now
        created = given_created or live[CREATED_AT]
    document[CREATED_AT], document[UPDATED_AT] = created, updated


def _items_of(nested: TimestampedArray, items: Sequence[Document] | None) -> list[Document]:
    return [{name: item[name] for name in nested.content_fields} for item in items or ()]


def _content_of(nested: TimestampedArray, item: Document) -> tuple[Any, ...]:
    return tuple(item[name] for name in nested.content_fields)


MAX_OWNERS = 20_000


class OwnerFields:
    """The facts that validation and copying need about an owner of one kind.

    >>> from storage.catalog import RECORD_TYPES_BY_NAME
    >>> OwnerFields(RECORD_TYPES_BY_NAME["floors"]).extract({"asset_id": "a", "name": "First"})
    {'asset_id': 'a'}
    """

    def __init__(self, kind: RecordType[Any]) -> None:
        self._defaults = kind.defaults
        rows = [
            owner
            for other in RECORD_TYPES
            for owner in other.foreign_keys
            if owner.kind == kind.name
        ]
        self._array_paths = {owner.value_in[1] for owner in rows if owner.value_in}
        self._fields = {stored_name(theirs) for owner in rows for _, theirs in owner.equal_fields}
        self._fields |= {field for owner in rows for field in owner.copied_fields}
        if kind is UNITS:
            self._fields.add("floor_id")  # notes say on which floor a unit of a drawing is
        self.is_owner = bool(rows)
        """Other kinds refer to this one."""

    @property
    def projected(self) -> set[str]:
        """The fields of the document that the facts are extracted from."""
        return self._fields | self._array_paths

    def extract(self, document: Document) -> Document:
        """Return the facts about an owner."""
        facts = {field: document.get(field, self._defaults.get(field)) for field in self._fields}
        return facts | {path: frozenset(values_at(document, path)) for path in self._array_paths}

    def list_unknown(self, document: Document) -> dict[str, None]:
        """Return None for each array that an incomplete member of a merge does not give."""
        return {path: None for path in self._array_paths if path.split(".")[0] not in document}


FindRemoved: TypeAlias = Callable[[str, Collection[str]], Awaitable[set[str]]]
"""Given a kind and keys, returns those of records that the import removes."""


@dataclass
class OwnerCache:
    """Facts about owners of one kind, by key; staged owners take precedence over live ones, field
    by field if they do not give all, and those that the import removes do not exist."""

    database: driver.Database
    staging: Staging
    kind: RecordType[Any]
    find_removed: FindRemoved
    is_merge: bool

    def __post_init__(self) -> None:
        self._facts: Cache[str, Document | None] = Cache()
        self._fields = OwnerFields(self.kind)

    async def load(self, keys: set[str]) -> None:
        """Load the owners with these keys that are not cached: one query to staging, one to the
        catalog."""
        missing = {key for key in keys if self._facts.get(key, MISSING) is MISSING}
        found = await self._query(missing) if missing else {}
        self._facts.max_entries = max(MAX_OWNERS, len(keys))  # `get` needs all of them
        for key in missing:
            self._facts.put(key, found.get(key))

    async def _query(self, keys: set[str]) -> dict[str, Document]:
        found = await self.staging.find_members(
            self.kind.name, sorted(keys), {*self._fields.projected, KEPT_FIELD}
        )
        documents = {document["_id"]: document for document in found}
        partial = {key for key, document in documents.items() if KEPT_FIELD in document}
        whole = set() if self.is_merge else documents.keys() - partial
        if rest := sorted(keys - whole):
            projection = dict.fromkeys({"_id", *self._fields.projected}, 1)
            removed = await self.find_removed(self.kind.name, rest)
            live = self.database[self.kind.name].find({"_id": {"$in": rest}}, projection)
            for document in await driver.read_all(live):
                if (key := document["_id"]) not in removed:
                    given = documents.get(key, {})
                    drop_kept_fields(given, given.get(KEPT_FIELD, ()))
                    documents[key] = document | given
        return {key: self._fields.extract(document) for key, document in documents.items()}

    def get(self, key: str) -> Document | None:
        """Return the facts about a loaded owner, or None if there is no such owner."""
        return self._facts.peek(key, None)


def values_at(document: Document, path: str) -> list[Any]:
    """Return the values at a path: a field's, or those of all items where it is an array.

    >>> values_at({"floor_id": "f1"}, "floor_id")
    ['f1']
    >>> values_at({"floors": [{"id": "f1"}, {"id": "f2"}]}, "floors.id")
    ['f1', 'f2']
    """
    if "." in path:
        field, _, rest = path.partition(".")
        return [item[rest] for item in document.get(field) or ()]
    value = document.get(path)
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


async def find_left(
    find_removed: FindRemoved, owner_kind: str, path: str, documents: Collection[Document]
) -> dict[str, list[Any] | None]:
    """Return what is left of a reference, by the key of each record that loses an owner of it."""
    gone = await find_removed(
        owner_kind, {key for each in documents for key in values_at(each, path)}
    )
    field, _, rest = path.partition(".")
    left: dict[str, list[Any] | None] = {}
    for document in documents:
        if not gone.isdisjoint(values_at(document, path)):
            value = document[field]
            items = value if isinstance(value, list) else []
            kept = [item for item in items if (item[rest] if rest else item) not in gone]
            left[document["_id"]] = kept if isinstance(value, list) else None
    return left


class Change(NamedTuple):
    """The document of a record before and after an import."""

    before: Document
    """Empty if the record is new."""
    after: Document
    """Empty if it is removed, the document before if it is unchanged."""
    owner: str | None = None
    """It is removed with this record, such as `floor oak-1`; None if it is removed for itself."""

    @property
    def key(self) -> str:
        """The key of the record."""
        return str((self.after or self.before)["_id"])

    @property
    def is_unchanged(self) -> bool:
        """True if the record stays as it is."""
        return self.after is self.before

    @property
    def operation(self) -> Operation:
        """The operation, of a record that changes."""
        if not self.before:
            return "inserted"
        return "updated" if self.after else "removed"


ChangeObserver: TypeAlias = Callable[[RecordType[Any], Sequence[Change]], Awaitable[None]]
"""Is shown all that an import changes: kind by kind, in batches."""


class IncompleteMember(NamedTuple):
    """A member of a merge that is no change, because its record does not exist yet."""

    key: str
    origin: str
    lacking: list[str]
    """Required fields that are not given."""


class PlannedBatch(NamedTuple):
    """Staged documents, whole and with the fields copied from their owners, and their changes."""

    documents: list[Document]
    origins: list[str]
    """Each document came from this place in the bundle."""
    changes: list[Change]
    incomplete: Sequence[IncompleteMember] = ()
    """Members that are not among the documents."""


@dataclass
class ChangePlanner:
    """Compares the staged members of one import with the catalog.

    In a merge they change only the fields that they have.
    """

    database: driver.Database
    staging: Staging
    import_time: str
    find_removed: FindRemoved
    is_merge: bool = False

    def __post_init__(self) -> None:
        self.owner_caches = {
            kind.name: OwnerCache(
                self.database, self.staging, kind, self.find_removed, self.is_merge
            )
            for kind in RECORD_TYPES
        }

    async def plan_batches(self, kind: RecordType[Any]) -> AsyncIterator[PlannedBatch]:
        """Yield the changes of all staged members of a kind."""
        has_records = await self.database[kind.name].find_one({}, ["_id"]) is not None
        async for documents in read_ahead(self.staging.iter_batches(kind)):
            origins = [document.pop(ORIGIN_FIELD) for document in documents]
            kept_fields = [document.pop(KEPT_FIELD, ()) for document in documents]
            await self._copy_owner_fields(kind, documents)
            if kind.single_valued_flag:
                for document in documents:
                    document["_id"] = kind.key_of(document)
            live = await self._load_live(kind, documents) if has_records else {}
            if self.is_merge or any(kept_fields):
                yield await self._plan_merge(kind, documents, kept_fields, origins, live)
                continue
            yield PlannedBatch(documents, origins, self._plan_changes(kind, documents, live))

    async def _plan_merge(
        self,
        kind: RecordType[Any],
        members: list[Document],
        kept_fields: Sequence[Sequence[str]],
        origins: list[str],
        live: dict[str, Document],
    ) -> PlannedBatch:
        derived = {*kind.derived_fields}
        documents, complete_origins, nulls, incomplete = [], [], [], []
        kept = await self._clear_kept_references(kind, members, kept_fields, live)
        for given, names, origin in zip(members, kept_fields, origins, strict=True):
            key = given["_id"]
            if key in live:
                drop_kept_fields(given, names)
            elif lacking := find_lacking_fields(kind, given):
                incomplete.append(IncompleteMember(key, origin, lacking))
                continue
            is_whole = not self.is_merge and not names
            documents.append(given if is_whole else merge_member(kind, given, kept.get(key)))
            complete_origins.append(origin)
            given_nulls = [name for name in given.keys() - derived if given[name] is None]
            nulls.append(given_nulls if self.is_merge else [])
        await self._copy_owner_fields(kind, documents)  # the owner may be the stored one
        changes = self._plan_changes(kind, documents, live, nulls)
        return PlannedBatch(documents, complete_origins, changes, incomplete)

    async def _clear_kept_references(
        self,
        kind: RecordType[Any],
        members: list[Document],
        kept_fields: Sequence[Sequence[str]],
        live: dict[str, Document],
    ) -> dict[str, Document]:
        """Return live records without the references that members keep to what is removed."""
        for owner in kind.foreign_keys:
            field = owner.field.partition(".")[0]
            keeping = [
                live[member["_id"]]
                for member, names in zip(members, kept_fields, strict=True)
                if field in names and member["_id"] in live
            ]
            if keeping and owner.on_removal != "remove":
                left = await find_left(self.find_removed, owner.kind, owner.field, keeping)
                live = live | {key: {**live[key], field: value} for key, value in left.items()}
        return live

    async def _copy_owner_fields(self, kind: RecordType[Any], documents: list[Document]) -> None:
        for owner in kind.foreign_keys:
            if not owner.copied_fields:
                continue
            cache = self.owner_caches[owner.kind]
            keys_by_document = [values_at(document, owner.field) for document in documents]
            await cache.load({key for keys in keys_by_document for key in keys})
            for document, keys in zip(documents, keys_by_document, strict=True):
                for key in keys:
                    facts = cache.get(key)
                    for field in owner.copied_fields:
                        document[field] = facts and facts[field]

    async def _load_live(
        self, kind: RecordType[Any], documents: list[Document]
    ) -> dict[str, Document]:
        keys = [document["_id"] for document in documents]
        projection = dict.fromkeys(kind.stored_fields, 1)
        collection = self.database[kind.name]
        live = await driver.read_all(collection.find({"_id": {"$in": keys}}, projection))
        return {document["_id"]: kind.fill_defaults(document) for document in live}

    def _plan_changes(
        self,
        kind: RecordType[Any],
        documents: Sequence[Document],
        live_documents: dict[str, Document],
        given_nulls: Iterable[Collection[str]] = repeat(()),
    ) -> list[Change]:
        """Return the changes of records; nulls that are given replace what an import preserves."""
        blank = {"_id": "", **dict.fromkeys(kind.stored_fields)}
        changes = []
        for document, nulls in zip(documents, given_nulls, strict=False):
            live = live_documents.get(document["_id"])
            fields = blank | document
            fields.pop(SHOWN_FIELD, None)
            if live is not None and kind.keep_on_import:
                kept = kind.keep_on_import(fields, live)
                fields |= {name: kept[name] for name in kept if name not in nulls}
            if live is not None and has_same_content(kind, fields, live):
                changes.append(Change(live, live))
                continue
            set_timestamps(kind, fields, live, self.import_time)
            changes.append(Change(live or {}, fields))
        return changes
