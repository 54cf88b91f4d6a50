"""Simplify areas that have too many corners to be measured exactly."""

from __future__ import annotations

import math

import numpy as np
import shapely
from shapely import Polygon

from routing.arrays import FloatArray
from routing.network.corners import find_corners
from routing.plan import Polygonal
from routing.space.plan_repair import extract_polygons, to_polygonal

MAX_COARSE_CORNERS = 2_000
MIN_TOLERANCE_FEET = 0.05


def coarsen(area: Polygonal, max_corners: int) -> tuple[Polygonal, float]:
    """Return an area with few enough corners, and how far in feet its walls may have moved.

    Obstacles smaller than that are left out. An area with at most `max_corners` stays as it is.

    >>> area, tolerance_feet = coarsen(shapely.box(0, 0, 20, 10), 4)
    >>> tolerance_feet
    0.0
    """
    if len(find_corners(area)) <= max_corners:
        return area, 0.0
    coarse, tolerance_feet = area, MIN_TOLERANCE_FEET / 2
    while len(find_corners(coarse)) > min(max_corners, MAX_COARSE_CORNERS):
        tolerance_feet *= 2
        # This never joins what was apart, and never cuts what was joined.
        coarse = shapely.simplify(coarse, tolerance_feet / 2, preserve_topology=True)
        coarse = drop_obstacles(coarse, 2 * tolerance_feet)
    return coarse, tolerance_feet


def move_inside(xy: FloatArray, area: Polygonal, coarse: Polygonal) -> FloatArray:
    """Return points (n, 2) of an area, moved to where what is left of their polygon is nearest."""
    # Both have the same polygons in the same order.
    points, parts = shapely.points(xy), np.array(extract_polygons(coarse))
    own = shapely.STRtree(extract_polygons(area)).nearest(points)
    return shapely.get_coordinates(shapely.get_point(shapely.shortest_line(parts[own], points), 0))


def drop_obstacles(area: Polygonal, max_feet: float) -> Polygonal:
    """Return an area without the holes that are at most so long from corner to corner."""
    kept = []
    for polygon in extract_polygons(area):
        bounds = shapely.bounds(np.array(polygon.interiors))
        holes = [
            hole
            for hole, (west, south, east, north) in zip(polygon.interiors, bounds, strict=True)
            if math.hypot(east - west, north - south) > max_feet
        ]
        kept.append(Polygon(polygon.exterior, holes))
    return to_polygonal(kept)
