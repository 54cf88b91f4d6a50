"""Owners of members: the fields that validation and copying need, loaded in batches."""

from collections.abc import Awaitable, Callable, Collection, Iterator
from typing import Any, NamedTuple, TypeAlias

from storage.bundles.importing.merging import drop_kept_fields
from storage.bundles.importing.staging import KEPT_FIELD, Staging
from storage.bundles.reading.record_names import describe_record
from storage.bundles.reading.suggestions import suggest
from storage.bundles.reading.violations import quote_json
from storage.cache.cache import MISSING, Cache
from storage.catalog import RECORD_TYPES
from storage.mongo import driver
from storage.records.kinds import Document, ForeignKey, RecordType, stored_name

MAX_OWNERS = 20_000


NOTED_FIELDS = {"units": {"floor_id"}}
"""Fields of owners that only notes need, such as on which floor a unit of a drawing is."""


class OwnerFields:
    """What validation and copying need to know of an owner of one kind.

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
        self._fields |= NOTED_FIELDS.get(kind.name, set())
        self.is_owner = bool(rows)
        """Whether other kinds refer to this one."""

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


async def find_none_removed(kind_name: str, keys: Collection[str]) -> set[str]:
    """Return nothing: the import removes nothing."""
    return set()


class OwnerCache:
    """Facts about owners of one kind, by key; staged owners take precedence over live ones, field
    by field if they do not give all, and those that the import removes do not exist."""

    def __init__(
        self,
        database: driver.Database,
        staging: Staging,
        kind: RecordType[Any],
        find_removed: FindRemoved = find_none_removed,
        *,
        is_merge: bool = False,
    ) -> None:
        self._kind = kind
        self._is_merge = is_merge
        self._find_removed = find_removed
        self._staging = staging
        self._live_collection: driver.Collection = database[kind.name]
        self._facts: Cache[str, Document | None] = Cache()
        self._fields = OwnerFields(kind)

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
            self._kind.name, sorted(keys), {*self._fields.projected, KEPT_FIELD}
        )
        documents = {document["_id"]: document for document in found}
        partial = {key for key, document in documents.items() if KEPT_FIELD in document}
        whole = set() if self._is_merge else documents.keys() - partial
        if rest := sorted(keys - whole):
            projection = dict.fromkeys({"_id", *self._fields.projected}, 1)
            removed = await self._find_removed(self._kind.name, rest)
            for live in await self._live_collection.find(
                {"_id": {"$in": rest}}, projection
            ).to_list(None):
                if live["_id"] not in removed:
                    given = documents.get(live["_id"], {})
                    drop_kept_fields(self._kind, given, given.get(KEPT_FIELD, ()))
                    documents[live["_id"]] = live | given
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


def describe_missing(kind: RecordType[Any], key: str, near: list[str], where: str) -> str:
    """Return the message for a record that does not exist, with the key that was meant."""
    meant = suggest(key, near)
    hint = f"; did you mean {quote_json(meant)}?" if meant else ""
    return f"there is no {describe_record(kind, key)}{where}{hint}"


class Mismatch(NamedTuple):
    """A field of a member that does not match one of its owner."""

    field: str
    owner_field: str
    message: str
    """What is wrong, as a predicate of the owner."""


def find_mismatches(owner: ForeignKey, document: Document, facts: Document) -> Iterator[Mismatch]:
    """Yield the mismatches between a member and its owner."""
    for field, owner_field in owner.equal_fields:
        expected, actual = document[stored_name(field)], facts[stored_name(owner_field)]
        # None: an incomplete member of a merge, or a rejected one.
        if expected is not None and actual is not None and actual != expected:
            message = f"has {owner_field} {quote_json(actual)}, not {quote_json(expected)}"
            yield Mismatch(field, owner_field, message)
    if owner.value_in:
        field, path = owner.value_in
        value = document[field]
        if facts[path] is not None and value is not None and value not in facts[path]:
            yield Mismatch(field, path, f"has no {field} {quote_json(value)}")


class RepeatedKeys:
    """Finds equal keys that follow each other: of units with two attributes of a group for one.

    >>> repeated = RepeatedKeys()
    >>> repeated.find("plan\\0oak-101", "b.json: $.attribute_assignments[0]")
    >>> repeated.find("plan\\0oak-101", "b.json: $.attribute_assignments[7]")
    'the unit already has an attribute of this group at b.json: $.attribute_assignments[0]'
    """

    def __init__(self) -> None:
        self._previous = ("", "")

    def find(self, key: str, place: str) -> str | None:
        """Return what is wrong if the key is that of the previous call."""
        (previous_key, previous_place), self._previous = self._previous, (key, place)
        if key != previous_key:
            return None
        return f"the unit already has an attribute of this group at {previous_place}"
