"""Waypoints: as clients give them, completed from locations, and as routing knows them."""

from collections.abc import Iterable, Mapping, Sequence

import strawberry
from msgspec import Struct

from resolvers.networks.routable_maps import Placement, RoutableMap, placement_of
from resolvers.request.arguments import describe_id_error
from resolvers.request.context import Context
from resolvers.request.errors import InvalidInputError
from routing.search.router import Router
from routing.search.stops import Position
from routing.search.stops import WaypointRef as Stop
from storage.floors import FLOORS
from storage.locations import LOCATIONS
from storage.maps import Map

MAX_NAME_CHARACTERS = 2048
MAX_COORDINATE = 1e9
"""The largest coordinate, as for locations; NaN is not smaller, nor is what has no end."""
COORDINATE_RANGE_MESSAGE = f"must be from -{MAX_COORDINATE:.0f} to {MAX_COORDINATE:.0f}"


@strawberry.input(description="A location of the map, or a place on one of its floors, or both.")
class WaypointInput:
    id: strawberry.ID | None = None
    name: str | None = None
    x: float | None = None
    y: float | None = None
    floor_id: strawberry.ID | None = None


class Waypoint(Struct, frozen=True):
    """A waypoint as it was given, completed from its location."""

    id: str | None
    name: str | None
    x: float
    y: float
    floor_id: str
    is_location: bool
    """Whether it is where the location `id` is, and not merely named after one."""

    @property
    def response_fields(self) -> tuple[str | None, str | None, float, float, str]:
        """What a response repeats of it."""
        return self.id, self.name, self.x, self.y, self.floor_id


async def resolve_waypoints(
    context: Context,
    parent: Map,
    routable: RoutableMap | None,
    named: Sequence[tuple[str, WaypointInput]],
) -> list[Waypoint]:
    """The waypoints, in their order, each given with its name. Raises InvalidInput."""
    for place, way in named:
        validate_waypoint(place, way.id, way.name, way.x, way.y, way.floor_id)
    ids = {way.id for _, way in named if way.id is not None}
    floor_ids = {way.floor_id for _, way in named if way.floor_id is not None}
    placements = await _load_placements(context, parent, routable, ids)
    floors = await _load_floor_ids(context, parent, routable, floor_ids)
    faults: dict[str, str] = {}
    found = []
    for place, way in named:
        placement = placements.get(way.id or "")
        is_placed = way.x is not None and way.floor_id is not None
        if way.floor_id is not None and way.floor_id not in floors:
            faults[f"{place}.floorId"] = f"is no floor of this map: {way.floor_id!r}"
        elif is_placed or (placement is not None and way.floor_id in (None, *placement.floor_ids)):
            found.append(_complete_waypoint(way, placement))
        elif placement is None:
            faults[f"{place}.id"] = f"is no location of this map: {way.id!r}"
        else:
            faults[f"{place}.floorId"] = f"is no floor of the location {way.id!r}"
    if faults:
        raise InvalidInputError(**faults)
    return found


def to_waypoint_ref(router: Router, parent: Map, waypoint: Waypoint) -> Stop:
    """A waypoint as routing knows it: a location by id, else a position in feet."""
    if waypoint.is_location and waypoint.id is not None and router.has_location(waypoint.id):
        return waypoint.id
    scale = parent.feet_per_unit or 1.0
    return Position(waypoint.floor_id, waypoint.x * scale, waypoint.y * scale)


def validate_waypoint(
    argument: str,
    waypoint_id: str | None = None,
    name: str | None = None,
    x: float | None = None,
    y: float | None = None,
    floor_id: str | None = None,
) -> None:
    """Whether a waypoint has the form of one. Raises InvalidInput."""
    part = ""
    if waypoint_id is not None and (fault := describe_id_error(waypoint_id)):
        part = ".id"
    elif floor_id is not None and (fault := describe_id_error(floor_id)):
        part = ".floorId"
    elif x is not None and not abs(x) <= MAX_COORDINATE:
        part, fault = ".x", COORDINATE_RANGE_MESSAGE
    elif y is not None and not abs(y) <= MAX_COORDINATE:
        part, fault = ".y", COORDINATE_RANGE_MESSAGE
    elif name is not None and len(name) > MAX_NAME_CHARACTERS:
        part, fault = ".name", f"must have at most {MAX_NAME_CHARACTERS} characters"
    elif (x is None) != (y is None):
        fault = "must have both x and y, or neither"
    elif waypoint_id is None and (x is None or floor_id is None):
        fault = "must have the id of a location, or x, y and a floor"
    else:
        return
    raise InvalidInputError(**{f"{argument}{part}": fault})


async def _load_placements(
    context: Context, parent: Map, routable: RoutableMap | None, ids: Iterable[str]
) -> Mapping[str, Placement]:
    """The map's locations among `ids`; only those it was not processed with are read."""
    known = routable.placements if routable else {}
    read = await context.load_many(LOCATIONS, [key for key in ids if key not in known])
    if not read:
        return known
    others = {key: each for key, each in read.items() if each.unit_map_id == parent.id}
    return {**known, **{key: placement_of(each) for key, each in others.items()}}


async def _load_floor_ids(
    context: Context, parent: Map, routable: RoutableMap | None, floor_ids: Iterable[str]
) -> set[str]:
    """Which of `floor_ids` are floors of the map's asset; only those off the map are read."""
    known = {key for key in floor_ids if routable and routable.router.has_level(key)}
    read = await context.load_many(FLOORS, [key for key in floor_ids if key not in known])
    return known | {key for key, floor in read.items() if floor.asset_id == parent.asset_id}


def _complete_waypoint(given: WaypointInput, placement: Placement | None) -> Waypoint:
    """On another of its floors, too, a location is a place like any other."""
    if placement is None:
        assert given.x is not None
        assert given.y is not None
        return Waypoint(given.id, given.name, given.x, given.y, given.floor_id or "", False)
    name = placement.name if given.name is None else given.name
    x = placement.x if given.x is None else given.x
    y = placement.y if given.y is None else given.y
    own_floor_id = placement.floor_id
    floor_id = given.floor_id or own_floor_id
    is_there = x == placement.x and y == placement.y and floor_id == own_floor_id
    return Waypoint(given.id, name, x, y, floor_id, is_there)
