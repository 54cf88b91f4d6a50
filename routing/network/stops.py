"""Stops: positions on levels, and where they join the walkable area."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from shapely import Point
from shapely.ops import nearest_points

from routing.arrays import BoolArray, FloatArray, IntArray
from routing.network.levels import Levels
from routing.network.locator import OUTSIDE
from routing.plan import Polygonal

UNKNOWN_LEVEL = -1


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
        area, rooms = levels.walkable_area(level), levels.rooms(level)
        for index in beside[numbers[beside] == level].tolist():
            nearest = _find_nearest(area, rooms, Point(xy[index]), within_feet)
            if nearest is not None:
                near[index] = nearest.x, nearest.y
                stops.offset_feet[index] = nearest.distance(Point(xy[index]))
    stops.triangles[beside] = levels.mesh.locate(near[beside], numbers[beside])
    return replace(stops, near=near)


def _find_nearest(
    walkable_area: Polygonal, rooms: Sequence[Polygonal], point: Point, within_feet: float
) -> Point | None:
    own_rooms = [room.intersection(walkable_area) for room in rooms if room.covers(point)]
    # Smallest first: a position in a room within a room belongs to the inner one.
    for area in [*sorted(own_rooms, key=lambda shape: shape.area), walkable_area]:
        if area.is_empty:
            continue
        nearest = nearest_points(area, point)[0]
        if nearest.distance(point) <= within_feet:
            return nearest
    return None
