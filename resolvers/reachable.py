"""Resolvers of what is within some minutes of a waypoint: locations, units and areas."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import strawberry

from resolvers import routes
from resolvers.distances import Mode, round_up
from resolvers.locations import LocationTags, get_unit_id
from resolvers.networks.waypoints import Avoid, run_search
from resolvers.request.context import Info
from resolvers.request.inputs import ID, Range, argument
from resolvers.request.threads import run_in_thread
from routing.values import TravelMode
from storage.catalog import UNITS, Map, Unit

if TYPE_CHECKING:
    from routing.search.isochrone import Isochrone

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

    search: routes.Search
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
        list[list[list[list[float]]]],
        "Each is a list of rings: its outline, and the holes in it. A ring is a line of x, y in "
        "the map's own coordinates that ends where it begins.",
    ]


async def find_reachable(
    parent: strawberry.Parent[Map],
    info: Info,
    source: routes.Start,
    minutes: Annotated[
        float, argument("How long to travel at most.", Range(0, MAX_MINUTES), example=2.5)
    ],
    mode: Mode = TravelMode.FOOT,
    avoid: Avoid = None,
) -> Reachable:
    """Find what is within some minutes of a waypoint: locations, units and areas."""
    search = await routes.start_search(info.context, parent, source, mode or TravelMode.FOOT, avoid)
    return Reachable(search, minutes)


async def list_reachable_locations(
    parent: strawberry.Parent[Reachable],
    info: Info,
    tags: LocationTags = None,
    limit: Limit = DEFAULT_REACHABLE,
) -> list[routes.NearLocation]:
    """List the locations within reach, nearest first; `tags` filters them."""
    count = DEFAULT_REACHABLE if limit is None else limit
    return await routes.list_nearest(info.context, parent.search, tags, count, 60 * parent.minutes)


async def list_reachable_units(
    parent: strawberry.Parent[Reachable],
    info: Info,
    tags: LocationTags = None,
    limit: Limit = DEFAULT_REACHABLE,
) -> list[NearUnit]:
    """List the units of the locations within reach, nearest first; `tags` filters locations."""
    count = DEFAULT_REACHABLE if limit is None else limit
    nearest = await routes.find_nearest(
        info.context, parent.search, tags, routes.MAX_CANDIDATES, 60 * parent.minutes, of_units=True
    )
    found: dict[str | None, NearUnit] = {}
    # Several locations may stand for one unit, or for none that the key sees. As batches double,
    # any number of them takes few queries.
    size = max(count, DEFAULT_REACHABLE)
    while nearest and len(found) < count:
        batch, nearest = nearest[:size], nearest[size:]
        size *= 2
        locations = await routes.load_near_locations(info.context, batch)
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
        strawberry.ID | None, argument("Only on the floor with this id.", ID)
    ] = None,
) -> list[ReachableArea]:
    """List the areas within reach, by floor; arcs are drawn up to half a foot too near."""
    search = parent.search
    isochrone = await run_search(
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
    return ReachableArea(level_id, round_up(area.area), polygons)
