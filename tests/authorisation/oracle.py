"""What a key may see of a bundle, and what filters leave of it, in plain Python."""

import base64
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import graphql
import msgspec
from graphql import GraphQLError, GraphQLObjectType, GraphQLResolveInfo, get_named_type

from rest.names import to_snake_case
from schema.root import build_sdl
from storage.records.paging import Order
from tests.authorisation.catalog import Catalog, Record
from tests.authorisation.edges import EDGES, digest_of, parse_order, require_routable

PAST, FUTURE = "2000-01-31T12:00:00+00:00", "2100-01-31T12:00:00+00:00"
"""All records were created between them."""


def split_words(text: str) -> list[str]:
    plain = "".join(
        each
        for each in unicodedata.normalize("NFKD", text.casefold())
        if not unicodedata.combining(each)
    )
    return re.findall(r"\w+", plain)


def meets(record: Record, given: Mapping[str, Any]) -> bool:
    """Return whether a record meets the filters that lists of many kinds have."""
    if given.get("ids") is not None and record["id"] not in given["ids"]:
        return False
    if given.get("updatedSince") == FUTURE:
        return False
    if given.get("value") is not None and record["value"] != given["value"]:
        return False
    words = split_words(record["name"]) if given.get("search") is not None else []
    return all(
        any(word.startswith(wanted) for word in words)
        for wanted in split_words(given.get("search") or "")
    )


ANY = "*any*"
ANY_NUMBER = -7.25e77

REFERENCES, ATTRIBUTES = "references", "unit-attributes-resource"
LOCATIONS, DISTANCES = "locations-resource", "distances"
ADMIN = (None, "service.admin")
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


SCHEMA = graphql.build_schema(build_sdl())
for _type in SCHEMA.type_map.values():
    if isinstance(_type, graphql.GraphQLEnumType) and not _type.name.startswith("__"):
        _type.coerce_output_value = str  # type: ignore[method-assign,assignment] # of `ANY`


class OracleGap(AssertionError):
    """The schema has something that the oracle does not know yet."""


class Answer(NamedTuple):
    """The data of an operation, and the code of each error with its path."""

    data: Any
    errors: set[tuple[str, str]]


def run(view: View, document: str, variables: Mapping[str, Any]) -> Answer:
    """Return the answer to an operation. Raises OracleGap."""
    result = graphql.execute_sync(
        SCHEMA,
        graphql.parse(document),
        context_value=view,
        variable_values=dict(variables),
        field_resolver=_resolve,
    )
    for each in result.errors or ():
        if each.original_error is not None and not isinstance(each.original_error, GraphQLError):
            raise each.original_error
    errors = {
        (str((each.extensions or {}).get("code")), _to_path(each.path))
        for each in result.errors or ()
    }
    for path in view.open_paths:
        _put(result.data, path, ANY_NUMBER)
    return Answer(result.data, errors)


def _put(data: Any, path: list[str | int], value: Any) -> None:
    """Put a value into a result, unless an error has taken its place."""
    *parents, last = path
    for key in parents:
        data = data and data[key]
    if data:
        data[last] = value


def _to_path(path: Iterable[Any] | None) -> str:
    return "/".join(map(str, path or ()))


def _resolve(source: Record | None, info: GraphQLResolveInfo[View], **given: Any) -> Any:
    view, coordinate = info.context, f"{info.parent_type.name}.{info.field_name}"
    view.check(coordinate, given)
    if coordinate == "Map.route":
        require_routable(view, source or {}, [given["from"], given["to"]])
        assert info.path is not None
        view.open_paths.append(info.path.as_list())
        return None
    # What it draws is in `parsed`, which is compared.
    if coordinate in ("Map.drawing", "Unit.shape"):
        assert info.path is not None
        view.open_paths.append(info.path.as_list())
        return None
    # Warnings depend on the drawing, not on the key.
    if coordinate in ("Reachable.areas", "UnitMapParse.warnings"):
        view.open_paths.append(info.path.as_list())
        return []
    # tests/resolvers/test_changes.py makes changes, and looks at what each key is told of them.
    if coordinate == "Query.changes":
        view.open_paths.append(info.path.as_list())
        return {"data": [], "cursor": ANY, "has_more": False}
    if after := given.get("after"):
        record = source or {}
        parent_id = record.get("id", record.get("group_id"))
        if decode_cursor(after)[0] != digest_of(coordinate, parent_id, given):
            raise error("INVALID_INPUT")
    if coordinate in ("Map.closable", "Query.removals"):
        assert info.path is not None
        view.open_paths.append(info.path.as_list())
        return view.page("maps", [], given)
    if coordinate.startswith("Mutation."):
        given = given["input"]
    if edge := EDGES.get(coordinate):
        return edge(view, source or {}, given)
    return _read_stored(source or {}, info, coordinate)


def _read_stored(source: Record, info: GraphQLResolveInfo[View], coordinate: str) -> Any:
    name = to_snake_case(info.field_name)
    named = get_named_type(info.return_type)
    if name in source:
        return source[name]
    if named.name == "DateTime":
        return ANY
    if isinstance(named, GraphQLObjectType) or graphql.is_non_null_type(info.return_type):
        raise OracleGap(f"tests/authorisation/edges.py does not know {coordinate}")
    return None
