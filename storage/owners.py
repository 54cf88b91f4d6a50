"""The owners of members: what an import needs to know of them, asked for in batches."""

import json
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from storage import driver
from storage.catalog import KINDS
from storage.kinds import Document, Kind, Owner
from storage.staging import Staging

KNOWN_OWNERS = 20_000


class Owners:
    """What is known of the owners of one kind: staged ones first, then live ones."""

    def __init__(self, database: driver.Database, staging: Staging, kind: Kind[Any]) -> None:
        self._kind = kind.name
        self._staging = staging
        self._live: driver.Collection = database[kind.name]
        self._known: OrderedDict[str, Document | None] = OrderedDict()
        rows = [owner for other in KINDS for owner in other.owners if owner.kind == kind.name]
        self._lists = {owner.holds[1] for owner in rows if owner.holds}
        self._fields = {_stored(theirs) for owner in rows for _, theirs in owner.same}
        self._fields |= {field for owner in rows for field in owner.lends}
        self._needed = self._fields | self._lists

    async def learn(self, keys: set[str]) -> None:
        """Makes `keys` known, with one query to each source for those that are not."""
        missing = keys - self._known.keys()
        for key in keys - missing:
            self._known.move_to_end(key)
        found = await self._find(missing) if missing else {}
        self._known |= {key: found.get(key) for key in missing}
        while len(self._known) > max(KNOWN_OWNERS, len(keys)):
            self._known.popitem(last=False)

    async def _find(self, keys: set[str]) -> dict[str, Document]:
        found = await self._staging.find(self._kind, sorted(keys), self._needed)
        rest = sorted(keys - {document["_id"] for document in found})
        if rest:
            projection = dict.fromkeys({"_id", *self._needed}, 1)
            found += await self._live.find({"_id": {"$in": rest}}, projection).to_list(None)
        return {document["_id"]: self._facts(document) for document in found}

    def get(self, key: str) -> Document | None:
        """What is known of an owner, None when there is none."""
        return self._known[key]

    def _facts(self, document: Document) -> Document:
        facts = {field: document.get(field) for field in self._fields}
        return facts | {path: frozenset(values(document, path)) for path in self._lists}


def values(document: Document, path: str) -> list[Any]:
    """The values at a path: one, those of an array, or those of a field of an array's objects."""
    field, _, rest = path.partition(".")
    value = document.get(field)
    if rest:
        return [item[rest] for item in value or ()]
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def agrees(owner: Owner, document: Document, facts: Document) -> bool:
    """Whether a member may belong to an owner of which these facts are known."""
    return next(iter(disagreements(owner, document, facts)), None) is None


def disagreements(owner: Owner, document: Document, facts: Document) -> Iterator[str]:
    """What is wrong between a member and its owner, each as a clause about the owner."""
    for mine, theirs in owner.same:
        wanted, found = document[_stored(mine)], facts[_stored(theirs)]
        if found != wanted:
            yield f"has {theirs} {_quoted(found)}, not {_quoted(wanted)}"
    if owner.holds:
        field, path = owner.holds
        if document[field] not in facts[path]:
            yield f"has no {field} {_quoted(document[field])}"


def _stored(field: str) -> str:
    return "_id" if field == "id" else field


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
