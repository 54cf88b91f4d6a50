"""The fields of the schema that lead from one record to others, for a key that sees some."""

import base64
import copy
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from graphql import GraphQLError

from rest.names import to_snake_case
from storage.records.paging import Order, digest_list
from tests.authorisation.catalog import Record
from tests.authorisation.generation import NodeId
from tests.authorisation.oracle import ANY, ANY_NUMBER, NODES, WAYS_TO_NODES, View, error

NOTHING_CLOSED: Record = {"connectors": [], "doors": [], "spaces": []}


def unit_id_of(location: Record) -> str | None:
    return next((tag["value"] for tag in location["tags"] if tag["key"] == "svc:id"), None)


def location_of_unit(view: View, unit: Record, given: dict[str, Any]) -> Record | None:
    where = {} if given.get("map") is None else {"unit_map_id": given["map"]}
    found = view.visible("locations", asset_id=unit["asset_id"], **where)
    return next((each for each in found if unit_id_of(each) == unit["id"]), None)


def meets(location: Record, tags: str | None) -> bool:
    """Return whether a location meets every term of a filter."""
    words = {tag["key"].casefold() for tag in location["tags"]}
    words |= {f"{tag['key']}=={tag['value']}".casefold() for tag in location["tags"]}
    for term in re.split(r"(?<!\\),", tags) if tags else ():
        word = re.sub(r"\\(.)", r"\1", term.removeprefix("-")).casefold()
        if (word in words) == term.startswith("-"):
            return False
    return True


def locations_on_map(view: View, unit_map: Record, given: dict[str, Any]) -> Record:
    found = view.visible("locations", unit_map_id=unit_map["id"])
    return view.page("locations", [each for each in found if meets(each, given["tags"])], given)


def complete(view: View, unit_map: Record, point: dict[str, Any]) -> Record:
    """Return a waypoint with the fields of its location. Raises GraphQLError."""
    id, unit_id = point.get("id"), point.get("unitId")
    x, floor_id = point.get("x"), point.get("floorId")
    location = view.one("locations", id=id, unit_map_id=unit_map["id"]) if id is not None else None
    if location is None and (x is None or floor_id is None):
        on_map = view.visible("locations", unit_map_id=unit_map["id"])
        of_unit = (each for each in on_map if unit_id_of(each) == (unit_id or id))
        location = next(of_unit, None)
    floors = [each["id"] for each in location["floors"]] if location else []
    if floor_id is not None and not view.one("floors", id=floor_id, asset_id=unit_map["asset_id"]):
        raise error("INVALID_INPUT")
    if (x is None or floor_id is None) and (location is None or floor_id not in (None, *floors)):
        raise error("INVALID_INPUT")
    known = location or {"name": None}
    return {
        "waypoint_id": id or unit_id,
        "own_ids": (id, location["id"] if location else None),
        "name": known["name"] if point.get("name") is None else point["name"],
        "x": known.get("x") if x is None else x,
        "y": known.get("y") if x is None else point["y"],
        "floor_id": floor_id or floors[0],
    }


def require_routable(view: View, unit_map: Record, points: list[dict[str, Any]]) -> list[Record]:
    waypoints = [complete(view, unit_map, point) for point in points]
    if unit_map["id"] not in view.directory.routable:
        raise error("INVALID_INPUT")
    return waypoints


def matrix(view: View, unit_map: Record, given: dict[str, Any]) -> Record:
    sources, targets = (
        [complete(view, unit_map, point) for point in given[name]]
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


def routing(view: View, unit_map: Record, given: dict[str, Any]) -> Record:
    is_routable = unit_map["id"] in view.directory.routable
    return {"is_routable": is_routable, "is_stale": False, "reason": None}


def routing_report(view: View, unit_map: Record, given: dict[str, Any]) -> Any:
    return ANY if unit_map["id"] in view.directory.routable else None


def near(view: View, unit_map: Record, start: Record, given: dict[str, Any]) -> list[Record]:
    """Return what is nearest to a waypoint."""
    found = [
        (math.dist((each["x"], each["y"]), (start["x"], start["y"])), each["id"], each)
        for each in view.visible("locations", unit_map_id=unit_map["id"])
        if meets(each, given["tags"])
        and each["id"] not in start["own_ids"]
        and each["floors"][0]["id"] == start["floor_id"]
    ]
    walk = {"distance": ANY_NUMBER, "time": ANY_NUMBER}
    return [{"location": each, **walk} for _, _, each in sorted(found)[: given["limit"]]]


def nearest(view: View, unit_map: Record, given: dict[str, Any]) -> list[Record]:
    [start] = require_routable(view, unit_map, [given["from"]])
    return near(view, unit_map, start, given)


def nearest_from_sources(view: View, unit_map: Record, given: dict[str, Any]) -> list[Record]:
    starts = require_routable(view, unit_map, given["sources"])
    return [
        {**start, "index": index, "locations": near(view, unit_map, start, given)}
        for index, start in enumerate(starts)
    ]


def nearest_to_unit(view: View, unit: Record, given: dict[str, Any]) -> list[Record] | None:
    location = location_of_unit(view, unit, given)
    if location is None:
        return None
    unit_map = view.one("maps", id=location["unit_map_id"])
    assert unit_map is not None
    return nearest(view, unit_map, {**given, "from": {"id": location["id"]}})


def reachable(view: View, unit_map: Record, given: dict[str, Any]) -> Record:
    require_routable(view, unit_map, [given["from"]])
    return {
        "mode": given["mode"] or "foot",
        "minutes": given["minutes"],
        "search": (unit_map, given),
    }


def reachable_locations(view: View, source: Record, given: dict[str, Any]) -> list[Record]:
    unit_map, start = source["search"]
    limit = given["limit"] or 100
    return nearest(view, unit_map, {**given, "from": start["from"], "limit": limit})


def reachable_units(view: View, source: Record, given: dict[str, Any]) -> list[Record]:
    tags = ",".join(filter(None, (given["tags"], "svc:id")))
    # The limit counts units: several locations may stand for one.
    near_all = reachable_locations(view, source, {**given, "tags": tags, "limit": 1_000})
    ids = dict.fromkeys(unit_id_of(near["location"]) for near in near_all)
    units = [view.one("units", id=id) for id in ids]
    walk = {"distance": ANY_NUMBER, "time": ANY_NUMBER}
    found = [{"unit": unit, **walk} for unit in units if unit is not None]
    return found[: given["limit"] or 100]


def set_closures(view: View, source: Record, given: dict[str, Any]) -> Record:
    unit_map = view.one("maps", id=given["map"])
    if unit_map is None:
        raise error("NOT_FOUND")
    if any(given.get(name) for name in NOTHING_CLOSED):
        raise error("INVALID_INPUT")
    return {"map": unit_map, "closures": NOTHING_CLOSED}


Edge: TypeAlias = Callable[[View, Record, dict[str, Any]], Any]


def _find_node(view: View, text: str) -> Record | None:
    """Return the record of a node id. Raises GraphQLError."""
    type, key = NodeId.decode(text)
    view.check(WAYS_TO_NODES.get(type, ""), {})
    kind, fields = NODES[type]
    if type == "Attribute":
        group = view.one(kind, group_id=key[0])
        found = [a for a in group["attributes"] if a["attribute_id"] == key[1]] if group else []
        record = {**found[0], "group_id": key[0]} if found else None
    else:
        record = view.one(kind, **dict(zip(fields, key, strict=True)))
    return record and {**record, "__typename": type}


def _find_nodes(view: View, source: Record, given: dict[str, Any]) -> list[Any]:
    nodes: list[Any] = []
    for text in given["ids"]:
        try:
            nodes.append(_find_node(view, text))
        except GraphQLError as failed:
            nodes.append(failed)
    return nodes


def _node_id(type: str) -> Edge:
    fields = NODES[type][1]
    return lambda view, source, given: NodeId(type, tuple(source[f] for f in fields)).encode()


def _entity_id(type: str) -> Edge:
    node_id = _node_id(type)

    def find(view: View, source: Record, given: dict[str, Any]) -> str:
        text = base64.urlsafe_b64decode(node_id(view, source, given) + "==").decode()
        return text.partition(":")[2]

    return find


NODE_EDGES: dict[str, Edge] = {
    "Query.node": lambda view, source, given: _find_node(view, given["id"]),
    "Query.nodes": _find_nodes,
    **{f"{type}.nodeId": _node_id(type) for type in NODES},
    **{f"{type}.id": _entity_id(type) for type, (_, fields) in NODES.items() if fields != ("id",)},
}


"""From a view, a record and arguments to the field's value. Raises GraphQLError."""


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


def _units(view: View, source: Record, given: dict[str, Any]) -> Record:
    names = (("asset", "asset_id"), ("floor", "floor_id"))
    where = {key: given[name] for name, key in names if given.get(name) is not None}
    found = view.visible("units", **where)
    if given.get("map") is not None:
        unit_map = view.one("maps", id=given["map"]) or {"id": "", "asset_id": ""}
        found = [unit for unit in found if unit["asset_id"] == unit_map["asset_id"]]
        found = [unit for unit in found if _is_on_map(unit, unit_map["id"])]
    for name, kind in (("attribute", "attribute_assignments"), ("reference", "unit_references")):
        if given.get(name) is not None:
            related = {to_snake_case(key): value for key, value in given[name].items()}
            ids = {each["unit_id"] for each in view.visible(kind, **related)}
            found = [unit for unit in found if unit["id"] in ids]
    return view.page("units", found, given)


def _tag(view: View, location: Record, given: dict[str, Any]) -> str | None:
    tags, key = location["tags"], given["key"].casefold()
    return next((tag["value"] for tag in tags if tag["key"].casefold() == key), None)


def _units_on_map(view: View, unit_map: Record, given: dict[str, Any]) -> Record:
    units = view.visible("units", asset_id=unit_map["asset_id"])
    return view.page("units", [each for each in units if _is_on_map(each, unit_map["id"])], given)


def _unit_on_map(view: View, unit_map: Record, given: dict[str, Any]) -> Record | None:
    unit = view.one("units", id=given["id"], asset_id=unit_map["asset_id"])
    return unit if unit and _is_on_map(unit, unit_map["id"]) else None


def _attribute(view: View, assignment: Record, given: dict[str, Any]) -> Record:
    group = view.directory.group(assignment["group_id"])
    found = next(a for a in group["attributes"] if a["attribute_id"] == assignment["attribute_id"])
    return {**found, "group_id": group["group_id"]}


def _attributes_of_group(view: View, group: Record, given: dict[str, Any]) -> list[Record]:
    return [{**each, "group_id": group["group_id"]} for each in group["attributes"]]


def _check_assignments(view: View, given: dict[str, Any]) -> list[Record]:
    """Return the assignments of a write. Raises GraphQLError if one of them may not be made."""
    group = view.one("attribute_groups", group_id=given["groupId"])
    if group is None:
        raise error("NOT_FOUND")
    data = [
        {to_snake_case(name): value for name, value in each.items()}
        for each in given["assignments"]
    ]
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


def _assign(view: View, source: Record, given: dict[str, Any]) -> Record:
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
    return {"assignments": data}


def _unassign(view: View, source: Record, given: dict[str, Any]) -> Record:
    data, stored = _check_assignments(view, given), view.directory.records["attribute_assignments"]
    names = ("group_id", "unit_id", "attribute_id")
    removed = {tuple(each[name] for name in names) for each in data}
    stored[:] = [each for each in stored if tuple(each[name] for name in names) not in removed]
    return {"removed_assignments": data}


def _changed_units(view: View, payload: Record, given: dict[str, Any]) -> list[Record | None]:
    [assignments] = payload.values()
    ids = sorted({each["unit_id"] for each in assignments})
    return [view.one("units", id=id) for id in ids]


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


def _geojson(view: View, unit_map: Record, given: dict[str, Any]) -> Any:
    drawing = view.directory.drawings.get(unit_map["id"])
    if drawing is None:
        return None
    if given.get("level") is not None or drawing["elements"][0]["type"] != "Georeference":
        raise error("INVALID_INPUT")
    return ANY


def _picture(view: View, unit_map: Record, given: dict[str, Any]) -> Record | None:
    ends = [given.get("from"), given.get("to")]
    if (ends[0] is None) != (ends[1] is None):
        raise error("INVALID_INPUT")
    drawing = view.directory.drawings.get(unit_map["id"])
    if drawing is None:
        return None
    if ends[0] is not None:
        require_routable(view, unit_map, ends)  # type: ignore[arg-type]
    elements = drawing["elements"]
    # A hall has a Level and no units, and other drawings have one unit.
    is_hall = elements[0]["type"] == "Level"
    units = [] if is_hall else [elements[1]["elements"][0]["id"]]
    if given.get("level") is not None or given.get("unit") not in (None, *units):
        raise error("INVALID_INPUT")
    width = given.get("width") or 1024
    return {
        "format": given.get("format") or "svg",
        "width": width,
        "height": round(width * drawing["height"] / drawing["width"]),
        "level_id": None,
        "floor_id": elements[0]["tags"]["floor"] if is_hall else None,
        "content": ANY,
    }


ASSET, UNIT, MAP = (
    _edge("assets", id="asset_id"),
    _edge("units", id="unit_id"),
    _edge("maps", id="unit_map_id"),
)
EDGES: dict[str, Edge] = {
    **NODE_EDGES,
    "AttributeGroup.attributes": _attributes_of_group,
    "Query.assets": _list("assets"),
    "Query.asset": _by_id("assets"),
    "Query.floor": _by_id("floors"),
    "Query.units": _units,
    "Query.background": _by_id("backgrounds"),
    "Query.location": _by_id("locations"),
    "Location.tag": _tag,
    "Query.unit": _by_id("units"),
    "Query.maps": _maps,
    "Query.map": _by_id("maps"),
    "Query.parsedUnitMap": lambda view, source, given: {
        "map": ANY,
        "warnings": [],
        "summary": {"levels": 0, "units": 1, "hit_areas": 0, "shapes": 0},
    },
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
    "Unit.location": location_of_unit,
    "Unit.nearest": nearest_to_unit,
    "Background.map": MAP,
    "Location.asset": ASSET,
    "Location.map": MAP,
    "Location.unit": lambda view, source, given: view.one("units", id=unit_id_of(source)),
    "LocationFloor.floorId": lambda view, source, given: source["id"],
    "LocationFloor.floor": _edge("floors", id="id"),
    "Map.url": _url,
    "Map.geojsonUrl": lambda view, source, given: source["geojson_url"],
    "Map.geojson": _geojson,
    "Map.picture": _picture,
    "Map.asset": ASSET,
    "Map.background": _by_id("backgrounds", unit_map_id="id"),
    "Map.chosenBackground": _edge("backgrounds", id="background_id"),
    "Map.backgrounds": _list("backgrounds", unit_map_id="id"),
    "Map.levelTags": _list("level_tags", map_id="id"),
    "Map.units": _units_on_map,
    "Map.unit": _unit_on_map,
    "Map.parsed": lambda view, source, given: view.directory.drawings.get(source["id"]),
    "Map.routing": routing,
    "Map.routingReport": routing_report,
    "Map.locations": locations_on_map,
    "Map.distanceMatrix": matrix,
    "Map.nearest": nearest,
    "Map.nearestFromSources": nearest_from_sources,
    "Map.reachable": reachable,
    "Reachable.locations": reachable_locations,
    "Reachable.units": reachable_units,
    "Map.closures": lambda view, source, given: NOTHING_CLOSED,
    "Mutation.setClosures": set_closures,
    "AssetReference.asset": ASSET,
    "UnitReference.asset": ASSET,
    "UnitReference.unit": UNIT,
    "AttributeGroup.assignments": _list("attribute_assignments", group_id="group_id"),
    "Assignment.attribute": _attribute,
    "Assignment.asset": ASSET,
    "Assignment.unit": UNIT,
    "Mutation.assignUnitAttributes": _assign,
    "Mutation.unassignUnitAttributes": _unassign,
    "AssignUnitAttributesPayload.units": _changed_units,
    "UnassignUnitAttributesPayload.units": _changed_units,
    "SetClosuresPayload.map": lambda view, payload, given: payload["map"],
    "ProcessMapPayload.map": lambda view, payload, given: None,
}
"""Fields that are not stored in their record, by coordinate."""


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
