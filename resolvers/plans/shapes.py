"""Convert drawn geometry to shapely shapes in feet."""

import math
from collections.abc import Iterable
from typing import Final, TypeAlias

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely import LineString, MultiLineString, MultiPolygon, Polygon
from shapely.geometry.base import BaseGeometry

from parsing.drawing import AreaGeometry, Coordinates, Geometry, LinesGeometry, PointGeometry

MIN_CLEARANCE_SHARE: Final = 0.8
"""Share of the largest inscribed circle's radius that a label at the centroid needs around it."""

MAX_FACE_CORNERS: Final = 200_000_000
"""Faces into which the rings of an area divide the plane, times the corners of its rings."""
MAX_MEETING_CORNERS: Final = 100
"""Corners of its rings in one point; to unite them takes quadratic time."""
END_FEET: Final = 0.1
"""A line that leads to a shape may reach this far into it."""

Surface: TypeAlias = Polygon | MultiPolygon
Corners: TypeAlias = NDArray[np.float64]
"""x and y of points, in rows."""
PlanGeometry: TypeAlias = shapely.Point | LineString | MultiLineString | Surface


class TooManyRingsError(ValueError):
    """The rings of an area divide the plane into too many faces."""


class ShapeIndex:
    """A spatial index of the shapes of one level."""

    def __init__(self, shapes: Iterable[BaseGeometry]) -> None:
        self._tree = shapely.STRtree([shape for shape in shapes if not shape.is_empty])

    def distance_to(self, shape: BaseGeometry) -> float:
        """Return the distance to the nearest shape; infinite if there is none."""
        _, distances = self._tree.query_nearest(shape, return_distance=True, all_matches=False)
        return float(distances.min(initial=math.inf))

    def shortest_line_to(self, point: shapely.Point) -> LineString:
        """Return the line from the nearest shape to a point."""
        nearest = self._tree.geometries[self._tree.nearest(point)]
        return LineString(shapely.get_coordinates(shapely.shortest_line(nearest, point)))

    def overlaps(self, line: LineString) -> bool:
        """Return whether any shape covers a part of a line, more than its ends."""
        near = self._tree.geometries[self._tree.query(line, predicate="intersects")]
        shared = [line.intersection(shape if shape.is_valid else shape.buffer(0)) for shape in near]
        ends = shapely.union_all([end.buffer(END_FEET) for end in line.boundary.geoms])
        return any(not part.difference(ends).is_empty for part in shared)

    def subtract_from(self, shape: BaseGeometry) -> BaseGeometry:
        """Return a valid shape without the indexed shapes."""
        overlapping = self._tree.geometries[self._tree.query(shape, predicate="intersects")]
        return shape.difference(union_shapes(overlapping)) if len(overlapping) else shape


def to_shape(geometry: Geometry, feet_per_unit: float) -> PlanGeometry:
    """Return the shape in feet. A single ring is not repaired, even if it crosses itself.

    Raises `TooManyRingsError`.

    >>> to_shape(LinesGeometry((((0, 0), (2, 0)),)), feet_per_unit=3).wkt
    'LINESTRING (0 0, 6 0)'
    """
    match geometry:
        case PointGeometry((x, y)):
            return shapely.Point(x * feet_per_unit, y * feet_per_unit)
        case LinesGeometry(lines):
            scaled = [_to_feet(line, feet_per_unit) for line in lines]
            return LineString(scaled[0]) if len(scaled) == 1 else MultiLineString(scaled)
        case AreaGeometry(rings, nonzero):
            return _fill_rings([_to_feet(ring, feet_per_unit) for ring in rings], nonzero)


def label_point(surface: BaseGeometry) -> shapely.Point:
    """Return where a label would stand: the middle of a line, the centroid of an area.

    If the centroid has too little room around it, the centre of the largest inscribed circle.
    """
    if surface.geom_type == "Point":
        return surface  # type: ignore[return-value]
    if shapely.get_dimensions(surface) < 2:
        return surface.interpolate(0.5, normalized=True)
    valid = surface if surface.is_valid else surface.buffer(0)
    if valid.is_empty:
        return surface.representative_point()
    largest = max(shapely.get_parts(valid), key=lambda part: part.area)
    radius = shapely.maximum_inscribed_circle(largest, tolerance=0.1)
    middle: shapely.Point = largest.centroid
    has_clearance = middle.distance(largest.boundary) >= MIN_CLEARANCE_SHARE * radius.length
    if largest.contains(middle) and has_clearance:
        return middle
    return shapely.get_point(radius, 0)  # type: ignore[no-any-return]


def union_shapes(shapes: Iterable[BaseGeometry]) -> BaseGeometry:
    """Return the union of shapes, after repairing invalid ones."""
    return shapely.union_all([s if s.is_valid else shapely.make_valid(s) for s in shapes])


def _to_feet(path: Coordinates, feet_per_unit: float) -> list[tuple[float, float]]:
    return [(x * feet_per_unit, y * feet_per_unit) for x, y in path]


def _fill_rings(rings: list[list[tuple[float, float]]], nonzero: bool) -> Surface:
    """Return what the rings fill by their fill rule (SVG 2, section 13.4.2).

    The rings divide the plane into faces, of which each is filled or not by its winding number.
    """
    if len(rings) == 1:
        return Polygon(rings[0])
    starts = np.concatenate(rings)
    _, corners_at_point = np.unique(starts, axis=0, return_counts=True)
    if corners_at_point.max() > MAX_MEETING_CORNERS:
        raise TooManyRingsError(f"{corners_at_point.max()} corners meet in one point")
    # The union of lines splits them where they cross, as polygonize needs.
    closed = [LineString([*ring, ring[0]]) for ring in rings]
    faces = shapely.get_parts(shapely.polygonize([shapely.union_all(closed)]))
    if len(faces) * len(starts) > MAX_FACE_CORNERS:
        raise TooManyRingsError(f"{len(rings)} rings enclose {len(faces)} faces")
    ends = np.concatenate([np.roll(ring, -1, axis=0) for ring in rings])
    inner_points = shapely.get_coordinates(shapely.point_on_surface(faces))
    turns = [_winding(x, y, starts, ends) for x, y in inner_points]
    is_filled = [turn != 0 if nonzero else turn % 2 == 1 for turn in turns]
    union = shapely.union_all(faces[is_filled])
    return union if isinstance(union, Polygon | MultiPolygon) else Polygon()


def _winding(x: float, y: float, starts: Corners, ends: Corners) -> int:
    """Return the winding number around a point of rings, given as their edges.

    Counts signed crossings of a ray (Dan Sunday, "Inclusion of a Point in a Polygon", 2001). It is
    odd if and only if the ray crosses an odd number of edges.
    """
    (x1, y1), (x2, y2) = starts.T, ends.T
    side = (x2 - x1) * (y - y1) - (x - x1) * (y2 - y1)
    upward = (y1 <= y) & (y < y2) & (side > 0)
    downward = (y2 <= y) & (y < y1) & (side < 0)
    return int(upward.sum() - downward.sum())
