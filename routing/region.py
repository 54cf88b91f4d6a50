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

from routing.doors import Opening
from routing.floor import Floor
from routing.plan import Area
from routing.screen import Screen, build_screen
from routing.soundness import as_area, polygons_of
from routing.visibility import (
    Corners,
    Edges,
    Floats,
    Ints,
    Sight,
    find_corners,
    see_across,
    see_corners,
    see_each_other,
    see_from,
)

MOST_CORNERS = 1_500
"""A level with more reflex corners is seen piece by piece, through points in its doors."""


@dataclass(frozen=True)
class Region:
    """An area of one level with the vertices that are seen inside it.

    `corners` are the vertices `corner_ids`, reflex corners of `area`; `point_ids` are vertices
    that paths may cross in any direction: points in doors, and the ends of connectors.
    """

    area: Area
    corners: Corners
    corner_ids: Ints
    point_ids: Ints
    screen: Screen | None = None

    @cached_property
    def sight(self) -> Sight:
        return Sight(self.area, self.screen)

    def inside(self, xy: Floats) -> Ints:
        """Which of the positions (n, 2) lie in the region, by their index."""
        return np.flatnonzero(shapely.intersects_xy(self.sight.area, xy[:, 0], xy[:, 1]))


class Attachment(NamedTuple):
    """Where a position joins the walkable space, and how far from there it lies."""

    x: float
    y: float
    leg_feet: float


def find_regions(
    floor: Floor, openings: Sequence[Opening], free: Area, most_corners: int = MOST_CORNERS
) -> tuple[list[Region], Floats]:
    """The regions of a level and the positions (n, 2) of their vertices.

    One region, with all reflex corners, is exact. A level with more than `most_corners` has a
    region for each piece and three points in each door, which costs about 0.02 % of accuracy.
    """
    corners = find_corners(free)
    if len(corners) <= most_corners:
        ids, none = np.arange(len(corners)), np.empty(0, dtype=np.int64)
        screen = build_screen(floor.polygons, openings)
        return [Region(free, corners, ids, none, screen)], corners.xy
    return split_at_doors(floor, openings)


def split_at_doors(floor: Floor, openings: Sequence[Opening]) -> tuple[list[Region], Floats]:
    doors = [points_in_door(floor, opening) for opening in openings]
    points = np.concatenate(doors) if doors else np.empty((0, 2))
    door_of_point = np.repeat(np.arange(len(doors)), [len(door) for door in doors])
    regions: list[Region] = []
    positions, count = [points], len(points)
    for index, piece in enumerate(floor.pieces):
        own = [at for at, opening in enumerate(openings) if index in opening.joins]
        shapes = [openings[at].shape for at in own]
        area = as_area(polygons_of(shapely.union_all([piece.polygon, *shapes])))
        corners = find_corners(area)
        corner_ids = np.arange(count, count + len(corners))
        regions.append(
            Region(area, corners, corner_ids, np.flatnonzero(np.isin(door_of_point, own)))
        )
        positions.append(corners.xy)
        count += len(corners)
    return regions, np.concatenate(positions)


def points_in_door(floor: Floor, opening: Opening) -> Floats:
    """The middle and both ends of the line in the doorway halfway between its two pieces."""
    one, other = (floor.polygons[index].intersection(opening.shape) for index in opening.joins)
    start, end = (shapely.get_coordinates(part.centroid)[0] for part in (one, other))
    middle, across = (start + end) / 2, end - start
    normal = np.array((-across[1], across[0])) / max(float(np.hypot(*across)), 1e-9)
    reach = 2 * opening.width_feet * normal
    line = shapely.LineString([middle - reach, middle + reach]).intersection(opening.shape)
    ends = shapely.get_coordinates(line)
    return np.stack((ends[0], middle, ends[-1])) if len(ends) >= 2 else middle[None, :]


def see_within(regions: Iterable[Region], xy: Floats) -> list[Edges]:
    """Edges between the vertices, at `xy` (n, 2), that see each other inside a region."""
    edges: list[Edges] = []
    for region in regions:
        own = see_corners(region.sight, region.corners)
        edges.append(renumber(own, region.corner_ids, region.corner_ids))
        points = xy[region.point_ids]
        edges.append(renumber(see_each_other(region.sight, points), *[region.point_ids] * 2))
        seen = see_from(region.sight, points, region.corners)
        edges.append(renumber(seen, region.point_ids, region.corner_ids))
    return edges


def see_stops(regions: Iterable[Region], xy: Floats, stops: Floats, ids: Ints) -> list[Edges]:
    """Edges from `stops` (n, 2), vertices `ids`, to what they see, one another included."""
    edges: list[Edges] = []
    for region in regions:
        inside = region.inside(stops)
        points, own = stops[inside], ids[inside]
        edges.append(
            renumber(see_from(region.sight, points, region.corners), own, region.corner_ids)
        )
        edges.append(renumber(see_each_other(region.sight, points), own, own))
        seen = see_across(region.sight, points, xy[region.point_ids])
        edges.append(renumber(seen, own, region.point_ids))
    return edges


def see_others(
    regions: Iterable[Region], stops: Floats, ids: Ints, others: Floats, other_ids: Ints
) -> list[Edges]:
    """Edges from `stops` to those of `others` that they see, each (n, 2) with its vertices."""
    edges: list[Edges] = []
    for region in regions:
        inside, beside = region.inside(stops), region.inside(others)
        seen = see_across(region.sight, stops[inside], others[beside])
        edges.append(renumber(seen, ids[inside], other_ids[beside]))
    return edges


def renumber(edges: Edges, first: Ints, second: Ints) -> Edges:
    return Edges(first[edges.first], second[edges.second], edges.feet)


def attach(
    free: Area, rooms: Sequence[Area], x: float, y: float, within_feet: float
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
        if (leg_feet := nearest.distance(point)) <= within_feet:
            return Attachment(nearest.x, nearest.y, leg_feet)
    return None
