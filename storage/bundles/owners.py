"""The owners of members: what an import needs to know of them, asked for in batches."""

import json
from collections.abc import Iterator
from typing import Any

from storage.bundles.staging import Staging
from storage.cache.cache import MISSING, Cache
from storage.catalog import KINDS
from storage.mongo import driver
from storage.records.kinds import Document, Kind, Owner

MAX_OWNERS = 20_000


class OwnerCache:
    """What is known of the owners of one kind: staged ones first, then live ones."""

    def __init__(self, database: driver.Database, staging: Staging, kind: Kind[Any]) -> None:
        self._kind = kind.name
        self._staging = staging
        self._live_collection: driver.Collection = database[kind.name]
        self._facts: Cache[str, Document | None] = Cache()
        rows = [owner for other in KINDS for owner in other.owners if owner.kind == kind.name]
        self._array_paths = {owner.value_in[1] for owner in rows if owner.value_in}
        self._fields = {_stored_name(theirs) for owner in rows for _, theirs in owner.must_match}
        self._fields |= {field for owner in rows for field in owner.copies}
        self._projected_fields = self._fields | self._array_paths

    async def load(self, keys: set[str]) -> None:
        """Makes `keys` known, with one query to each source for those that are not."""
        missing = {key for key in keys if self._facts.get(key, MISSING) is MISSING}
        found = await self._query(missing) if missing else {}
        self._facts.max_entries = max(MAX_OWNERS, len(keys))  # `get` needs all of them
        for key in missing:
            self._facts.put(key, found.get(key))

    async def _query(self, keys: set[str]) -> dict[str, Document]:
        found = await self._staging.find_members(self._kind, sorted(keys), self._projected_fields)
        rest = sorted(keys - {document["_id"] for document in found})
        if rest:
            projection = dict.fromkeys({"_id", *self._projected_fields}, 1)
            found += await self._live_collection.find({"_id": {"$in": rest}}, projection).to_list(
                None
            )
        return {document["_id"]: self._extract_facts(document) for document in found}

    def get(self, key: str) -> Document | None:
        """What is known of an owner, None when there is none."""
        return self._facts.peek(key, None)

    def _extract_facts(self, document: Document) -> Document:
        facts = {field: document.get(field) for field in self._fields}
        return facts | {path: frozenset(values_at(document, path)) for path in self._array_paths}


def values_at(document: Document, path: str) -> list[Any]:
    """The values at a path: one, those of an array, or those of a field of an array's objects."""
    field, _, rest = path.partition(".")
    value = document.get(field)
    if rest:
        return [item[rest] for item in value or ()]
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def is_consistent(owner: Owner, document: Document, facts: Document) -> bool:
    """Whether a member may belong to an owner of which these facts are known."""
    return next(iter(find_mismatches(owner, document, facts)), None) is None


def find_mismatches(owner: Owner, document: Document, facts: Document) -> Iterator[str]:
    """What is wrong between a member and its owner, each as a clause about the owner."""
    for mine, theirs in owner.must_match:
        wanted, found = document[_stored_name(mine)], facts[_stored_name(theirs)]
        if found != wanted:
            yield f"has {theirs} {_to_json(found)}, not {_to_json(wanted)}"
    if owner.value_in:
        field, path = owner.value_in
        if document[field] not in facts[path]:
            yield f"has no {field} {_to_json(document[field])}"


def _stored_name(field: str) -> str:
    return "_id" if field == "id" else field


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
