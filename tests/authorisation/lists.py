"""What tells the lists of the schema apart: a cursor of one of them is invalid for all others."""

from collections.abc import Mapping
from typing import Any

from rest.names import to_snake_case
from storage.records.paging import Order, digest_list

PAGING = {"page", "perPage", "after", "first"}
ORDER = "orderBy"

ROOT_LISTS = {
    "Query.assets": "assets",
    "Query.units": "units",
    "Query.maps": "maps",
    "Query.assetReferences": "asset_references",
    "Query.unitReferences": "unit_references",
    "Query.attributeGroups": "attribute_groups",
}
"""The kind of each list that starts at the root, by coordinate."""
CHILD_LISTS = {
    "Asset.floors": ("floors", ("asset_id",)),
    "Asset.units": ("units", ("asset_id",)),
    "Asset.maps": ("maps", ("asset_id",)),
    "Asset.references": ("asset_references", ("asset_id",)),
    "Floor.units": ("units", ("floor_id",)),
    "Map.backgrounds": ("backgrounds", ("unit_map_id",)),
    "Map.levelTags": ("level_tags", ("map_id",)),
    "Map.units": ("units", ("asset_id", "map_ids")),
    "Map.locations": ("locations", ("unit_map_id",)),
    "Unit.references": ("unit_references", ("unit_id",)),
    "AttributeGroup.assignments": ("attribute_assignments", ("group_id",)),
}
"""The kind of each list of a record, and the fields of its condition."""
FILTER_FIELDS = {"tags": "words", "asset": "asset_id"}
"""Fields that arguments add to the condition of a list of a record."""


def parse_order(given: Mapping[str, Any]) -> Order:
    """Return the order of a list with some arguments."""
    word: str = given.get(ORDER) or "id"
    field = word.removesuffix("_desc")
    return Order(None if field == "id" else field, word.endswith("_desc"))


def digest_of(coordinate: str, parent_id: str | None, given: Mapping[str, Any]) -> bytes:
    """Return the digest of a list with some arguments, or `b""` for a list unknown here."""
    order = parse_order(given)
    used = {n: v for n, v in given.items() if v is not None and n not in (*PAGING, ORDER)}
    if any(isinstance(value, dict) for value in used.values()):
        return b""
    filters = tuple(sorted((to_snake_case(name), repr(value)) for name, value in used.items()))
    if kind := ROOT_LISTS.get(coordinate):
        return digest_list((kind, filters), order)
    if coordinate not in CHILD_LISTS:
        return b""
    kind, fields = CHILD_LISTS[coordinate]
    added = (FILTER_FIELDS[name] for name in used if name in FILTER_FIELDS)
    where = tuple(sorted({*fields, *added}))
    return digest_list((kind, where, (parent_id,), filters), order)
