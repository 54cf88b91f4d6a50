"""Resolvers of the route between two waypoints of a map, and of the nearest locations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, TypeAlias

import strawberry

from resolvers.distances import Mode, round_up, to_travel_mode
from resolvers.locations import LocationTags, find_matching_ids
from resolvers.networks.avoidance import Avoid, to_restrictions
from resolvers.networks.routable_maps import RoutableMap
from resolvers.networks.searches import run_search
from resolvers.networks.waypoints import WaypointInput, resolve_waypoints, to_waypoint_ref
from resolvers.request.context import Context, Info
from resolvers.request.errors import InvalidInputError
from resolvers.request.input_rules import Range, argument
from routing.costing import TravelMode
from routing.search.route import ComputedRoute as RoutingRoute
from routing.search.route import Leg, WalkLeg
from storage.locations import LOCATIONS, Location
from storage.maps import Map

MAX_NEAREST = 100
DEFAULT_NEAREST = 10
MAX_CANDIDATES = 10_000

Start: TypeAlias = Annotated[
    WaypointInput, argument("Where to start.", name="from", example={"id": "l4xusy2pgwt"})
]


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
    """The fastest route between two waypoints."""

    mode: str
    feet: float
    seconds: float
    legs: list[RouteLeg]


@dataclass(frozen=True, slots=True)
class NearLocation:
    """A location, with its distance and time by the fastest route."""

    location: Location
    distance: Annotated[float, "In feet."]
    time: Annotated[float, "In seconds."]


async def find_route(
    parent: strawberry.Parent[Map],
    info: Info,
    source: Start,
    target: Annotated[
        WaypointInput, argument("Where to go.", name="to", example={"id": "l4xusy2pgwt"})
    ],
    mode: Mode = TravelMode.FOOT.value,
    avoid: Avoid = None,
) -> Route | None:
    """Find the fastest route from one waypoint to another; null if there is no path."""
    travel_mode = to_travel_mode(mode)
    routable = await info.context.load_routable_map(parent.id, to_restrictions(avoid))
    named_inputs = [("from", source), ("to", target)]
    waypoints = await resolve_waypoints(info.context, parent, routable, named_inputs)
    router = _require_routable_map(parent, routable).router
    start, end = (to_waypoint_ref(router, parent, waypoint) for waypoint in waypoints)
    route = await run_search(router.route, start, end, travel_mode)
    scale = parent.feet_per_unit or 1.0
    return None if route is None else _to_route(route, travel_mode.value, scale)


async def find_nearest_locations(
    parent: strawberry.Parent[Map],
    info: Info,
    source: Start,
    tags: LocationTags = None,
    limit: Annotated[
        int | None, argument("How many locations to return.", Range(1, MAX_NEAREST), example=3)
    ] = DEFAULT_NEAREST,
    mode: Mode = TravelMode.FOOT.value,
    avoid: Avoid = None,
) -> list[NearLocation]:
    """List the nearest locations by walking time, nearest first; `tags` filters them."""
    count = DEFAULT_NEAREST if limit is None else limit
    routable = await info.context.load_routable_map(parent.id, to_restrictions(avoid))
    [waypoint] = await resolve_waypoints(info.context, parent, routable, [("from", source)])
    candidates = await find_matching_ids(info.context, parent.id, tags, MAX_CANDIDATES)
    # The search stops at the maximum, so there may be more, and nearer ones among them.
    if len(candidates) == MAX_CANDIDATES:
        raise InvalidInputError(
            tags=f"must leave fewer than {MAX_CANDIDATES} locations; add a term"
        )
    router = _require_routable_map(parent, routable).router
    routable_ids = [key for key in candidates if router.has_location(key) and key != waypoint.id]
    if not routable_ids:
        return []
    start = to_waypoint_ref(router, parent, waypoint)
    nearest = await run_search(router.nearest, start, routable_ids, count, to_travel_mode(mode))
    return await _to_near_locations(
        info.context, [(near.location_id, near.feet, near.seconds) for near in nearest]
    )


def _require_routable_map(parent: Map, routable: RoutableMap | None) -> RoutableMap:
    if routable is None:
        raise InvalidInputError(map=f"{parent.id!r} has not been processed for pathfinding")
    return routable


async def _to_near_locations(
    context: Context, nearest: Sequence[tuple[str, float, float]]
) -> list[NearLocation]:
    locations = await context.load_by_id(LOCATIONS, [key for key, _, _ in nearest])
    return [
        NearLocation(locations[key], round_up(feet), round_up(seconds))
        for key, feet, seconds in nearest
        if key in locations
    ]


def _to_route(route: RoutingRoute, mode: str, scale: float) -> Route:
    legs = [_to_leg(leg, scale) for leg in route.legs]
    return Route(mode, round_up(route.feet), round_up(route.seconds), legs)


def _to_leg(leg: Leg, scale: float) -> RouteLeg:
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
