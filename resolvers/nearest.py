"""Resolvers of what is nearest to several waypoints of a map, and to units.

Those on one map share one computation: its tags are looked up once, and a matrix has a row for each
start.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import strawberry

from resolvers.distances import Mode, WaypointId, WaypointIndex
from resolvers.locations import LOCATIONS_OF_UNIT, LocationTags
from resolvers.networks.waypoints import Avoid, Avoidable, WaypointInput
from resolvers.request.context import Context, Info
from resolvers.request.errors import InvalidInputError
from resolvers.request.inputs import ID, Items, PageArguments, argument
from resolvers.request.listing import batch_resolver
from resolvers.routes import (
    DEFAULT_NEAREST,
    NearestLimit,
    NearLocation,
    find_nearest_from_each,
    start_searches,
    to_near_locations,
)
from routing.values import NearestLocation, TravelMode
from storage.catalog import LOCATIONS, MAPS, Location, Map, Unit

MAX_NEAREST_SOURCES = 20


@dataclass(frozen=True, slots=True)
class NearestFromSource:
    """One of several waypoints, with the locations nearest to it."""

    waypoint_id: WaypointId
    name: str | None
    index: WaypointIndex
    found: list[NearestLocation]


class _Options(NamedTuple):
    """The arguments of a field, for all of its starts."""

    tags: str | None
    limit: int | None
    mode: TravelMode | None
    avoid: list[Avoidable] | None


async def find_nearest_from_sources(
    parent: strawberry.Parent[Map],
    info: Info,
    sources: Annotated[
        list[WaypointInput],
        argument(
            "Where to start.",
            Items(1, MAX_NEAREST_SOURCES, "waypoints"),
            example=[{"id": "l4xusy2pgwt"}],
        ),
    ],
    tags: LocationTags = None,
    limit: NearestLimit = DEFAULT_NEAREST,
    mode: Mode = TravelMode.FOOT,
    avoid: Avoid = None,
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
    return await _load_locations(info.context, parents)


@batch_resolver
async def find_nearest_to_unit(
    parents: Sequence[Unit],
    info: Info,
    map: Annotated[strawberry.ID | None, argument("Start on the map with this id.", ID)] = None,
    tags: LocationTags = None,
    limit: NearestLimit = DEFAULT_NEAREST,
    mode: Mode = TravelMode.FOOT,
    avoid: Avoid = None,
) -> list[list[NearLocation] | Exception | None]:
    """List the nearest locations of a unit by walking time; null if no location stands for it.

    It starts where `location` is: on one map, or the first on any map.
    """
    context, options = info.context, _Options(tags, limit, mode, avoid)
    keys = [(parent.id, parent.asset_id, map or "") for parent in parents]
    pages = await context.load_pages(LOCATIONS_OF_UNIT, keys, PageArguments(1, 1))
    # In the place of a damaged record is an exception, which stays.
    values: list[Any] = [page.data[0] if page.data else None for page in pages]
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
    named_inputs = [("unit", WaypointInput(id=strawberry.ID(id))) for id in ids]
    try:
        found = await _find_nearest(context, unit_map, named_inputs, options)
    except InvalidInputError as error:
        # Units on other maps keep theirs.
        return [error] * len(ids)
    return await _load_locations(context, found)


async def _find_nearest(
    context: Context,
    unit_map: Map,
    named_inputs: Sequence[tuple[str, WaypointInput]],
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


async def _load_locations(
    context: Context, sources: Sequence[NearestFromSource]
) -> list[list[NearLocation]]:
    """Return the records of what is nearest to each source, read with one command."""
    ids = [near.location_id for each in sources for near in each.found]
    locations = await context.load_by_id(LOCATIONS, ids)
    return [to_near_locations(each.found, locations) for each in sources]
