"""Regions: areas inside which points see each other, and where positions are attached to them."""

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
"""A level with more reflex corners is seen piece by piece, through points in its doors."""


@dataclass(frozen=True)
class Region:
    """An area of one level with the vertices that are seen inside it.

    `corners` are the vertices `corner_ids`, reflex corners of `area`; `point_ids` are vertices
    that paths may cross in any direction: points in doors, and the ends of connectors.
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
        """Which of the positions (n, 2) lie in the region, by their index."""
        return np.flatnonzero(shapely.intersects_xy(self.line_of_sight.area, xy[:, 0], xy[:, 1]))


class Attachment(NamedTuple):
    """Where a position joins the walkable space, and how far from there it lies."""

    x: float
    y: float
    offset_feet: float


def build_regions(
    floor: FloorSurface,
    openings: Sequence[Opening],
    free: Polygonal,
    max_corners: int = MAX_CORNERS,
) -> tuple[list[Region], FloatArray]:
    """The regions of a level and the positions (n, 2) of their vertices.

    One region, with all reflex corners, is exact. A level with more than `most_corners` has a
    region for each piece and three points in each door, which costs about 0.02 % of accuracy.
    """
    corners = find_corners(free)
    if len(corners) <= max_corners:
        ids, none = np.arange(len(corners)), np.empty(0, dtype=np.int64)
        screen = build_door_filter(floor.polygons, openings)
        return [Region(free, corners, ids, none, screen)], corners.xy
    return split_at_doors(floor, openings)


def split_at_doors(
    floor: FloorSurface, openings: Sequence[Opening]
) -> tuple[list[Region], FloatArray]:
    doors = [doorway_points(floor, opening) for opening in openings]
    points = np.concatenate(doors) if doors else np.empty((0, 2))
    door_of_point = np.repeat(np.arange(len(doors)), [len(door) for door in doors])
    regions: list[Region] = []
    positions, count = [points], len(points)
    for index, piece in enumerate(floor.pieces):
        own = [at for at, opening in enumerate(openings) if index in opening.piece_indexes]
        shapes = [openings[at].shape for at in own]
        area = to_polygonal(extract_polygons(shapely.union_all([piece.polygon, *shapes])))
        corners = find_corners(area)
        corner_ids = np.arange(count, count + len(corners))
        regions.append(
            Region(area, corners, corner_ids, np.flatnonzero(np.isin(door_of_point, own)))
        )
        positions.append(corners.xy)
        count += len(corners)
    return regions, np.concatenate(positions)


def doorway_points(floor: FloorSurface, opening: Opening) -> FloatArray:
    """The middle and both ends of the line in the doorway halfway between its two pieces."""
    one, other = (
        floor.polygons[index].intersection(opening.shape) for index in opening.piece_indexes
    )
    start, end = (shapely.get_coordinates(part.centroid)[0] for part in (one, other))
    middle, across = (start + end) / 2, end - start
    normal = np.array((-across[1], across[0])) / max(float(np.hypot(*across)), 1e-9)
    reach = 2 * opening.width_feet * normal
    line = shapely.LineString([middle - reach, middle + reach]).intersection(opening.shape)
    ends = shapely.get_coordinates(line)
    return np.stack((ends[0], middle, ends[-1])) if len(ends) >= 2 else middle[None, :]


def edges_within_regions(regions: Iterable[Region], xy: FloatArray) -> list[Edges]:
    """Edges between the vertices, at `xy` (n, 2), that see each other inside a region."""
    edges: list[Edges] = []
    for region in regions:
        own = edges_among_corners(region.line_of_sight, region.corners)
        edges.append(renumber_edges(own, region.corner_ids, region.corner_ids))
        points = xy[region.point_ids]
        edges.append(
            renumber_edges(
                edges_among_points(region.line_of_sight, points), *[region.point_ids] * 2
            )
        )
        seen = edges_to_corners(region.line_of_sight, points, region.corners)
        edges.append(renumber_edges(seen, region.point_ids, region.corner_ids))
    return edges


def edges_from_stops(
    regions: Iterable[Region], xy: FloatArray, stops: FloatArray, ids: IntArray
) -> list[Edges]:
    """Edges from `stops` (n, 2), vertices `ids`, to what they see, one another included."""
    edges: list[Edges] = []
    for region in regions:
        inside = region.indexes_inside(stops)
        points, own = stops[inside], ids[inside]
        edges.append(
            renumber_edges(
                edges_to_corners(region.line_of_sight, points, region.corners),
                own,
                region.corner_ids,
            )
        )
        edges.append(renumber_edges(edges_among_points(region.line_of_sight, points), own, own))
        seen = edges_between_points(region.line_of_sight, points, xy[region.point_ids])
        edges.append(renumber_edges(seen, own, region.point_ids))
    return edges


def edges_to_points(
    regions: Iterable[Region],
    stops: FloatArray,
    ids: IntArray,
    others: FloatArray,
    other_ids: IntArray,
) -> list[Edges]:
    """Edges from `stops` to those of `others` that they see, each (n, 2) with its vertices."""
    edges: list[Edges] = []
    for region in regions:
        inside, beside = region.indexes_inside(stops), region.indexes_inside(others)
        seen = edges_between_points(region.line_of_sight, stops[inside], others[beside])
        edges.append(renumber_edges(seen, ids[inside], other_ids[beside]))
    return edges


def renumber_edges(edges: Edges, first: IntArray, second: IntArray) -> Edges:
    return Edges(first[edges.first], second[edges.second], edges.feet)


def attach(
    free: Polygonal, rooms: Sequence[Polygonal], x: float, y: float, within_feet: float
) -> Attachment | None:
    """Where the position (x, y) joins `free`: where it is, or at the nearest point.

    A position inside a room joins the floor of that room before any that is nearer through a
    wall. None if nothing walkable lies `within_feet`.
    """
    point = Point(x, y)
    if shapely.intersects_xy(free, x, y):
        return Attachment(x, y, 0.0)
    around = [room.intersection(free) for room in rooms if room.covers(point)]
    for area in [*sorted(around, key=lambda shape: shape.area), free]:
        if area.is_empty:
            continue
        nearest = nearest_points(area, point)[0]
        if (offset_feet := nearest.distance(point)) <= within_feet:
            return Attachment(nearest.x, nearest.y, offset_feet)
    return None
