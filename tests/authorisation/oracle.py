"""What a key may see, in plain Python from the records of a bundle alone.

`Oracle.run` answers any operation of the schema for a key with some assets, permissions and flags.
It shares nothing with the service but the schema's text. `ANY` stands for a value that it leaves
open: a time, a cursor, the length of a walk.
"""

import base64
import copy
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import graphql
import msgspec
from graphql import GraphQLError, GraphQLObjectType, GraphQLResolveInfo, get_named_type

from rest.names import to_snake_case
from schema.root import build_sdl
from tests.authorisation.catalog import Catalog, Record

SCHEMA = graphql.build_schema(build_sdl())
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
    "Map.locations": (LOCATIONS, None),
    "Map.distanceMatrix": (DISTANCES, "service.distances.calculate"),
    "Map.route": (DISTANCES, "service.distances.calculate"),
    "Map.nearest": (DISTANCES, "service.distances.calculate"),
    "Mutation.assignUnitAttributes": (ATTRIBUTES, "service.unit-attributes.write"),
    "Mutation.unassignUnitAttributes": (ATTRIBUTES, "service.unit-attributes.write"),
    "Query.apiKeys": ADMIN,
    "Mutation.importCatalog": ADMIN,
    "Mutation.createApiKey": ADMIN,
    "Mutation.revokeApiKey": ADMIN,
    "Mutation.processMap": ADMIN,
}
"""The flag and the permission that a field needs, by its coordinate."""

KEY_FIELDS = {
    "level_tags": ("map_id", "key"),
    "unit_references": ("unit_id", "key"),
    "attribute_groups": ("group_id",),
    "attribute_assignments": ("group_id", "unit_id", "attribute_id"),
}
MAX_PER_PAGE = 10_000


class OracleGap(AssertionError):
    """The schema has something that the oracle does not know yet."""


class Answer(NamedTuple):
    """The data of an operation, and the code of each error with its path."""

    data: Any
    errors: set[tuple[str, str]]


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
    """Results that the oracle does not know: whole routes."""

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
        """Return one page of a list; a cursor counts if it is of this page and size."""
        per_page = min(given.get("perPage") or 100, MAX_PER_PAGE)
        number = given.get("page") or 1
        rest = records[(number - 1) * per_page :]
        if after := given.get("after"):
            cursor = msgspec.msgpack.decode(
                base64.urlsafe_b64decode(after + "=" * (-len(after) % 4))
            )
            if cursor[:2] == [number, per_page]:
                last = cursor[2].encode()
                rest = [r for r in records if self.directory.key_of(kind, r).encode() > last]
        has_next = len(rest) > per_page
        paging = {"per_page": per_page, "current_page": number, "has_next": has_next}
        return {"paging": paging | {"next": ANY if has_next else None}, "data": rest[:per_page]}

    def check(self, coordinate: str) -> None:
        """Raise GraphQLError for the flag or else the permission that a field needs."""
        flag, permission = REQUIRED.get(coordinate, (None, None))
        if flag is not None and flag not in self.flags:
            raise error("FLAG_REQUIRED")
        if permission is not None and permission not in self.permissions:
            raise error("PERMISSION_REQUIRED")

    def run(self, document: str, variables: Mapping[str, Any]) -> Answer:
        """Return the answer to an operation. Raises OracleGap."""
        result = graphql.execute_sync(
            SCHEMA,
            graphql.parse(document),
            context_value=self,
            variable_values=dict(variables),
            field_resolver=_resolve,
        )
        for each in result.errors or ():
            if each.original_error is not None and not isinstance(
                each.original_error, GraphQLError
            ):
                raise each.original_error
        errors = {
            (str((each.extensions or {}).get("code")), _to_path(each.path))
            for each in result.errors or ()
        }
        for path in self.open_paths:
            _put(result.data, path, ANY_NUMBER)
        return Answer(result.data, errors)


def _put(data: Any, path: list[str | int], value: Any) -> None:
    """Put a value into a result, unless an error has taken its place."""
    *parents, last = path
    for key in parents:
        data = data and data[key]
    if data:
        data[last] = value


Edge: TypeAlias = Callable[[View, Record, dict[str, Any]], Any]


def error(code: str) -> GraphQLError:
    return GraphQLError(code, extensions={"code": code})


def _to_path(path: Iterable[Any] | None) -> str:
    return "/".join(map(str, path or ()))


def _resolve(source: Record | None, info: GraphQLResolveInfo[View], **given: Any) -> Any:
    view, coordinate = info.context, f"{info.parent_type.name}.{info.field_name}"
    view.check(coordinate)
    if coordinate == "Map.route":
        _require_routable(view, source or {}, [given["from"], given["to"]])
        assert info.path is not None
        view.open_paths.append(info.path.as_list())
        return None
    if edge := EDGES.get(coordinate):
        return edge(view, source or {}, given)
    return _read_stored(source or {}, info, coordinate)


def _read_stored(source: Record, info: GraphQLResolveInfo[View], coordinate: str) -> Any:
    name = to_snake_case(info.field_name)
    named = get_named_type(info.return_type)
    if name in source:
        return source[name]
    if named.name == "Timestamp":
        return ANY
    if isinstance(named, GraphQLObjectType) or graphql.is_non_null_type(info.return_type):
        raise OracleGap(f"tests/authorisation/oracle.py does not know {coordinate}")
    return None


def _edge(kind: str, **links: str) -> Edge:
    """Return the edge to the visible record whose fields equal fields of this one."""

    def follow(view: View, source: Record, given: dict[str, Any]) -> Record | None:
        return view.one(kind, **{name: source[link] for name, link in links.items()})

    return follow


def _list(kind: str, **links: str) -> Edge:
    """Return the list of the visible records whose fields equal fields of this one."""

    def follow(view: View, source: Record, given: dict[str, Any]) -> Record:
        where = {name: source[link] for name, link in links.items()}
        for name, field_name in (("asset", "asset_id"), ("key", "key")):
            if given.get(name) is not None:
                where[field_name] = given[name]
        return view.page(kind, view.visible(kind, **where), given)

    return follow


def _by_id(kind: str, id_field: str = "id", **links: str) -> Edge:
    def find(view: View, source: Record, given: dict[str, Any]) -> Record | None:
        where = {name: source[link] for name, link in links.items()}
        return view.one(kind, **where, **{id_field: given["id"]})

    return find


def _is_on_map(unit: Record, map_id: str) -> bool:
    return unit["map_ids"] is None or map_id in unit["map_ids"]


def _maps(view: View, source: Record, given: dict[str, Any]) -> Record:
    tags = [tag.strip() for tag in given["tags"].split(",")] if given.get("tags") else []
    where = {} if given.get("asset") is None else {"asset_id": given["asset"]}
    found = [each for each in view.visible("maps", **where) if {*tags} <= {*each["tags"]}]
    return view.page("maps", found, given)


def _maps_of_unit(view: View, unit: Record, given: dict[str, Any]) -> Record:
    maps = view.visible("maps", asset_id=unit["asset_id"])
    return view.page("maps", [each for each in maps if _is_on_map(unit, each["id"])], given)


def _units_on_map(view: View, unit_map: Record, given: dict[str, Any]) -> Record:
    units = view.visible("units", asset_id=unit_map["asset_id"])
    return view.page("units", [each for each in units if _is_on_map(each, unit_map["id"])], given)


def _unit_on_map(view: View, unit_map: Record, given: dict[str, Any]) -> Record | None:
    unit = view.one("units", id=given["id"], asset_id=unit_map["asset_id"])
    return unit if unit and _is_on_map(unit, unit_map["id"]) else None


def _unit_id_of(location: Record) -> str | None:
    return next((tag["value"] for tag in location["tags"] if tag["key"] == "svc:id"), None)


def _location_of_unit(view: View, unit: Record, given: dict[str, Any]) -> Record | None:
    where = {} if given.get("map") is None else {"unit_map_id": given["map"]}
    found = view.visible("locations", asset_id=unit["asset_id"], **where)
    return next((each for each in found if _unit_id_of(each) == unit["id"]), None)


def _meets(location: Record, tags: str | None) -> bool:
    """Return whether a location meets every term of a filter."""
    words = {tag["key"].casefold() for tag in location["tags"]}
    words |= {f"{tag['key']}=={tag['value']}".casefold() for tag in location["tags"]}
    for term in re.split(r"(?<!\\),", tags) if tags else ():
        word = re.sub(r"\\(.)", r"\1", term.removeprefix("-")).casefold()
        if (word in words) == term.startswith("-"):
            return False
    return True


def _locations_on_map(view: View, unit_map: Record, given: dict[str, Any]) -> Record:
    found = view.visible("locations", unit_map_id=unit_map["id"])
    return view.page("locations", [each for each in found if _meets(each, given["tags"])], given)


def _complete(view: View, unit_map: Record, point: dict[str, Any]) -> Record:
    """Return a waypoint with the fields of its location. Raises GraphQLError."""
    id, x, floor_id = point.get("id"), point.get("x"), point.get("floorId")
    location = view.one("locations", id=id, unit_map_id=unit_map["id"]) if id is not None else None
    floors = [each["id"] for each in location["floors"]] if location else []
    if floor_id is not None and not view.one("floors", id=floor_id, asset_id=unit_map["asset_id"]):
        raise error("INVALID_INPUT")
    if (x is None or floor_id is None) and (location is None or floor_id not in (None, *floors)):
        raise error("INVALID_INPUT")
    known = location or {"name": None}
    return {
        "location_id": id,
        "name": known["name"] if point.get("name") is None else point["name"],
        "x": known.get("x") if x is None else x,
        "y": known.get("y") if x is None else point["y"],
        "floor_id": floor_id or floors[0],
    }


def _require_routable(view: View, unit_map: Record, points: list[dict[str, Any]]) -> list[Record]:
    waypoints = [_complete(view, unit_map, point) for point in points]
    if unit_map["id"] not in view.directory.routable:
        raise error("INVALID_INPUT")
    return waypoints


def _matrix(view: View, unit_map: Record, given: dict[str, Any]) -> Record:
    sources, targets = (
        [_complete(view, unit_map, point) for point in given[name]]
        for name in ("sources", "targets")
    )
    is_routable = unit_map["id"] in view.directory.routable
    if not is_routable and (
        given["distanceMethod"] == "pathfinding" or not unit_map["feet_per_unit"]
    ):
        raise error("INVALID_INPUT")
    walk = {"distance": ANY_NUMBER, "time": ANY_NUMBER}
    cells = [{**target, **walk, "index": index} for index, target in enumerate(targets)]
    rows = [{**source, "index": index, "targets": cells} for index, source in enumerate(sources)]
    return {"distance_method": ANY, "sources": rows}


def _nearest(view: View, unit_map: Record, given: dict[str, Any]) -> list[Record]:
    [start] = _require_routable(view, unit_map, [given["from"]])
    found = [
        (math.dist((each["x"], each["y"]), (start["x"], start["y"])), each["id"], each)
        for each in view.visible("locations", unit_map_id=unit_map["id"])
        if _meets(each, given["tags"])
        and each["id"] != start["location_id"]
        and each["floors"][0]["id"] == start["floor_id"]
    ]
    walk = {"distance": ANY_NUMBER, "time": ANY_NUMBER}
    return [{"location": each, **walk} for _, _, each in sorted(found)[: given["limit"]]]


def _attribute(view: View, assignment: Record, given: dict[str, Any]) -> Record:
    group = view.directory.group(assignment["group_id"])
    return next(a for a in group["attributes"] if a["attribute_id"] == assignment["attribute_id"])


def _check_assignments(view: View, given: dict[str, Any]) -> list[Record]:
    """Return the assignments of a write. Raises GraphQLError if one of them may not be made."""
    group = view.one("attribute_groups", group_id=given["groupId"])
    if group is None:
        raise error("NOT_FOUND")
    data = [{to_snake_case(name): value for name, value in each.items()} for each in given["data"]]
    attributes = {each["attribute_id"] for each in group["attributes"]}
    for each in data:
        unit = view.one("units", id=each["unit_id"], asset_id=each["asset_id"])
        if (
            each["group_id"] != group["group_id"]
            or each["attribute_id"] not in attributes
            or not unit
        ):
            raise error("INVALID_INPUT")
    return data


def _assign(view: View, source: Record, given: dict[str, Any]) -> list[Record]:
    data, stored = _check_assignments(view, given), view.directory.records["attribute_assignments"]
    chosen = {each["unit_id"]: each["attribute_id"] for each in data}
    if view.directory.group(given["groupId"])["one_attribute_per_unit"] and any(
        chosen[each["unit_id"]] != each["attribute_id"] for each in data
    ):
        raise error("INVALID_INPUT")
    keys = {view.directory.key_of("attribute_assignments", each): each for each in data}
    stored[:] = [
        each for each in stored if view.directory.key_of("attribute_assignments", each) not in keys
    ] + copy.deepcopy([*keys.values()])
    return data


def _unassign(view: View, source: Record, given: dict[str, Any]) -> bool:
    data, stored = _check_assignments(view, given), view.directory.records["attribute_assignments"]
    stored[:] = [each for each in stored if each not in data]
    return True


def _url(view: View, unit_map: Record, given: dict[str, Any]) -> Any:
    quoted = "".join(
        chr(byte)
        if chr(byte).isascii() and (chr(byte).isalnum() or chr(byte) in "_.-~")
        else f"%{byte:02X}"
        for byte in unit_map["id"].encode()
    )
    return (
        unit_map["url"]
        if unit_map["source"] is None
        else f"{view.base_url}/v1/maps/{quoted}/parsed"
    )


ASSET, UNIT, MAP = (
    _edge("assets", id="asset_id"),
    _edge("units", id="unit_id"),
    _edge("maps", id="unit_map_id"),
)
EDGES: dict[str, Edge] = {
    "Query.assets": _list("assets"),
    "Query.asset": _by_id("assets"),
    "Query.units": _list("units"),
    "Query.unit": _by_id("units"),
    "Query.maps": _maps,
    "Query.map": _by_id("maps"),
    "Query.parsedUnitMap": lambda view, source, given: ANY,
    "Query.assetReferences": _list("asset_references"),
    "Query.unitReferences": _list("unit_references"),
    "Query.attributeGroups": _list("attribute_groups"),
    "Query.attributeGroup": _by_id("attribute_groups", "group_id"),
    "Asset.floors": _list("floors", asset_id="id"),
    "Asset.floor": _by_id("floors", asset_id="id"),
    "Asset.units": _list("units", asset_id="id"),
    "Asset.maps": _list("maps", asset_id="id"),
    "Asset.references": _list("asset_references", asset_id="id"),
    "Floor.asset": ASSET,
    "Floor.units": _list("units", floor_id="id"),
    "Unit.asset": ASSET,
    "Unit.floor": _edge("floors", id="floor_id"),
    "Unit.maps": _maps_of_unit,
    "Unit.references": _list("unit_references", unit_id="id"),
    "Unit.attributes": _list("attribute_assignments", unit_id="id"),
    "Unit.location": _location_of_unit,
    "Background.map": MAP,
    "Location.asset": ASSET,
    "Location.map": MAP,
    "Location.unit": lambda view, source, given: view.one("units", id=_unit_id_of(source)),
    "LocationFloor.floorId": lambda view, source, given: source["id"],
    "LocationFloor.floor": _edge("floors", id="id"),
    "Map.url": _url,
    "Map.asset": ASSET,
    "Map.background": _by_id("backgrounds", unit_map_id="id"),
    "Map.chosenBackground": _edge("backgrounds", id="background_id"),
    "Map.backgrounds": _list("backgrounds", unit_map_id="id"),
    "Map.levelTags": _list("level_tags", map_id="id"),
    "Map.units": _units_on_map,
    "Map.unit": _unit_on_map,
    "Map.parsed": lambda view, source, given: view.directory.drawings.get(source["id"]),
    "Map.locations": _locations_on_map,
    "Map.distanceMatrix": _matrix,
    "Map.nearest": _nearest,
    "AssetReference.asset": ASSET,
    "UnitReference.asset": ASSET,
    "UnitReference.unit": UNIT,
    "AttributeGroup.assignments": _list("attribute_assignments", group_id="group_id"),
    "Assignment.attribute": _attribute,
    "Assignment.asset": ASSET,
    "Assignment.unit": UNIT,
    "Mutation.assignUnitAttributes": _assign,
    "Mutation.unassignUnitAttributes": _unassign,
}
"""Fields that are not stored in their record, by coordinate."""


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
