"""Resolvers of routes between waypoints of a map, their steps, and what is near or within reach.

What is nearest to several waypoints or units of one map is one computation: its tags are looked up
once, and a matrix has a row for each start.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NewType, TypeAlias

import strawberry

from resolvers import distances
from resolvers.directory import load_unit_names
from resolvers.locations import (
    LocationTags,
    find_matching_ids,
    get_unit_id,
    load_locations_of_units,
)
from resolvers.request.context import Context, Info
from resolvers.request.errors import InvalidInputError
from resolvers.request.inputs import ID, Items, Range, argument, batch_resolver
from resolvers.request.threads import ROUTING, run_in_thread
from routing.values import MAX_STEP_NAMES, ConnectorKind, NearestLocation, TravelMode, WaypointRef
from storage.catalog import FLOORS, LOCATIONS, MAPS, UNITS, Floor, Location, Map, Unit

if TYPE_CHECKING:
    from routing.directions.steps import Step
    from routing.network.network import Network
    from routing.search.isochrone import Isochrone
    from routing.search.router import ComputedRoute as RoutingRoute
    from routing.search.router import Leg, Router


MAX_NEAREST = 100
DEFAULT_NEAREST = 10
MAX_CANDIDATES = 10_000

Start: TypeAlias = Annotated[
    distances.WaypointInput, argument("Where to start.", name="from", example={"id": "l4xusy2pgwt"})
]
NearestLimit: TypeAlias = Annotated[
    int | None, argument("How many locations to return.", Range(1, MAX_NEAREST), example=3)
]


Position = NewType("Position", list[float])
"""A scalar: as a list, it would make the type of polygons deeper than introspection asks for."""


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
    connector_kind: ConnectorKind | None = None
    connector_name: str | None = None


class FoundRoute(NamedTuple):
    """What the steps of a route are made of; a map without a scale has a foot per unit."""

    unit_map: Map
    network: "Network"
    route: "RoutingRoute"
    scale: float
    target_name: str


@dataclass(frozen=True, slots=True)
class Route:
    """The fastest route between two waypoints."""

    mode: TravelMode
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
        distances.WaypointInput, argument("Where to go.", name="to", example={"id": "lvx7jztptwu"})
    ],
    mode: distances.Mode = TravelMode.FOOT,
    avoid: distances.Avoid = None,
) -> Route | None:
    """Find the fastest route from one waypoint to another; null if there is no path."""
    travel_mode = mode or TravelMode.FOOT
    named_inputs = [("from", source), ("to", target)]
    start, end = await start_searches(info.context, parent, named_inputs, travel_mode, avoid)
    route = await distances.run_search(start.router.route, start.start, end.start, travel_mode)
    if route is None:
        return None
    # A position with the id of a location need not be there.
    target_name = target.name or (end.waypoint.name if end.waypoint.is_location else None)
    scale = parent.feet_per_unit or 1.0
    network = start.router.networks[travel_mode]
    found = FoundRoute(parent, network, route, scale, target_name or "")
    legs = [_to_leg(leg, scale) for leg in route.legs]
    return Route(
        travel_mode, distances.round_up(route.feet), distances.round_up(route.seconds), legs, found
    )


async def find_nearest_locations(
    parent: strawberry.Parent[Map],
    info: Info,
    source: Start,
    tags: LocationTags = None,
    limit: NearestLimit = DEFAULT_NEAREST,
    mode: distances.Mode = TravelMode.FOOT,
    avoid: distances.Avoid = None,
) -> list[NearLocation]:
    """List the nearest locations by walking time, nearest first; `tags` filters them."""
    options = _Options(tags, limit, mode, avoid)
    [found] = await _find_nearest(info.context, parent, [("from", source)], options)
    [locations] = await load_near_locations(info.context, [found.found])
    return locations


@dataclass(frozen=True, slots=True)
class Search:
    """A search of a routable map from a waypoint."""

    unit_map: Map
    router: "Router"
    waypoint: distances.Waypoint
    mode: TravelMode

    @property
    def start(self) -> WaypointRef:
        """The waypoint for routing."""
        [start] = distances.to_waypoint_refs(self.router, self.unit_map, [self.waypoint])
        return start


async def start_searches(
    context: Context,
    unit_map: Map,
    named_inputs: Sequence[tuple[str, distances.WaypointInput]],
    mode: TravelMode,
    avoid: Collection[str] | None = None,
) -> list[Search]:
    """Complete the waypoints that searches start from; each comes with its name for errors.

    Raises InvalidInputError.
    """
    routable = await context.load_routable_map(unit_map.id, distances.to_restrictions(avoid))
    waypoints = await distances.resolve_waypoints(context, unit_map, routable, named_inputs)
    if routable is None:
        raise InvalidInputError(map=f"{unit_map.id!r} has not been processed for pathfinding")
    return [Search(unit_map, routable.router, waypoint, mode) for waypoint in waypoints]


async def find_nearest_from_each(
    context: Context,
    searches: Sequence[Search],
    tags: str | None,
    limit: int,
    max_seconds: float = math.inf,
    *,
    of_units: bool = False,
) -> list[list[NearestLocation]]:
    """Find the nearest locations of each search of one map, by one mode, in one computation.

    None is farther than `max_seconds`. With `of_units` only those that stand for units.
    """
    router, unit_map, mode = searches[0].router, searches[0].unit_map, searches[0].mode
    candidates = await find_matching_ids(
        context, unit_map.id, tags, MAX_CANDIDATES, of_units=of_units
    )
    # The search stops at the maximum, so there may be more, and nearer ones among them.
    if len(candidates) == MAX_CANDIDATES:
        raise InvalidInputError(
            tags=f"must leave fewer than {MAX_CANDIDATES} locations; add a term"
        )
    routable_ids = [key for key in candidates if router.has_location(key)]
    if not routable_ids:
        return [[] for _ in searches]
    starts = [search.start for search in searches]
    # A search leaves out its own location, and the one that it only repeats the id of.
    own_ids = [(search.waypoint.id, search.waypoint.location_id) for search in searches]
    found = await distances.run_search(
        router.nearest_from_each, starts, routable_ids, limit + 2, mode, max_seconds
    )
    return [
        [near for near in row if near.location_id not in own][:limit]
        for row, own in zip(found, own_ids, strict=True)
    ]


async def load_near_locations(
    context: Context, rows: Sequence[Sequence[NearestLocation]]
) -> list[list[NearLocation]]:
    """Return the records of what is nearest to each start, without those that are gone."""
    ids = [near.location_id for row in rows for near in row]
    locations = await context.load_by_id(LOCATIONS, ids)
    return [
        [
            NearLocation(location, distances.round_up(near.feet), distances.round_up(near.seconds))
            for near in row
            if (location := locations.get(near.location_id)) is not None
        ]
        for row in rows
    ]


def _to_leg(leg: "Leg", scale: float) -> RouteLeg:
    from routing.search.router import WalkLeg

    feet, seconds = distances.round_up(leg.feet), distances.round_up(leg.seconds)
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
        leg.kind,
        leg.name or None,
    )


async def draw_route(parent: strawberry.Parent[Route], info: Info) -> list[list[Position]]:
    """Draw the route as people walk: clear of walls, with rounded bends.

    There is a line of x, y in the map's own coordinates for each of `legs`; a passage has none.
    Lengths and times are those of `points`.
    """
    await ROUTING.load()
    from routing.search import drawn_walks

    network, route, scale = parent.found.network, parent.found.route, parent.found.scale
    lines = await distances.run_search(drawn_walks.draw_route, network, route)
    return [(line / scale).round(3).tolist() for line in lines]


MAX_UNITS_TO_NAME = 1_000
"""Spaces beside a route that may be units: those where it begins."""


@dataclass(frozen=True, slots=True)
class RouteStep:
    """What to do at one place of a route, and the walk or ride that follows."""

    code: Annotated[
        str,
        "What to do, in any language: `depart`, `turn`, `door` (go straight through it), "
        "`connector` (take it), `continue` (leave it), `arrive`. More may be added.",
    ]
    modifier: Annotated[
        str | None,
        "Of a turn: `slight_left`, `left`, `sharp_left`, `slight_right`, `right`, `sharp_right` or "
        "`uturn`; of a door `straight`. Of the arrival the side on which the target is, if any: "
        "`left` or `right`.",
    ]
    text: Annotated[str, "The step as an English sentence."]
    distance: Annotated[float, "Of what follows, in feet. They add up to the route's `feet`."]
    time: Annotated[float, "Of what follows, in seconds. They add up to the route's `seconds`."]
    floor_id: str
    x: Annotated[float, "Where it begins, in the map's own coordinates."]
    y: Annotated[float, "Where it begins, in the map's own coordinates."]
    door_ids: Annotated[
        list[str], "The doors that it leads through at its beginning, as on the plan."
    ]
    spaces: Annotated[
        list[str],
        f"Names of the rooms, corridors and areas that it leads through, up to {MAX_STEP_NAMES}.",
    ]
    passed: Annotated[
        list[str], f"Names of the rooms whose doors it passes, up to {MAX_STEP_NAMES}."
    ]
    connector_id: Annotated[str | None, "The lift, stairs, escalator or ramp to take."] = None
    connector_kind: ConnectorKind | None = None
    connector_name: str | None = None
    to_floor_id: Annotated[str | None, "Where the connector leads."] = None
    to_floor_name: str | None = None


async def list_steps_of_route(parent: strawberry.Parent[Route], info: Info) -> list[RouteStep]:
    """List what to do on the way, step by step: the first departs, the last arrives."""
    await ROUTING.load()
    from routing.directions.steps import build_steps, list_spaces_to_name

    found = parent.found
    floor_ids = sorted({leg.to_floor_id for leg in parent.legs if leg.connector_id is not None})
    floors = await info.context.load_in_order(FLOORS, floor_ids)
    names = {floor.id: floor.name for floor in floors if isinstance(floor, Floor)}
    unnamed = await distances.run_search(list_spaces_to_name, found.network, found.route)
    units = await load_unit_names(info.context, found.unit_map, unnamed[:MAX_UNITS_TO_NAME])
    steps = await distances.run_search(
        build_steps, found.network, found.route, names, found.target_name, units
    )
    return [
        _to_step(step, distance, time, found.scale, names)
        for step, distance, time in zip(
            steps,
            _round_parts([step.feet for step in steps]),
            _round_parts([step.seconds for step in steps]),
            strict=True,
        )
    ]


def _round_parts(parts: Sequence[float]) -> list[float]:
    """Round the parts of a sum to thousandths so that they add up to the sum, rounded up.

    >>> _round_parts([0.4444, 0.4444, 0.1112])
    [0.445, 0.444, 0.111]
    """
    totals = [0.0, *map(distances.round_up, accumulate(parts))]
    return [round(end - start, 3) for start, end in pairwise(totals)]


def _to_step(
    step: "Step", distance: float, time: float, scale: float, floor_names: dict[str, str]
) -> RouteStep:
    ride = step.ride
    return RouteStep(
        step.code.value,
        step.modifier and step.modifier.value,
        step.text,
        distance,
        time,
        step.level_id,
        round(step.x / scale, 3),
        round(step.y / scale, 3),
        [*step.door_ids],
        [*step.spaces],
        [*step.passed],
        ride and ride.connector_id,
        ride and ride.kind,
        (ride and ride.name) or None,
        ride and ride.to_level_id,
        floor_names.get(ride.to_level_id) if ride else None,
    )


MAX_NEAREST_SOURCES = 20


@dataclass(frozen=True, slots=True)
class NearestFromSource:
    """One of several waypoints, with the locations nearest to it."""

    waypoint_id: distances.WaypointId
    name: str | None
    index: distances.WaypointIndex
    found: list[NearestLocation]


class _Options(NamedTuple):
    """The arguments of a field, for all of its starts."""

    tags: str | None
    limit: int | None
    mode: TravelMode | None
    avoid: list[distances.Avoidable] | None


async def find_nearest_from_sources(
    parent: strawberry.Parent[Map],
    info: Info,
    sources: Annotated[
        list[distances.WaypointInput],
        argument(
            "Where to start.",
            Items(1, MAX_NEAREST_SOURCES, "waypoints"),
            example=[{"id": "l4xusy2pgwt"}],
        ),
    ],
    tags: LocationTags = None,
    limit: NearestLimit = DEFAULT_NEAREST,
    mode: distances.Mode = TravelMode.FOOT,
    avoid: distances.Avoid = None,
) -> list[NearestFromSource]:
    """List the nearest locations of each source, as `nearest` does for one.

    `limit` is for each source. The sources come in the order of the request.
    """
    named_inputs = [(f"sources[{index}]", source) for index, source in enumerate(sources)]
    options = _Options(tags, limit, mode, avoid)
    return await _find_nearest(info.context, parent, named_inputs, options)


@batch_resolver
async def load_locations_near_source(
    parents: Sequence[NearestFromSource], info: Info
) -> list[list[NearLocation]]:
    """List the nearest locations by walking time, nearest first."""
    return await load_near_locations(info.context, [parent.found for parent in parents])


@batch_resolver
async def find_nearest_to_unit(
    parents: Sequence[Unit],
    info: Info,
    map: Annotated[strawberry.ID | None, argument("Start on the map with this id.", ID)] = None,
    tags: LocationTags = None,
    limit: NearestLimit = DEFAULT_NEAREST,
    mode: distances.Mode = TravelMode.FOOT,
    avoid: distances.Avoid = None,
) -> list[list[NearLocation] | Exception | None]:
    """List the nearest locations of a unit by walking time; null if no location stands for it.

    It starts where `location` is: on one map, or the first on any map.
    """
    context, options = info.context, _Options(tags, limit, mode, avoid)
    # In the place of a damaged record is an exception, which stays.
    values: list[Any] = [*await load_locations_of_units(context, parents, map)]
    starts: dict[str, dict[int, str]] = {}
    for position, location in enumerate(values):
        if isinstance(location, Location):
            starts.setdefault(location.unit_map_id, {})[position] = location.id
    unit_maps = await context.load_in_order(MAPS, [*starts])
    for unit_map, ids in zip(unit_maps, starts.values(), strict=True):
        found: Sequence[list[NearLocation] | Exception | None] = [None] * len(ids)
        if isinstance(unit_map, Map):
            found = await _find_nearest_to_locations(context, unit_map, [*ids.values()], options)
        for position, value in zip(ids, found, strict=True):
            values[position] = value
    return values


async def _find_nearest_to_locations(
    context: Context, unit_map: Map, ids: Sequence[str], options: _Options
) -> Sequence[list[NearLocation] | Exception]:
    """Return what is nearest to each location of a map, or why that cannot be found."""
    named_inputs = [("unit", distances.WaypointInput(id=strawberry.ID(id))) for id in ids]
    try:
        found = await _find_nearest(context, unit_map, named_inputs, options)
    except InvalidInputError as error:
        # Units on other maps keep theirs.
        return [error] * len(ids)
    return await load_near_locations(context, [each.found for each in found])


async def _find_nearest(
    context: Context,
    unit_map: Map,
    named_inputs: Sequence[tuple[str, distances.WaypointInput]],
    options: _Options,
) -> list[NearestFromSource]:
    """Return what is nearest to each waypoint. Raises InvalidInputError."""
    mode = options.mode or TravelMode.FOOT
    limit = DEFAULT_NEAREST if options.limit is None else options.limit
    searches = await start_searches(context, unit_map, named_inputs, mode, options.avoid)
    found = await find_nearest_from_each(context, searches, options.tags, limit)
    return [
        NearestFromSource(search.waypoint.id, search.waypoint.name, index, row)
        for index, (search, row) in enumerate(zip(searches, found, strict=True))
    ]


MAX_MINUTES = 60
MAX_REACHABLE = 1_000
DEFAULT_REACHABLE = 100

Limit = Annotated[
    int | None,
    argument("How many to return, nearest first.", Range(1, MAX_REACHABLE), example=20),
]


@dataclass(frozen=True, slots=True)
class Reachable:
    """What is within some minutes of a waypoint; its fields search for it."""

    search: Search
    minutes: float

    @property
    def mode(self) -> TravelMode:
        """The travel mode."""
        return self.search.mode


@dataclass(frozen=True, slots=True)
class NearUnit:
    """A unit, with the distance and time of the fastest route to its location."""

    unit: Unit
    distance: Annotated[float, "In feet."]
    time: Annotated[float, "In seconds."]


@dataclass(frozen=True, slots=True)
class ReachableArea:
    """The part of a floor that is within reach."""

    floor_id: str
    square_feet: float
    polygons: Annotated[
        list[list[list[Position]]],
        "Each is a list of rings: its outline, and the holes in it. A ring is a line of x, y in "
        "the map's own coordinates that ends where it begins.",
    ]


async def find_reachable(
    parent: strawberry.Parent[Map],
    info: Info,
    source: Start,
    minutes: Annotated[
        float, argument("How long to travel at most.", Range(0, MAX_MINUTES), example=2.5)
    ],
    mode: distances.Mode = TravelMode.FOOT,
    avoid: distances.Avoid = None,
) -> Reachable:
    """Find what is within some minutes of a waypoint: locations, units and areas."""
    travel_mode, named_inputs = mode or TravelMode.FOOT, [("from", source)]
    [search] = await start_searches(info.context, parent, named_inputs, travel_mode, avoid)
    return Reachable(search, minutes)


async def list_reachable_locations(
    parent: strawberry.Parent[Reachable],
    info: Info,
    tags: LocationTags = None,
    limit: Limit = DEFAULT_REACHABLE,
) -> list[NearLocation]:
    """List the locations within reach, nearest first; `tags` filters them."""
    count = DEFAULT_REACHABLE if limit is None else limit
    found = await find_nearest_from_each(
        info.context, [parent.search], tags, count, 60 * parent.minutes
    )
    [locations] = await load_near_locations(info.context, found)
    return locations


async def list_reachable_units(
    parent: strawberry.Parent[Reachable],
    info: Info,
    tags: LocationTags = None,
    limit: Limit = DEFAULT_REACHABLE,
) -> list[NearUnit]:
    """List the units of the locations within reach, nearest first; `tags` filters locations."""
    count = DEFAULT_REACHABLE if limit is None else limit
    seconds = 60 * parent.minutes
    [nearest] = await find_nearest_from_each(
        info.context, [parent.search], tags, MAX_CANDIDATES, seconds, of_units=True
    )
    found: dict[str | None, NearUnit] = {}
    # Several locations may stand for one unit, or for none that the key sees. As batches double,
    # any number of them takes few queries.
    size = max(count, DEFAULT_REACHABLE)
    while nearest and len(found) < count:
        batch, nearest = nearest[:size], nearest[size:]
        size *= 2
        [locations] = await load_near_locations(info.context, [batch])
        unit_ids = [get_unit_id(near.location) for near in locations]
        units = await info.context.load_in_order(UNITS, unit_ids)
        for unit_id, unit, near in zip(unit_ids, units, locations, strict=True):
            if unit is not None:
                found.setdefault(unit_id, NearUnit(unit, near.distance, near.time))
    return [*found.values()][:count]


async def list_reachable_areas(
    parent: strawberry.Parent[Reachable],
    info: Info,
    floor_id: Annotated[
        strawberry.ID | None,
        argument("Only on the floor with this id.", ID, example="alder-court-floor-1"),
    ] = None,
) -> list[ReachableArea]:
    """List the areas within reach, by floor; arcs are drawn up to half a foot too near."""
    search = parent.search
    isochrone = await distances.run_search(
        search.router.isochrone, search.start, 60 * parent.minutes, search.mode
    )
    scale = search.unit_map.feet_per_unit or 1.0
    # One at a time, and not in the thread of searches: areas of halls with thousands of corners
    # take half a second each.
    areas = [
        await run_in_thread(_draw_area, isochrone, level_id, scale)
        for level_id in isochrone.level_ids
        if floor_id in (None, level_id)
    ]
    return [area for area in areas if area.polygons]


def _draw_area(isochrone: "Isochrone", level_id: str, scale: float) -> ReachableArea:
    import numpy as np
    import shapely

    area = isochrone.area(level_id)
    polygons = [
        [
            (np.round(shapely.get_coordinates(ring) / scale, 3) + 0.0).tolist()
            for ring in (polygon.exterior, *polygon.interiors)
        ]
        for polygon in shapely.get_parts(area).tolist()
    ]
    return ReachableArea(level_id, distances.round_up(area.area), polygons)
