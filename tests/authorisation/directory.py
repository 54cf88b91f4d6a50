"""The directory of a bundle in plain Python, and the part of it that a key may see."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from graphql import GraphQLError

from storage.records.paging import Order
from tests.authorisation.catalog import Catalog, Record
from tests.authorisation.filters import meets
from tests.authorisation.lists import parse_order

ANY = "*any*"
ANY_NUMBER = -7.25e77

REFERENCES, ATTRIBUTES = "references", "unit-attributes-resource"
LOCATIONS, DISTANCES = "locations-resource", "distances"
ADMIN = (None, "service.admin")
OPERATORS = (ADMIN, (None, "service.endpoints.read"), (None, "service.endpoints.write"))
"""What fields need that no key of the oracle may use."""
REQUIRED: dict[str, tuple[str | None, str | None]] = {
    "Query.parsedUnitMap": (None, "service.unit-maps.parse"),
    "Query.assetReferences": (REFERENCES, "service.asset-references.read"),
    "Query.unitReferences": (REFERENCES, "service.unit-references.read"),
    "Query.attributeGroups": (ATTRIBUTES, "service.unit-attributes.read"),
    "Query.attributeGroup": (ATTRIBUTES, "service.unit-attributes.read"),
    "Asset.references": (REFERENCES, "service.asset-references.read"),
    "Unit.references": (REFERENCES, "service.unit-references.read"),
    "Unit.attributes": (ATTRIBUTES, "service.unit-attributes.read"),
    "Unit.location": (LOCATIONS, None),
    "Query.location": (LOCATIONS, None),
    "Map.locations": (LOCATIONS, None),
    "Map.distanceMatrix": (DISTANCES, "service.distances.calculate"),
    "Map.route": (DISTANCES, "service.distances.calculate"),
    "Map.nearest": (DISTANCES, "service.distances.calculate"),
    "Map.nearestFromSources": (DISTANCES, "service.distances.calculate"),
    "Unit.nearest": (DISTANCES, "service.distances.calculate"),
    "Map.reachable": (DISTANCES, "service.distances.calculate"),
    "Map.closures": (DISTANCES, "service.distances.calculate"),
    "Map.closable": (DISTANCES, "service.distances.calculate"),
    "Mutation.setClosures": (DISTANCES, "service.admin"),
    "Mutation.assignUnitAttributes": (ATTRIBUTES, "service.unit-attributes.write"),
    "Mutation.unassignUnitAttributes": (ATTRIBUTES, "service.unit-attributes.write"),
    "Query.changes": ("changes", None),
    "Subscription.changes": ("changes", None),
    "Change.location": (LOCATIONS, None),
    "Query.apiKeys": ADMIN,
    "Query.auditLog": ADMIN,
    "Query.endpoints": OPERATORS[1],
    "Mutation.saveEndpoints": OPERATORS[2],
    "Mutation.removeEndpoints": OPERATORS[2],
    "Mutation.importCatalog": ADMIN,
    "Mutation.removeRecords": ADMIN,
    "Mutation.createApiKey": ADMIN,
    "Mutation.updateApiKey": ADMIN,
    "Mutation.rotateApiKey": ADMIN,
    "Mutation.revokeApiKey": ADMIN,
    "Mutation.processMap": ADMIN,
}
"""The flag and the permission that a field needs, by its coordinate."""
_WALK = (DISTANCES, "service.distances.calculate")
REQUIRED_ARGUMENTS: dict[str, dict[str, tuple[str | None, str | None]]] = {
    "Query.units": {
        "attribute": (ATTRIBUTES, "service.unit-attributes.read"),
        "attributes": (ATTRIBUTES, "service.unit-attributes.read"),
        "reference": (REFERENCES, "service.unit-references.read"),
    },
    "Map.geojson": {
        "attributes": (ATTRIBUTES, "service.unit-attributes.read"),
        "locations": (LOCATIONS, None),
    },
    "Map.picture": {"from": _WALK, "to": _WALK, "mode": _WALK, "avoid": _WALK},
}
"""What a field needs if an argument is given."""

KEY_FIELDS = {
    "level_tags": ("map_id", "key"),
    "unit_references": ("unit_id", "key"),
    "attribute_groups": ("group_id",),
    "attribute_assignments": ("group_id", "unit_id", "attribute_id"),
}
NODES = {
    "Asset": ("assets", ("id",)),
    "Floor": ("floors", ("id",)),
    "Unit": ("units", ("id",)),
    "Map": ("maps", ("id",)),
    "Background": ("backgrounds", ("id",)),
    "LevelTag": ("level_tags", ("map_id", "key")),
    "Location": ("locations", ("id",)),
    "AssetReference": ("asset_references", ("id",)),
    "UnitReference": ("unit_references", ("unit_id", "key")),
    "AttributeGroup": ("attribute_groups", ("group_id",)),
    "Attribute": ("attribute_groups", ("group_id", "attribute_id")),
    "Assignment": ("attribute_assignments", ("group_id", "unit_id", "attribute_id")),
}
"""The kind and the identifying fields of each type of nodes."""
WAYS_TO_NODES = {
    "Location": "Map.locations",
    "AssetReference": "Query.assetReferences",
    "UnitReference": "Query.unitReferences",
    "AttributeGroup": "Query.attributeGroups",
    "Attribute": "Query.attributeGroups",
    "Assignment": "Query.attributeGroups",
}
"""The field that needs what a node of a type does."""
MAX_PER_PAGE = 10_000


def decode_cursor(text: str) -> list[Any]:
    """Return the digest of a cursor's list, its page, page size and position."""
    content = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    decoded: list[Any] = msgspec.msgpack.decode(content)
    return decoded


def error(code: str) -> GraphQLError:
    return GraphQLError(code, extensions={"code": code})


@dataclass
class Directory:
    """The records, the drawings and the routable maps; writes change the assignments."""

    records: Catalog
    drawings: Mapping[str, Any]
    """Parsed, by map id."""
    routable: frozenset[str]

    def key_of(self, kind: str, record: Record) -> str:
        """Return what records of a kind are ordered by."""
        fields = KEY_FIELDS.get(kind, ("id",))
        if (
            kind == "attribute_assignments"
            and self.group(record["group_id"])["one_attribute_per_unit"]
        ):
            fields = fields[:-1]
        return "\0".join(record[name] for name in fields)

    def place_of(self, kind: str, record: Record, order: Order) -> tuple[str | int, ...]:
        """Return what a record is ordered by."""
        key = self.key_of(kind, record)
        return (key,) if order.field is None else (record[order.field], key)

    def group(self, id: str) -> Record:
        return next(each for each in self.records["attribute_groups"] if each["group_id"] == id)

    def owner_of(self, kind: str, record: Record) -> str | None:
        """Return the asset that a record belongs to; None if it belongs to none."""
        if kind == "attribute_groups":
            return None
        if kind in ("backgrounds", "level_tags"):
            map_id = record["unit_map_id" if kind == "backgrounds" else "map_id"]
            [record] = [each for each in self.records["maps"] if each["id"] == map_id]
        owner: str = record["id" if kind == "assets" else "asset_id"]
        return owner


@dataclass
class View:
    """The directory as one request sees it."""

    directory: Directory
    assets: frozenset[str] | None
    permissions: frozenset[str]
    flags: frozenset[str]
    base_url: str
    open_paths: list[list[str | int]] = field(default_factory=list)
    """Results that the oracle does not know: whole routes and areas, parts of maps."""

    def visible(self, kind: str, **where: Any) -> list[Record]:
        """Return the visible records of a kind with these values, in their order."""
        found = [
            record
            for record in self.directory.records[kind]
            if self._is_visible(self.directory.owner_of(kind, record))
            and all(record[name] == value for name, value in where.items())
        ]
        return sorted(found, key=lambda record: self.directory.key_of(kind, record).encode())

    def _is_visible(self, owner: str | None) -> bool:
        return owner is None or self.assets is None or owner in self.assets

    def one(self, kind: str, **where: Any) -> Record | None:
        return next(iter(self.visible(kind, **where)), None)

    def page(self, kind: str, records: list[Record], given: Mapping[str, Any]) -> Record:
        """Return one page of a list; a cursor is one of this list."""
        order = parse_order(given)

        def place_of(record: Record) -> tuple[str | int, ...]:
            return self.directory.place_of(kind, record, order)

        records = [each for each in records if meets(each, given)]
        records = sorted(records, key=place_of, reverse=order.is_descending)
        size = given.get("perPage") or given.get("first")
        number = given.get("page") or 1
        rest = records
        if after := given.get("after"):
            _, number, cursor_size, position = decode_cursor(after)
            size, last = size or cursor_size, tuple(position)
            rest = [
                each
                for each in records
                if (place_of(each) < last if order.is_descending else place_of(each) > last)
            ]
        per_page = min(size or 100, MAX_PER_PAGE)
        if not after:
            rest = rest[(number - 1) * per_page :]
        data, has_next = rest[:per_page], len(rest) > per_page
        paging = {"per_page": per_page, "current_page": number, "has_next": has_next}
        cursor = ANY if data else None
        return {
            "paging": paging | {"next": ANY if has_next else None},
            "data": data,
            "edges": [{"cursor": ANY, "node": record} for record in data],
            "page_info": {
                "has_next_page": has_next,
                "has_previous_page": number > 1,
                "start_cursor": cursor,
                "end_cursor": cursor,
            },
            "total_count": len(records),
        }

    def check(self, coordinate: str, given: Mapping[str, Any]) -> None:
        """Raise GraphQLError for the flag or else the permission that a field needs."""
        needed = [REQUIRED.get(coordinate, (None, None))]
        for name, requirement in REQUIRED_ARGUMENTS.get(coordinate, {}).items():
            needed += [requirement] if given.get(name) is not None else []
        for flag, permission in needed:
            if flag is not None and flag not in self.flags:
                raise error("FLAG_REQUIRED")
            if permission is not None and permission not in self.permissions:
                raise error("PERMISSION_REQUIRED")


def find_mismatch(expected: Any, actual: Any, path: str = "") -> str | None:
    """Return where a value differs from the expected one; `ANY` is any value but null.

    `ANY_NUMBER` may be null, too.
    """
    if expected in (ANY, ANY_NUMBER):
        return None if actual is not None or expected == ANY_NUMBER else f"{path}: null"
    if isinstance(expected, dict) and isinstance(actual, dict) and expected.keys() == actual.keys():
        parts = [(f"{path}.{key}", expected[key], actual[key]) for key in expected]
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        parts = [
            (f"{path}[{i}]", *pair) for i, pair in enumerate(zip(expected, actual, strict=True))
        ]
    elif expected == actual:
        return None
    else:
        return f"{path}: expected {expected!r}, got {actual!r}"
    found = (find_mismatch(*part[1:], part[0]) for part in parts)
    return next(filter(None, found), None)
