"""The way from one waypoint of a map to another, and which locations are nearest to one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import strawberry

from resolvers.distances import parse_travel_mode, round_up
from resolvers.locations import find_matching_ids
from resolvers.networks.routable_maps import RoutableMap
from resolvers.request.context import Context, Info
from resolvers.request.errors import InvalidInputError
from resolvers.waypoints import WaypointInput, resolve_waypoints, to_waypoint_ref
from routing.search.route import Leg as Found
from routing.search.route import Route as Way
from routing.search.route import WalkLeg
from storage.locations import LOCATIONS, Location
from storage.maps import Map

MAX_NEAREST = 100
MAX_CANDIDATES = 10_000


@dataclass(frozen=True, slots=True)
class RouteLeg:
    """A walk on one floor along a line, or a passage by one connector."""

    floor_id: str
    to_floor_id: Annotated[str, "Where it ends: another floor after a passage."]
    feet: float
    seconds: float
    points: Annotated[
        list[list[float]],
        "The line of a walk: x, y in the map's own coordinates. A passage has none.",
    ]
    connector_id: Annotated[str | None, "The lift, stairs, escalator or ramp of a passage."] = None
    connector_kind: str | None = None
    connector_name: str | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """The fastest way between two waypoints."""

    mode: str
    feet: float
    seconds: float
    legs: list[RouteLeg]


@dataclass(frozen=True, slots=True)
class NearLocation:
    """A location, and how far it is by the fastest way.

    The schema's type of this name refers to the type of locations, as those of records do.
    """

    location: Location
    distance: float
    time: float


async def find_route(
    parent: strawberry.Parent[Map],
    info: Info,
    source: Annotated[WaypointInput, strawberry.argument(name="from")],
    target: Annotated[WaypointInput, strawberry.argument(name="to")],
    mode: str | None = None,
) -> Route | None:
    """The fastest way from one waypoint to another; null where no path leads."""
    travel = parse_travel_mode("mode", mode)
    routable = await info.context.load_routable_map(parent.id)
    named = [("from", source), ("to", target)]
    waypoints = await resolve_waypoints(info.context, parent, routable, named)
    router = _require_routable_map(parent, routable).router
    start, end = (to_waypoint_ref(router, parent, waypoint) for waypoint in waypoints)
    way = router.route(start, end, travel)
    return None if way is None else _to_route(way, travel.value, parent.feet_per_unit or 1.0)


async def find_nearest_locations(
    parent: strawberry.Parent[Map],
    info: Info,
    source: Annotated[WaypointInput, strawberry.argument(name="from")],
    tags: str | None = None,
    limit: int | None = 10,
    mode: str | None = None,
) -> list[NearLocation]:
    """The locations whose tags meet every term, nearest first by walking time."""
    travel = parse_travel_mode("mode", mode)
    most = parse_limit(limit)
    routable = await info.context.load_routable_map(parent.id)
    [waypoint] = await resolve_waypoints(info.context, parent, routable, [("from", source)])
    candidates = await find_matching_ids(info.context, parent.id, tags, MAX_CANDIDATES)
    if len(candidates) == MAX_CANDIDATES:
        raise InvalidInputError(
            tags=f"must leave fewer than {MAX_CANDIDATES} locations; add a term"
        )
    router = _require_routable_map(parent, routable).router
    known = [key for key in candidates if router.has_location(key) and key != waypoint.id]
    found = (
        router.nearest(to_waypoint_ref(router, parent, waypoint), known, most, travel)
        if known
        else []
    )
    return await _to_near_locations(
        info.context, [(n.location_id, n.feet, n.seconds) for n in found]
    )


def parse_limit(limit: int | None) -> int:
    """How many locations to name. Raises InvalidInput."""
    most = 10 if limit is None else limit
    if not 1 <= most <= MAX_NEAREST:
        raise InvalidInputError(limit=f"must be from 1 to {MAX_NEAREST}, not {most}")
    return most


def _require_routable_map(parent: Map, routable: RoutableMap | None) -> RoutableMap:
    if routable is None:
        raise InvalidInputError(map=f"has not been processed for pathfinding: {parent.id!r}")
    return routable


async def _to_near_locations(
    context: Context, found: Sequence[tuple[str, float, float]]
) -> list[NearLocation]:
    locations = await context.load_many(LOCATIONS, [key for key, _, _ in found])
    return [
        NearLocation(locations[key], round_up(feet), round_up(seconds))
        for key, feet, seconds in found
        if key in locations
    ]


def _to_route(way: Way, mode: str, scale: float) -> Route:
    legs = [_to_leg(leg, scale) for leg in way.legs]
    return Route(mode, round_up(way.feet), round_up(way.seconds), legs)


def _to_leg(leg: Found, scale: float) -> RouteLeg:
    feet, seconds = round_up(leg.feet), round_up(leg.seconds)
    if isinstance(leg, WalkLeg):
        points = [[round(x / scale, 3), round(y / scale, 3)] for x, y in leg.points]
        return RouteLeg(leg.level_id, leg.level_id, feet, seconds, points)
    return RouteLeg(
        leg.from_level_id,
        leg.to_level_id,
        feet,
        seconds,
        [],
        leg.connector_id,
        leg.kind.value,
        leg.name or None,
    )
