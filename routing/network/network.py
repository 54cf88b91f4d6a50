"""The network of a map in one travel mode: a graph per level, portals, links and locations.

Locations are stops: positions on levels, and where they join the walkable area.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import compress
from operator import itemgetter
from typing import NamedTuple

import numpy as np
import shapely
from shapely import Point, STRtree
from shapely.geometry.base import BaseGeometry

from routing.arrays import ArrayTable, BoolArray, FloatArray, IntArray, unpack_shapes
from routing.costing import Costing, RideCost, TravelMode
from routing.network.levels import (
    MAX_EXACT_CORNERS,
    Levels,
    build_levels,
    draft_level,
    join_levels,
    unpack_rooms,
)
from routing.network.mesh import MAX_COARSE_CORNERS, OUTSIDE, PUBLIC
from routing.network.portals import (
    Link,
    Portal,
    PortalPaths,
    find_entry_point,
    find_fastest_paths,
    link_doors,
    list_links,
    portals_on_level,
)
from routing.plan import ConnectorKind, Plan, PlanLocation, Polygonal
from routing.space.walkable import WalkableLevel

UNKNOWN_LEVEL = -1
EVERYWHERE = -1
"""It stands for the index of a room where all floor is meant."""
MAX_ROOM_FLOORS = 256
"""Levels of all maps whose rooms are kept unpacked; each takes some 100 kB."""


@dataclass(frozen=True)
class Stops(ArrayTable):
    """Positions `xy` (n, 2) on `levels` (n,), by number, or on UNKNOWN_LEVEL.

    Each joins the walkable area at `near` (n, 2), `offset_feet` (n,) away, in a triangle of the
    level's mesh. The triangle is OUTSIDE if nothing walkable is near.
    """

    levels: IntArray
    xy: FloatArray
    near: FloatArray
    offset_feet: FloatArray
    triangles: IntArray

    @property
    def are_attached(self) -> BoolArray:
        return np.asarray(self.triangles != OUTSIDE)


def attach(levels: Levels, numbers: IntArray, xy: FloatArray, within_feet: float) -> Stops:
    """Return stops at positions (n, 2) of levels (n,), joined to the walkable area.

    Those outside join its nearest point. A position in a room joins that room's floor, even if
    other floor is nearer through a wall. Nothing that is farther than `within_feet` is near, and
    neither is anything on UNKNOWN_LEVEL.
    """
    known = numbers != UNKNOWN_LEVEL
    outside = np.full(len(xy), OUTSIDE, dtype=np.int64)
    stops = Stops(numbers, xy, xy, np.zeros(len(xy)), outside)
    if not known.any():
        return stops
    stops.triangles[known] = levels.mesh.locate(xy[known], numbers[known])
    beside = np.flatnonzero(~stops.are_attached & known)
    if not len(beside):
        return stops
    near = xy.copy()
    for level in np.unique(numbers[beside]).tolist():
        packed = levels.walkable_areas, levels.spaces, levels.space_rows
        floor = find_floor(*(lists.packed(level) for lists in packed))
        own = beside[numbers[beside] == level]
        near[own] = floor.find_nearest(xy[own], within_feet)
        stops.offset_feet[own] = np.hypot(*(near[own] - xy[own]).T)
    stops.triangles[beside] = levels.mesh.locate(near[beside], numbers[beside])
    return replace(stops, near=near)


class RoomFloors:
    """The floor of a level, and of each of its rooms that is asked for."""

    def __init__(self, walkable_area: Polygonal, rooms: Sequence[Polygonal]) -> None:
        # Smallest first: a position in a room within a room belongs to the inner one.
        self._rooms = sorted(rooms, key=lambda room: room.area)
        self._tree = STRtree(self._rooms)
        # The first use builds the index, which several threads must not do at once.
        self._tree.query(Point())
        self._walkable_area = walkable_area
        self._areas: dict[int, BaseGeometry] = {}
        shapely.prepare(self._walkable_area)

    def find_nearest(self, xy: FloatArray, within_feet: float) -> FloatArray:
        """Return the floor that each position (n, 2) joins, or itself if none is near."""
        near = xy.copy()
        points = np.asarray(shapely.points(xy))
        places, rooms = self._tree.query(points, predicate="covered_by")
        order = np.lexsort((rooms, places))
        choices = [(place, room) for place, room in zip(places[order], rooms[order], strict=True)]
        choices += [(place, EVERYWHERE) for place in range(len(xy))]
        is_joined = np.zeros(len(xy), dtype=bool)
        for place, room in choices:
            if not is_joined[place]:
                line = shapely.shortest_line(self._area(room), points[place])
                # There is none to an empty area, and NaN is not near.
                if shapely.length(line) <= within_feet:
                    near[place], is_joined[place] = shapely.get_coordinates(line)[0], True
        return near

    def _area(self, room: int) -> BaseGeometry:
        """Return the floor of a room, given by index, or all floor if it is EVERYWHERE."""
        if room == EVERYWHERE:
            return self._walkable_area
        if room not in self._areas:
            shape = self._rooms[room]
            # Several times as fast as an intersection, and all that a rectangle needs.
            within = shapely.clip_by_rect(self._walkable_area, *shape.bounds)
            is_rectangle = shape.equals(shape.envelope)
            self._areas[room] = within if is_rectangle else shape.intersection(self._walkable_area)
        return self._areas[room]


@lru_cache(maxsize=MAX_ROOM_FLOORS)
def find_floor(walkable_area: bytes, spaces: bytes, space_rows: bytes) -> RoomFloors:
    """Return the floor of a level, from what `Levels` has of it, as it is packed."""
    return RoomFloors(unpack_shapes(walkable_area)[0], unpack_rooms(spaces, space_rows))


SAME_WALL_FEET = 1e-3


class ConnectorInfo(NamedTuple):
    """The part of a connector that a route shows."""

    id: str
    kind: ConnectorKind
    name: str


class LocationIds(tuple[str, ...]):
    """The ids of locations, and where each is among them: shared by all networks and tables."""

    @cached_property
    def positions(self) -> dict[str, int]:
        return {location_id: position for position, location_id in enumerate(self)}


@dataclass(frozen=True)
class Network:
    """A map in one travel mode. Indexes of portals and locations refer to its tuples.

    Its levels are those with the `level_numbers` (l,) among `levels`, in the order of the plan;
    the networks of a map share those in which they do not differ.
    """

    mode: TravelMode
    costing: Costing
    levels: Levels
    level_numbers: IntArray
    portals: tuple[Portal, ...]
    links: tuple[Link, ...]
    connectors: tuple[ConnectorInfo, ...]
    location_ids: LocationIds
    locations: Stops
    portal_paths: PortalPaths
    whole: Network | None = None
    """The network that this one is a part of, with the same levels by number."""
    closed_areas: Mapping[int, Polygonal] = field(default_factory=dict)
    """Floor of levels, by number, that nothing leads to."""

    @property
    def feet_per_second(self) -> float:
        return self.costing.feet_per_second(self.mode)

    @cached_property
    def level_ids(self) -> tuple[str, ...]:
        """The ids of the levels, in the order of the plan."""
        return tuple(self.levels.ids[number] for number in self.level_numbers)

    @cached_property
    def level_index(self) -> dict[str, int]:
        """The numbers of levels by id."""
        return {self.levels.ids[number]: number for number in self.level_numbers.tolist()}

    @cached_property
    def link_starts(self) -> IntArray:
        """The portals that a link leads from, in ascending order."""
        return np.unique(np.array([link.start for link in self.links], dtype=np.int64))

    @cached_property
    def link_ends(self) -> IntArray:
        """The portals that a link leads to, in ascending order."""
        return np.unique(np.array([link.end for link in self.links], dtype=np.int64))

    @cached_property
    def link_feet(self) -> dict[tuple[int, int], float]:
        """The lengths of links by their portals."""
        return {(link.start, link.end): link.cost.feet for link in self.links}

    @cached_property
    def portal_regions(self) -> IntArray:
        """The guarded regions of the portals (p,), or PUBLIC."""
        return find_portal_regions(self.levels, self.level_numbers, len(self.portals))

    @property
    def location_index(self) -> dict[str, int]:
        return self.location_ids.positions

    @cached_property
    def attached_ids(self) -> frozenset[str]:
        """The ids of locations that are on the walkable area, or near enough to it."""
        attached = self.locations.are_attached.tolist()
        return frozenset(compress(self.location_ids, attached))

    def attach(self, levels: IntArray, xy: FloatArray) -> Stops:
        """Return stops at positions (n, 2) on levels (n,), by number."""
        if self.whole is None:
            return attach(self.levels, levels, xy, self.costing.attach_feet)
        return self.keep_attached(self.whole.attach(levels, xy))

    def keep_attached(self, stops: Stops) -> Stops:
        """Return stops of the whole network, detached where that floor is closed.

        What is left joins the walkable area where it did, so that no path is shorter.
        """
        kept = stops.are_attached
        for level, area in self.closed_areas.items():
            kept &= ~(shapely.contains_xy(area, *stops.xy.T) & (stops.levels == level))
        near, triangles = stops.near.copy(), np.full(len(stops), OUTSIDE, dtype=np.int64)
        for level in self.closed_areas:
            own = np.flatnonzero(kept & (stops.levels == level))
            area = self.levels.walkable_area(level)
            lines = np.asarray(shapely.shortest_line(area, shapely.points(near[own])))
            # Rounding, or a tolerance, has moved the walls a little.
            on_floor = shapely.length(lines) <= self.levels.tolerances_feet[level] + SAME_WALL_FEET
            near[own[on_floor]] = shapely.get_coordinates(shapely.get_point(lines[on_floor], 0))
            kept[own[~on_floor]] = False
        triangles[kept] = self.levels.mesh.locate(near[kept], stops.levels[kept])
        return replace(stops, near=near, triangles=triangles)


def build_network(
    plan: Plan,
    walkable: Sequence[WalkableLevel],
    mode: TravelMode,
    costing: Costing,
    foot: Network | None = None,
) -> Network:
    """Return the network of a repaired plan over its walkable levels, in the plan's order.

    Given the network on `foot`, its levels come first among those of the network, which has levels
    of its own only where `mode` does not pass all doors.
    """
    openings = [level.passable_openings(mode, costing) for level in walkable]
    areas = [
        level.walkable_area((opening for opening in own if opening.one_way is None), mode)
        for level, own in zip(walkable, openings, strict=True)
    ]
    speed = costing.feet_per_second(mode)
    portals = find_portals(plan, walkable, areas, costing)
    ways = link_doors(portals, walkable, areas, openings)
    parts = [] if foot is None else [foot.levels]
    numbers = [] if foot is None else foot.level_numbers.tolist()
    # Portals depend on the walkable area. With other portals, the indexes in its levels are wrong.
    key = itemgetter(0, 1, 4)  # all but the place
    shares_levels = foot is not None and [*map(key, foot.portals)] == [*map(key, portals)]
    drafts, count = [], sum(map(len, parts))
    for index, (level, area) in enumerate(zip(walkable, areas, strict=True)):
        if not shares_levels or not level.are_all_passable(mode, costing):
            spaces = [space for space in plan.spaces if space.level_id == level.level.id]
            on_level = portals_on_level(portals, index)
            # What was too much work on foot would be too much again.
            is_coarse = foot is not None and foot.levels.tolerances_feet[numbers[index]] > 0
            max_corners = MAX_COARSE_CORNERS if is_coarse else MAX_EXACT_CORNERS
            own = level.level, area, spaces, openings[index], *on_level
            drafts.append(draft_level(*own, max_corners, level.private))
            numbers[index : index + 1] = [count]
            count += 1
    levels = join_levels([*parts, *build_levels(drafts)])
    level_numbers = np.array(numbers, dtype=np.int64)
    for level in numbers:
        xy = levels.xy[levels.portal_vertices(level)].tolist()
        # Walls that were simplified have moved them.
        for portal, (x, y) in zip(levels.portals[level].tolist(), xy, strict=False):
            portals[portal] = portals[portal]._replace(x=x, y=y)
    ordinals = [level.ordinal for level in plan.levels]
    links = list_links(portals, plan.connectors, ordinals, mode, costing)
    for start, end in ways:
        feet = math.dist(portals[start][2:4], portals[end][2:4])
        links.append(Link(start, end, RideCost(feet, feet / speed)))
    return Network(
        mode,
        costing,
        levels,
        level_numbers,
        tuple(portals),
        tuple(links),
        tuple(ConnectorInfo(c.id, c.kind, c.name) for c in plan.connectors),
        LocationIds(location.id for location in plan.locations),
        attach_locations(levels, level_numbers, plan.locations, costing.attach_feet),
        compute_portal_paths(levels, level_numbers, portals, links, speed),
    )


def attach_locations(
    levels: Levels,
    level_numbers: IntArray,
    locations: Sequence[PlanLocation],
    within_feet: float,
) -> Stops:
    """Return the stops of locations, in their order."""
    numbers = {levels.ids[number]: number for number in level_numbers.tolist()}
    own = np.array([numbers[location.level_id] for location in locations], dtype=np.int64)
    xy = np.array([(location.x, location.y) for location in locations], dtype=np.float64)
    return attach(levels, own, xy.reshape(-1, 2), within_feet)


def compute_portal_paths(
    levels: Levels,
    level_numbers: IntArray,
    portals: Sequence[Portal],
    links: Sequence[Link],
    feet_per_second: float,
) -> PortalPaths:
    """Return the fastest paths between all portals."""
    walks_feet = np.full((len(portals), len(portals)), np.inf)
    for level in level_numbers.tolist():
        vertices = levels.portal_vertices(level)
        own = levels.portals[level, : len(vertices)]
        walks_feet[np.ix_(own, own)] = levels.portal_feet[: len(own), vertices]
    regions = find_portal_regions(levels, level_numbers, len(portals))
    return find_fastest_paths(walks_feet, links, feet_per_second, regions)


def find_portal_regions(levels: Levels, level_numbers: IntArray, count: int) -> IntArray:
    """Return the guarded regions of the portals of a network, or PUBLIC."""
    regions = np.full(count + 1, PUBLIC)
    # Levels with fewer portals than others have NO_PORTAL, which is the last.
    regions[levels.portals[level_numbers]] = levels.portal_regions[level_numbers]
    return regions[:-1]


def find_portals(
    plan: Plan, walkable: Sequence[WalkableLevel], areas: Sequence[Polygonal], costing: Costing
) -> list[Portal]:
    """Return a portal for every connector entrance that has floor near it."""
    level_index = {level.id: index for index, level in enumerate(plan.levels)}
    portals: list[Portal] = []
    for connector_index, connector in enumerate(plan.connectors):
        for level_id, entrance in connector.entrances.items():
            index = level_index[level_id]
            floor, area = walkable[index].floor, areas[index]
            entry = find_entry_point(floor, area, entrance, costing.attach_feet)
            if entry is not None:
                portals.append(Portal(index, connector_index, *entry))
    return portals
