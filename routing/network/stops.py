"""Stops: positions on levels, and where they join the walkable area."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import shapely
from shapely import Point, STRtree
from shapely.geometry.base import BaseGeometry

from routing.arrays import BoolArray, FloatArray, IntArray
from routing.network.levels import Levels, unpack_rooms
from routing.network.locator import OUTSIDE
from routing.network.packing import unpack_shapes
from routing.plan import Polygonal

UNKNOWN_LEVEL = -1
EVERYWHERE = -1
"""Instead of the index of a room."""
MAX_ROOM_FLOORS = 256
"""Levels of all maps whose rooms are kept unpacked; each takes some 100 kB."""


@dataclass(frozen=True)
class Stops:
    """Positions `xy` (n, 2) on `levels` (n,), by number, or on UNKNOWN_LEVEL.

    Each joins the walkable area at `near` (n, 2), `offset_feet` (n,) away, in a triangle of the
    level's mesh. The triangle is OUTSIDE if nothing walkable is near.
    """

    levels: IntArray
    xy: FloatArray
    near: FloatArray
    offset_feet: FloatArray
    triangles: IntArray

    def __len__(self) -> int:
        return len(self.levels)

    @property
    def are_attached(self) -> BoolArray:
        return np.asarray(self.triangles != OUTSIDE)

    def take(self, chosen: IntArray) -> Stops:
        return Stops(
            self.levels[chosen],
            self.xy[chosen],
            self.near[chosen],
            self.offset_feet[chosen],
            self.triangles[chosen],
        )


def join_stops(parts: Sequence[Stops]) -> Stops:
    """Return all stops of some parts in their order."""
    return Stops(
        np.concatenate([part.levels for part in parts]),
        np.concatenate([part.xy for part in parts]),
        np.concatenate([part.near for part in parts]),
        np.concatenate([part.offset_feet for part in parts]),
        np.concatenate([part.triangles for part in parts]),
    )


def stops_outside(levels: IntArray, xy: FloatArray) -> Stops:
    """Return stops at positions (n, 2) that are near no walkable area."""
    outside = np.full(len(xy), OUTSIDE, dtype=np.int64)
    return Stops(levels, xy, xy, np.zeros(len(xy)), outside)


def attach(levels: Levels, numbers: IntArray, xy: FloatArray, within_feet: float) -> Stops:
    """Return stops at positions (n, 2) of levels (n,), joined to the walkable area.

    Those outside join its nearest point. A position in a room joins that room's floor, even if
    other floor is nearer through a wall. Nothing that is farther than `within_feet` is near, and
    neither is anything on UNKNOWN_LEVEL.
    """
    known = numbers != UNKNOWN_LEVEL
    stops = stops_outside(numbers, xy)
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
