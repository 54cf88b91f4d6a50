"""Owners of members: the fields that validation and copying need, loaded in batches."""

from collections.abc import Iterator
from typing import Any

from storage.bundles.importing.staging import Staging
from storage.bundles.reading.violations import quote_json
from storage.cache.cache import MISSING, Cache
from storage.catalog import RECORD_TYPES
from storage.mongo import driver
from storage.records.decoding import stored_name
from storage.records.kinds import Document, ForeignKey, RecordType

MAX_OWNERS = 20_000


class OwnerCache:
    """Facts about owners of one kind, by key; staged owners take precedence over live ones.

    In a merge this is so field by field.
    """

    def __init__(
        self,
        database: driver.Database,
        staging: Staging,
        kind: RecordType[Any],
        *,
        is_merge: bool = False,
    ) -> None:
        self._kind = kind
        self._is_merge = is_merge
        self._staging = staging
        self._live_collection: driver.Collection = database[kind.name]
        self._facts: Cache[str, Document | None] = Cache()
        rows = [
            owner
            for other in RECORD_TYPES
            for owner in other.foreign_keys
            if owner.kind == kind.name
        ]
        self._array_paths = {owner.value_in[1] for owner in rows if owner.value_in}
        self._fields = {stored_name(theirs) for owner in rows for _, theirs in owner.equal_fields}
        self._fields |= {field for owner in rows for field in owner.copied_fields}
        self._projected_fields = self._fields | self._array_paths

    async def load(self, keys: set[str]) -> None:
        """Load the owners with these keys that are not cached: one query to staging, one to the
        catalog."""
        missing = {key for key in keys if self._facts.get(key, MISSING) is MISSING}
        found = await self._query(missing) if missing else {}
        self._facts.max_entries = max(MAX_OWNERS, len(keys))  # `get` needs all of them
        for key in missing:
            self._facts.put(key, found.get(key))

    async def _query(self, keys: set[str]) -> dict[str, Document]:
        found = await self._staging.find_members(
            self._kind.name, sorted(keys), self._projected_fields
        )
        documents = {document["_id"]: document for document in found}
        if rest := sorted(keys if self._is_merge else keys - documents.keys()):
            projection = dict.fromkeys({"_id", *self._projected_fields}, 1)
            for live in await self._live_collection.find(
                {"_id": {"$in": rest}}, projection
            ).to_list(None):
                documents[live["_id"]] = live | documents.get(live["_id"], {})
        return {key: self._extract_facts(document) for key, document in documents.items()}

    def get(self, key: str) -> Document | None:
        """Return the facts about a loaded owner, or None if there is no such owner."""
        return self._facts.peek(key, None)

    def _extract_facts(self, document: Document) -> Document:
        defaults = self._kind.defaults
        facts = {field: document.get(field, defaults.get(field)) for field in self._fields}
        return facts | {path: frozenset(values_at(document, path)) for path in self._array_paths}


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


def is_consistent(owner: ForeignKey, document: Document, facts: Document) -> bool:
    """Return whether a member may belong to the owner with these facts."""
    if not owner.equal_fields and not owner.value_in:
        return True
    return next(find_mismatches(owner, document, facts), None) is None


def find_mismatches(owner: ForeignKey, document: Document, facts: Document) -> Iterator[str]:
    """Yield the mismatches between a member and its owner, each as a predicate of the owner."""
    for field, owner_field in owner.equal_fields:
        expected, actual = document[stored_name(field)], facts[stored_name(owner_field)]
        if actual is not None and actual != expected:  # None: an incomplete member of a merge
            yield f"has {owner_field} {quote_json(actual)}, not {quote_json(expected)}"
    if owner.value_in:
        field, path = owner.value_in
        if document[field] not in facts[path]:
            yield f"has no {field} {quote_json(document[field])}"
