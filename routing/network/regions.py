"""Regions: the areas of a level within which visibility is computed.

A level is one region unless it has too many corners; then each floor piece is a region, and regions
are joined through points in their doors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import shapely
from shapely import Point
from shapely.ops import nearest_points

from routing.arrays import FloatArray, IntArray
from routing.network.door_filter import DoorFilter, build_door_filter
from routing.network.visibility import (
    Corners,
    Edges,
    LineOfSight,
    edges_among_corners,
    edges_among_points,
    edges_between_points,
    edges_to_corners,
    find_corners,
)
from routing.plan import Polygonal
from routing.space.doors import Opening
from routing.space.floor import FloorSurface
from routing.space.plan_repair import extract_polygons, to_polygonal

MAX_CORNERS = 1_500
"""A level with more reflex corners is split into one region per floor piece."""


@dataclass(frozen=True)
class Region:
    """An area of one level and the graph vertices in it.

    `corners` are the reflex corners of `area`, vertices `corner_ids` of the graph. `point_ids` are
    vertices that a path may cross in any direction: points in doors to other regions.
    """

    area: Polygonal
    corners: Corners
    corner_ids: IntArray
    point_ids: IntArray
    door_filter: DoorFilter | None = None

    @cached_property
    def line_of_sight(self) -> LineOfSight:
        return LineOfSight(self.area, self.door_filter)

    def indexes_inside(self, xy: FloatArray) -> IntArray:
        """Return the indexes of the positions (n, 2) that lie in the region."""
        # The area of the line of sight is wider by a tolerance: rounding moves no point on its edge
        # out.
        return np.flatnonzero(shapely.intersects_xy(self.line_of_sight.area, xy[:, 0], xy[:, 1]))


class Attachment(NamedTuple):
    """The point where a position joins the walkable area, and its distance from there."""

    x: float
    y: float
    offset_feet: float


def build_regions(
    floor: FloorSurface,
    openings: Sequence[Opening],
    walkable_area: Polygonal,
    max_corners: int = MAX_CORNERS,
) -> tuple[list[Region], FloatArray]:
    """Return the regions of a level and the positions (n, 2) of their vertices.

    One region gives exact distances. A level with more than `max_corners` gets a region per floor
    piece and three points per door. A walk on it is too long by at most half the width of each door
    on the way: nowhere in a door is the nearest point further than a quarter of its width.
    """
    corners = find_corners(walkable_area)
    if len(corners) <= max_corners:
        corner_ids, no_points = np.arange(len(corners)), np.empty(0, dtype=np.int64)
        door_filter = build_door_filter(floor.polygons, openings)
        return [Region(walkable_area, corners, corner_ids, no_points, door_filter)], corners.xy
    return split_at_doors(floor, openings)


def split_at_doors(
    floor: FloorSurface, openings: Sequence[Opening]
) -> tuple[list[Region], FloatArray]:
    """Return one region per floor piece, which includes its doors; see `build_regions`."""
    doors = [doorway_points(floor, opening) for opening in openings]
    points = np.concatenate(doors) if doors else np.empty((0, 2))
    door_of_point = np.repeat(np.arange(len(doors)), [len(door) for door in doors])
    regions: list[Region] = []
    positions, count = [points], len(points)
    for index, piece in enumerate(floor.pieces):
        own = [door for door, opening in enumerate(openings) if index in opening.piece_indexes]
        shapes = [openings[door].shape for door in own]
        area = to_polygonal(extract_polygons(shapely.union_all([piece.polygon, *shapes])))
        corners = find_corners(area)
        corner_ids = np.arange(count, count + len(corners))
        point_ids = np.flatnonzero(np.isin(door_of_point, own))
        regions.append(Region(area, corners, corner_ids, point_ids))
        positions.append(corners.xy)
        count += len(corners)
    return regions, np.concatenate(positions)


def doorway_points(floor: FloorSurface, opening: Opening) -> FloatArray:
    """Return both ends and the middle of the threshold, halfway between the door's two pieces."""
    overlaps = (
        floor.polygons[index].intersection(opening.shape) for index in opening.piece_indexes
    )
    # Not their centroids: a pillar in front of a part of the door would turn the threshold.
    start, end = (shapely.get_coordinates(point)[0] for point in nearest_points(*overlaps))
    middle, across = (start + end) / 2, end - start
    # The lower bound avoids a division by zero if one piece is on both sides of the door.
    normal = np.array((-across[1], across[0])) / max(float(np.hypot(*across)), 1e-9)
    # Not the width, which may be less than what is drawn.
    reach = opening.shape.length * normal
    line = shapely.LineString([middle - reach, middle + reach]).intersection(opening.shape)
    ends = shapely.get_coordinates(line)
    points = (ends[0], (ends[0] + ends[-1]) / 2, ends[-1]) if len(ends) >= 2 else (middle,)
    return np.stack(points)


def edges_within_regions(regions: Iterable[Region], xy: FloatArray) -> list[Edges]:
    """Return edges between vertices, at `xy` (n, 2), that see each other inside a region."""
    edges: list[Edges] = []
    for region in regions:
        sight, corner_ids, point_ids = region.line_of_sight, region.corner_ids, region.point_ids
        points = xy[point_ids]
        among_corners = edges_among_corners(sight, region.corners)
        among_points = edges_among_points(sight, points)
        to_corners = edges_to_corners(sight, points, region.corners)
        edges += [
            renumber_edges(among_corners, corner_ids, corner_ids),
            renumber_edges(among_points, point_ids, point_ids),
            renumber_edges(to_corners, point_ids, corner_ids),
        ]
    return edges


def edges_from_stops(
    regions: Iterable[Region], xy: FloatArray, stops: FloatArray, ids: IntArray
) -> list[Edges]:
    """Return edges from `stops` (n, 2), vertices `ids`, to what they see, also one another.

    `xy` (m, 2) are the positions of the regions' own vertices.
    """
    edges: list[Edges] = []
    for region in regions:
        sight, point_ids = region.line_of_sight, region.point_ids
        inside = region.indexes_inside(stops)
        points, own_ids = stops[inside], ids[inside]
        to_corners = edges_to_corners(sight, points, region.corners)
        among_stops = edges_among_points(sight, points)
        to_points = edges_between_points(sight, points, xy[point_ids])
        edges += [
            renumber_edges(to_corners, own_ids, region.corner_ids),
            renumber_edges(among_stops, own_ids, own_ids),
            renumber_edges(to_points, own_ids, point_ids),
        ]
    return edges


def edges_to_points(
    regions: Iterable[Region],
    stops: FloatArray,
    ids: IntArray,
    others: FloatArray,
    other_ids: IntArray,
) -> list[Edges]:
    """Return edges from `stops` (n, 2) to the `others` (m, 2) that they see."""
    edges: list[Edges] = []
    for region in regions:
        inside, others_inside = region.indexes_inside(stops), region.indexes_inside(others)
        visible = edges_between_points(region.line_of_sight, stops[inside], others[others_inside])
        edges.append(renumber_edges(visible, ids[inside], other_ids[others_inside]))
    return edges


def renumber_edges(edges: Edges, first: IntArray, second: IntArray) -> Edges:
    """Return edges with indexes replaced by the graph's vertices `first` and `second`."""
    return Edges(first[edges.first], second[edges.second], edges.feet)


def attach(
    walkable_area: Polygonal, rooms: Sequence[Polygonal], x: float, y: float, within_feet: float
) -> Attachment | None:
    """Return where (x, y) joins the walkable area: at itself, else at the nearest point.

    A position in a room joins that room's floor, even if other floor is nearer through a wall.
    Returns None if nothing walkable lies within `within_feet`.
    """
    point = Point(x, y)
    if shapely.intersects_xy(walkable_area, x, y):
        return Attachment(x, y, 0.0)
    own_rooms = [room.intersection(walkable_area) for room in rooms if room.covers(point)]
    # Smallest first: a position in a room within a room belongs to the inner one.
    for area in [*sorted(own_rooms, key=lambda shape: shape.area), walkable_area]:
        if area.is_empty:
            continue
        nearest = nearest_points(area, point)[0]
        if (offset_feet := nearest.distance(point)) <= within_feet:
            return Attachment(nearest.x, nearest.y, offset_feet)
    return None
