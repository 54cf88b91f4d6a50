"""Compute the changes that staged members make in the catalog, batch by batch.

An import computes the changes twice: to validate and count, then to apply. Applying is idempotent:
a record already written counts as unchanged, so an interrupted run can be repeated.
"""

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Any, NamedTuple

from storage.bundles.importing.merging import (
    drop_kept_fields,
    find_lacking_fields,
    merge_member,
)
from storage.bundles.importing.owners import (
    FindRemoved,
    OwnerCache,
    find_left,
    find_none_removed,
    values_at,
)
from storage.bundles.importing.pipelining import read_ahead
from storage.bundles.importing.staging import KEPT_FIELD, ORIGIN_FIELD, SHOWN_FIELD, Staging
from storage.bundles.importing.timestamps import has_same_content, set_timestamps
from storage.catalog import RECORD_TYPES
from storage.mongo import driver
from storage.records.kinds import Document, RecordType


class MemberChange(NamedTuple):
    """The change that one staged member makes; `fields` is None if it is unchanged."""

    key: str
    is_new: bool
    fields: Document | None


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
    """Where in the bundle each document came from."""
    live: dict[str, Document]
    """The records in the catalog that they replace, by key."""
    changes: list[MemberChange]
    incomplete: Sequence[IncompleteMember] = ()
    """Members that are not among the documents."""


class ChangePlanner:
    """Compares the staged members of one import with the catalog.

    In a merge they change only the fields that they have.
    """

    def __init__(
        self,
        database: driver.Database,
        staging: Staging,
        import_time: str,
        find_removed: FindRemoved = find_none_removed,
        *,
        is_merge: bool = False,
    ) -> None:
        self._database = database
        self._staging = staging
        self._import_time = import_time
        self._is_merge = is_merge
        self._find_removed = find_removed
        self.owner_caches = {
            kind.name: OwnerCache(database, staging, kind, find_removed, is_merge=is_merge)
            for kind in RECORD_TYPES
        }

    async def plan_batches(self, kind: RecordType[Any]) -> AsyncIterator[PlannedBatch]:
        """Yield the changes of all staged members of a kind."""
        stored_fields = kind.stored_fields
        has_records = await self._database[kind.name].find_one({}, ["_id"]) is not None
        async for documents in read_ahead(self._staging.iter_batches(kind)):
            origins = [document.pop(ORIGIN_FIELD) for document in documents]
            kept_fields = [document.pop(KEPT_FIELD, ()) for document in documents]
            await self._copy_owner_fields(kind, documents)
            if kind.single_valued_flag:
                for document in documents:
                    document["_id"] = kind.key_of(document)
            live = await self._load_live(kind, documents, stored_fields) if has_records else {}
            if self._is_merge or any(kept_fields):
                yield await self._plan_merge(kind, documents, kept_fields, origins, live)
                continue
            changes = [
                self._plan_change(kind, document, live.get(document["_id"]), stored_fields)
                for document in documents
            ]
            yield PlannedBatch(documents, origins, live, changes)

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
                drop_kept_fields(kind, given, names)
            elif lacking := find_lacking_fields(kind, given):
                incomplete.append(IncompleteMember(key, origin, lacking))
                continue
            is_whole = not self._is_merge and not names
            documents.append(given if is_whole else merge_member(kind, given, kept.get(key)))
            complete_origins.append(origin)
            given_nulls = [name for name in given.keys() - derived if given[name] is None]
            nulls.append(given_nulls if self._is_merge else [])
        await self._copy_owner_fields(kind, documents)  # the owner may be the stored one
        changes = [
            self._plan_change(kind, document, live.get(document["_id"]), kind.stored_fields, given)
            for document, given in zip(documents, nulls, strict=True)
        ]
        return PlannedBatch(documents, complete_origins, live, changes, incomplete)

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
                left = await find_left(self._find_removed, owner.kind, owner.field, keeping)
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
        self, kind: RecordType[Any], documents: list[Document], stored_fields: Sequence[str]
    ) -> dict[str, Document]:
        keys = [document["_id"] for document in documents]
        projection = dict.fromkeys(stored_fields, 1)
        collection = self._database[kind.name]
        live = await collection.find({"_id": {"$in": keys}}, projection).to_list(None)
        return {document["_id"]: kind.fill_defaults(document) for document in live}

    def _plan_change(
        self,
        kind: RecordType[Any],
        document: Document,
        live: Document | None,
        stored_fields: Sequence[str],
        given_nulls: Collection[str] = (),
    ) -> MemberChange:
        key = document["_id"]
        fields = {**dict.fromkeys(stored_fields), **document}
        del fields["_id"]
        fields.pop(SHOWN_FIELD, None)
        if live is not None and kind.keep_on_import:
            kept = kind.keep_on_import(fields, live)
            fields |= {name: kept[name] for name in kept if name not in given_nulls}
        if live is not None and has_same_content(kind, fields, live):
            return MemberChange(key, False, None)
        set_timestamps(kind, fields, live, self._import_time)
        return MemberChange(key, live is None, fields)
