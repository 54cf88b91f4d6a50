"""Resolvers of the route between two waypoints of a map, and of the nearest locations."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple, TypeAlias

import strawberry

from resolvers.distances import Mode, round_up, to_travel_mode
from resolvers.locations import LocationTags, find_matching_ids
from resolvers.networks.avoidance import Avoid, to_restrictions
from resolvers.networks.routable_maps import RoutableMap
from resolvers.networks.searches import run_search
from resolvers.networks.waypoints import (
    Waypoint,
    WaypointInput,
    resolve_waypoints,
    to_waypoint_ref,
)
from resolvers.request.context import Context, Info
from resolvers.request.errors import InvalidInputError
from resolvers.request.input_rules import Range, argument
from routing.costing import TravelMode
from routing.network.network import Network
from routing.search.route import ComputedRoute as RoutingRoute
from routing.search.route import Leg, WalkLeg
from routing.search.router import NearestLocation, Router
from routing.search.waypoints import WaypointRef
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


class FoundRoute(NamedTuple):
    """What the steps of a route are made of; a map without a scale has a foot per unit."""

    unit_map: Map
    network: Network
    route: RoutingRoute
    scale: float
    target_name: str


@dataclass(frozen=True, slots=True)
class Route:
    """The fastest route between two waypoints."""

    mode: str
    feet: float
    seconds: float
    legs: list[RouteLeg]
    found: FoundRoute


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
    if route is None:
        return None
    # A position with the id of a location need not be there.
    target_name = target.name or (waypoints[1].name if waypoints[1].is_location else None)
    scale = parent.feet_per_unit or 1.0
    network = router.networks[travel_mode]
    return _to_route(FoundRoute(parent, network, route, scale, target_name or ""))


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
    search = await start_search(info.context, parent, source, to_travel_mode(mode), avoid)
    return await list_nearest(info.context, search, tags, count)


@dataclass(frozen=True, slots=True)
class Search:
    """A search of a routable map from a waypoint."""

    unit_map: Map
    router: Router
    waypoint: Waypoint
    mode: TravelMode

    @property
    def start(self) -> WaypointRef:
        """The waypoint for routing."""
        return to_waypoint_ref(self.router, self.unit_map, self.waypoint)


async def start_search(
    context: Context,
    unit_map: Map,
    source: WaypointInput,
    mode: TravelMode,
    avoid: list[str] | None = None,
) -> Search:
    """Complete the waypoint that a search starts from. Raises InvalidInputError."""
    routable = await context.load_routable_map(unit_map.id, to_restrictions(avoid))
    [waypoint] = await resolve_waypoints(context, unit_map, routable, [("from", source)])
    return Search(unit_map, _require_routable_map(unit_map, routable).router, waypoint, mode)


async def list_nearest(
    context: Context,
    search: Search,
    tags: str | None,
    limit: int,
    max_seconds: float = math.inf,
) -> list[NearLocation]:
    """Return the nearest locations with these tags, none of them farther than `max_seconds`."""
    nearest = await find_nearest(context, search, tags, limit, max_seconds)
    return await load_near_locations(context, nearest)


async def find_nearest(
    context: Context,
    search: Search,
    tags: str | None,
    limit: int,
    max_seconds: float,
    *,
    of_units: bool = False,
) -> list[NearestLocation]:
    """Find the nearest locations as `list_nearest` does, without their records.

    With `of_units` only those that stand for units.
    """
    candidates = await find_matching_ids(
        context, search.unit_map.id, tags, MAX_CANDIDATES, of_units=of_units
    )
    # The search stops at the maximum, so there may be more, and nearer ones among them.
    if len(candidates) == MAX_CANDIDATES:
        raise InvalidInputError(
            tags=f"must leave fewer than {MAX_CANDIDATES} locations; add a term"
        )
    router, own_ids = search.router, (search.waypoint.id, search.waypoint.location_id)
    routable_ids = [key for key in candidates if router.has_location(key) and key not in own_ids]
    if not routable_ids:
        return []
    return await run_search(
        router.nearest, search.start, routable_ids, limit, search.mode, max_seconds
    )


async def load_near_locations(
    context: Context, nearest: Sequence[NearestLocation]
) -> list[NearLocation]:
    """Return the records of the nearest locations, without those that are gone."""
    locations = await context.load_by_id(LOCATIONS, [near.location_id for near in nearest])
    return [
        NearLocation(locations[near.location_id], round_up(near.feet), round_up(near.seconds))
        for near in nearest
        if near.location_id in locations
    ]


def _require_routable_map(parent: Map, routable: RoutableMap | None) -> RoutableMap:
    if routable is None:
        raise InvalidInputError(map=f"{parent.id!r} has not been processed for pathfinding")
    return routable


def _to_route(found: FoundRoute) -> Route:
    _, network, route, scale, _ = found
    legs = [_to_leg(leg, scale) for leg in route.legs]
    return Route(network.mode.value, round_up(route.feet), round_up(route.seconds), legs, found)


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
