"""The fields that lead to locations, and route between them, for a key that sees some records."""

import math
import re
from typing import Any

from tests.authorisation.catalog import Record
from tests.authorisation.directory import ANY, ANY_NUMBER, View, error

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
