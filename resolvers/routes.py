"""The way from one waypoint of a map to another, and which locations are nearest to one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import strawberry

from resolvers.context import Context, Info
from resolvers.distances import parse_mode, rounded
from resolvers.errors import InvalidInput
from resolvers.locations import matching
from resolvers.routables import Routable
from resolvers.waypoints import WaypointInput, find_waypoints, to_stop
from routing.route import Leg as Found
from routing.route import Route as Way
from routing.route import Walk
from storage.locations import LOCATIONS, Location
from storage.maps import Map

MOST_NEAREST = 100
MOST_CANDIDATES = 10_000


@dataclass(frozen=True, slots=True)
class Leg:
    """A walk on one floor along a line, or a passage by one connector."""

    floor_id: str
    to_floor_id: str
    feet: float
    seconds: float
    points: list[list[float]]
    connector_id: str | None = None
    connector_kind: str | None = None
    connector_name: str | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """The fastest way, leg by leg."""

    mode: str
    feet: float
    seconds: float
    legs: list[Leg]


@dataclass(frozen=True, slots=True)
class Near:
    """A location, and how far it is by the fastest way."""

    location: Location
    distance: float
    time: float


async def route(
    parent: strawberry.Parent[Map],
    info: Info,
    source: Annotated[WaypointInput, strawberry.argument(name="from")],
    target: Annotated[WaypointInput, strawberry.argument(name="to")],
    mode: str | None = None,
) -> Route | None:
    """The fastest way from one waypoint to another; null where no path leads."""
    travel = parse_mode("mode", mode)
    routable = await info.context.routable(parent.id)
    named = [("from", source), ("to", target)]
    waypoints = await find_waypoints(info.context, parent, routable, named)
    router = _required(parent, routable).router
    start, end = (to_stop(router, parent, waypoint) for waypoint in waypoints)
    way = router.route(start, end, travel)
    return None if way is None else _shown(way, travel.value, parent.feet_per_unit or 1.0)


async def nearest(
    parent: strawberry.Parent[Map],
    info: Info,
    source: Annotated[WaypointInput, strawberry.argument(name="from")],
    tags: str | None = None,
    limit: int | None = 10,
    mode: str | None = None,
) -> list[Near]:
    """The locations whose tags meet every term, nearest first by walking time."""
    travel = parse_mode("mode", mode)
    most = checked_limit(limit)
    routable = await info.context.routable(parent.id)
    [waypoint] = await find_waypoints(info.context, parent, routable, [("from", source)])
    candidates = await matching(info.context, parent.id, tags, MOST_CANDIDATES)
    if len(candidates) == MOST_CANDIDATES:
        raise InvalidInput(tags=f"must leave fewer than {MOST_CANDIDATES} locations; add a term")
    router = _required(parent, routable).router
    known = [key for key in candidates if router.has_location(key) and key != waypoint.id]
    found = router.nearest(to_stop(router, parent, waypoint), known, most, travel) if known else []
    return await _located(info.context, [(n.location_id, n.feet, n.seconds) for n in found])


def checked_limit(limit: int | None) -> int:
    """How many locations to name. Raises InvalidInput."""
    most = 10 if limit is None else limit
    if not 1 <= most <= MOST_NEAREST:
        raise InvalidInput(limit=f"must be from 1 to {MOST_NEAREST}, not {most}")
    return most


def _required(parent: Map, routable: Routable | None) -> Routable:
    if routable is None:
        raise InvalidInput(map=f"has not been processed for pathfinding: {parent.id!r}")
    return routable


async def _located(context: Context, found: Sequence[tuple[str, float, float]]) -> list[Near]:
    locations = await context.many(LOCATIONS, [key for key, _, _ in found])
    return [
        Near(locations[key], rounded(feet), rounded(seconds))
        for key, feet, seconds in found
        if key in locations
    ]


def _shown(way: Way, mode: str, scale: float) -> Route:
    legs = [_leg(leg, scale) for leg in way.legs]
    return Route(mode, rounded(way.feet), rounded(way.seconds), legs)


def _leg(leg: Found, scale: float) -> Leg:
    feet, seconds = rounded(leg.feet), rounded(leg.seconds)
    if isinstance(leg, Walk):
        points = [[round(x / scale, 3), round(y / scale, 3)] for x, y in leg.points]
        return Leg(leg.level_id, leg.level_id, feet, seconds, points)
    return Leg(
        leg.from_level_id,
        leg.to_level_id,
        feet,
        seconds,
        [],
        leg.connector_id,
        leg.kind.value,
        leg.name or None,
    )
