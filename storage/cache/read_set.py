"""Read sets: what a response was read from, as fine as its conditions tell.

A read depends on a collection, or on those records of it that have certain values in certain
fields: the units of an asset, the assignments of a unit, the record with an `_id`. Such a part of a
collection has a tag, a hash of the fields and values. A change has the tags of all parts that its
record was in before, and of those that it is in afterwards. A read is up to date while no change
has had one of its tags.

The parts are those that indexes find: the leading fields of each index, the field with the asset,
and `_id`. Two parts with the same hash are invalidated together, which is always safe.
"""

import sys
from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product, takewhile
from math import prod
from typing import Any, TypeAlias

from msgspec import Struct

from storage.administration import api_keys
from storage.administration.saved_endpoints import ENDPOINTS_COLLECTION
from storage.administration.trusted_documents import DOCUMENTS_COLLECTION
from storage.catalog import RECORD_TYPES
from storage.records.kinds import Document, RecordType
from storage.records.paging import KeyRange
from storage.records.visibility import MAX_ASSETS_IN_COMMAND, AssetScope
from storage.tombstones import TOMBSTONES

MAX_TAGS = 10_000
"""Tags of one response in one collection; it depends on the whole collection if there are more."""
_KEY, _DIGEST = ("_id",), ("digest",)

Tags: TypeAlias = Sequence[int]


class Read(Struct, frozen=True, gc=False):
    """A read of one collection."""

    tags: Tags | None = None
    """The tags of the parts that were read; None is the whole collection."""
    keys: KeyRange | None = None
    """The only records of these parts that matter, as for one page of a long list."""


ReadSet: TypeAlias = Mapping[str, Read]
"""The reads of each collection, by its name."""


def _list_parts(kind: RecordType[Any]) -> tuple[tuple[str, ...], ...]:
    """Return the fields of each part, the finest first."""
    others = {"_id", "sort", "updated_at", "removed_at", *kind.derived_fields}
    parts: set[tuple[str, ...]] = {(kind.scope_field,)} if kind.scope_field else set()
    for index in kind.indexes:
        leading = [*takewhile(lambda field: field not in others, index)]
        parts |= {tuple(leading[:length]) for length in range(1, len(leading) + 1)}
    finest_first = sorted(
        parts - {_KEY}, key=lambda part: (-len(part), part == (kind.scope_field,))
    )
    return (_KEY, *finest_first)


PARTS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    **{kind.name: _list_parts(kind) for kind in (*RECORD_TYPES, TOMBSTONES)},
    api_keys.KEYS_COLLECTION: (_KEY, _DIGEST),
    DOCUMENTS_COLLECTION: (_KEY,),
    ENDPOINTS_COLLECTION: (_KEY,),
}
"""The parts of each collection, as the fields that tell them apart."""


def measure_tags(reads: ReadSet) -> int:
    """Return the memory of the tags of a read set, in bytes."""
    return sum(sys.getsizeof(read.tags) for read in reads.values())


def whole(*collections: str) -> ReadSet:
    """Return the read set of whole collections.

    >>> whole("units")
    {'units': Read(tags=None, keys=None)}
    """
    return dict.fromkeys(collections, Read())


def compute_tag(fields: tuple[str, ...], values: tuple[Any, ...]) -> int:
    """Return the tag of the records that have these values; it differs between processes."""
    return hash((fields, values))


def find_tags(
    kind: RecordType[Any], where: Document, scope: AssetScope | None = None
) -> Sequence[int] | None:
    """Return the tags of all records that can match a condition; None if any record can.

    Of a scope of many assets, the assets are not told apart.

    >>> from storage.catalog import FLOORS
    >>> find_tags(FLOORS, {"asset_id": "a"}) == [compute_tag(("asset_id",), ("a",))]
    True
    """
    values = _collect_values(where, {})
    assets = None if scope is None else scope.asset_ids
    if assets is not None and len(assets) <= MAX_ASSETS_IN_COMMAND:
        values.setdefault(kind.scope_field, assets)
    for fields in PARTS[kind.name]:
        if all(field in values for field in fields):
            choices = [values[field] for field in fields]
            if prod(map(len, choices)) <= MAX_TAGS:
                return [compute_tag(fields, each) for each in product(*choices)]
    return None


def key_tag(key: str) -> int:
    """Return the tag of the record with this `_id`."""
    return compute_tag(_KEY, (key,))


def read_key(collection: str, key: str) -> ReadSet:
    """Return the read set of the record with this `_id`."""
    return {collection: Read((key_tag(key),))}


def read_digest(digest: bytes) -> ReadSet:
    """Return the read set of the API key with this digest."""
    return {api_keys.KEYS_COLLECTION: Read((compute_tag(_DIGEST, (digest,)),))}


def read_list(kind: RecordType[Any], where: Document, scope: AssetScope) -> ReadSet:
    """Return the read set of the records in a scope that match a condition."""
    tags = find_tags(kind, where, scope)
    return {kind.name: Read(None if tags is None else array("q", tags))}


def list_tags(collection: str, document: Document) -> Iterator[int]:
    """Yield the tags of all parts that a record is in."""
    for fields in PARTS[collection]:
        for each in product(*(_list_values(document.get(field)) for field in fields)):
            yield compute_tag(fields, each)


def _list_values(value: Any) -> Sequence[Any]:
    # A condition on an array is met by any of its items.
    return value if isinstance(value, list) else (value,)


def _collect_values(
    where: Document, found: dict[str, Collection[Any]]
) -> dict[str, Collection[Any]]:
    """Return the values of which fields must have one, as far as a condition says so at its top."""
    for field, condition in where.items():
        if field == "$and":
            for each in condition:
                _collect_values(each, found)
        elif not isinstance(condition, dict):
            found.setdefault(field, (condition,))
        elif "$in" in condition:
            found.setdefault(field, condition["$in"])
    return found
