"""The fields of the schema that lead from one record to others, for a key that sees some."""

import copy
from collections.abc import Callable
from typing import Any, TypeAlias

from rest.names import to_snake_case
from tests.authorisation import routing_edges
from tests.authorisation.catalog import Record
from tests.authorisation.directory import (
    ANY,
    View,
    error,
)
from tests.authorisation.nodes import NODE_EDGES

Edge: TypeAlias = Callable[[View, Record, dict[str, Any]], Any]
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
    related_to = [("attribute_assignments", each) for each in given.get("attributes") or ()]
    related_to += [
        (kind, given[name])
        for name, kind in (("attribute", "attribute_assignments"), ("reference", "unit_references"))
        if given.get(name) is not None
    ]
    for kind, filter in related_to:
        related = {to_snake_case(key): value for key, value in filter.items()}
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
        routing_edges.require_routable(view, unit_map, ends)  # type: ignore[arg-type]
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
    "Unit.location": routing_edges.location_of_unit,
    "Unit.nearest": routing_edges.nearest_to_unit,
    "Background.map": MAP,
    "Location.asset": ASSET,
    "Location.map": MAP,
    "Location.unit": lambda view, source, given: view.one(
        "units", id=routing_edges.unit_id_of(source)
    ),
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
    "Map.routing": routing_edges.routing,
    "Map.routingReport": routing_edges.routing_report,
    "Map.locations": routing_edges.locations_on_map,
    "Map.distanceMatrix": routing_edges.matrix,
    "Map.nearest": routing_edges.nearest,
    "Map.nearestFromSources": routing_edges.nearest_from_sources,
    "Map.reachable": routing_edges.reachable,
    "Reachable.locations": routing_edges.reachable_locations,
    "Reachable.units": routing_edges.reachable_units,
    "Map.closures": lambda view, source, given: routing_edges.NOTHING_CLOSED,
    "Mutation.setClosures": routing_edges.set_closures,
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
