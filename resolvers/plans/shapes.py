"""Geometry as it is drawn -> shapes in feet that can be calculated with."""

import math
from collections.abc import Iterable
from typing import Final, TypeAlias

import shapely
from shapely import LineString, MultiLineString, MultiPolygon, Polygon
from shapely.geometry.base import BaseGeometry

from parsing.drawing import AreaGeometry, Coordinates, Geometry, LinesGeometry, PointGeometry

MIN_ROOM_SHARE: Final = 0.8

Surface: TypeAlias = Polygon | MultiPolygon
Shape: TypeAlias = shapely.Point | LineString | MultiLineString | Surface


class ShapeIndex:
    """Shapes of one level, found by where they are."""

    def __init__(self, shapes: Iterable[BaseGeometry]) -> None:
        self._tree = shapely.STRtree([shape for shape in shapes if not shape.is_empty])

    def distance_to(self, shape: BaseGeometry) -> float:
        """How far it is to the nearest of them; infinite where there is none."""
        _, distances = self._tree.query_nearest(shape, return_distance=True, all_matches=False)
        return float(distances.min(initial=math.inf))

    def subtract_from(self, shape: BaseGeometry) -> BaseGeometry:
        """What they leave of a sound shape."""
        in_way = self._tree.geometries[self._tree.query(shape, predicate="intersects")]
        return shape.difference(union_shapes(in_way)) if len(in_way) else shape


def to_shape(geometry: Geometry, feet_per_unit: float) -> Shape:
    """The shape in feet. A single ring is taken as it is, self-crossing or not."""
    match geometry:
        case PointGeometry((x, y)):
            return shapely.Point(x * feet_per_unit, y * feet_per_unit)
        case LinesGeometry(lines):
            scaled = [_to_feet(line, feet_per_unit) for line in lines]
            return LineString(scaled[0]) if len(scaled) == 1 else MultiLineString(scaled)
        case AreaGeometry(rings, nonzero):
            return _fill_rings([_to_feet(ring, feet_per_unit) for ring in rings], nonzero)


def label_point(surface: BaseGeometry) -> shapely.Point:
    """Where a label would stand: the centroid if there is room around it, else the centre of the
    largest circle inside; of lines, the middle."""
    if surface.geom_type == "Point":
        return surface  # type: ignore[return-value]
    if shapely.get_dimensions(surface) < 2:
        return surface.interpolate(0.5, normalized=True)
    sound = surface if surface.is_valid else surface.buffer(0)
    if sound.is_empty:
        return surface.representative_point()
    largest = max(shapely.get_parts(sound), key=lambda part: part.area)
    radius = shapely.maximum_inscribed_circle(largest, tolerance=0.1)
    middle: shapely.Point = largest.centroid
    has_room = middle.distance(largest.boundary) >= MIN_ROOM_SHARE * radius.length
    if largest.contains(middle) and has_room:
        return middle
    return shapely.get_point(radius, 0)  # type: ignore[no-any-return]


def union_shapes(shapes: Iterable[BaseGeometry]) -> BaseGeometry:
    """All as one, faulty ones repaired."""
    return shapely.union_all([s if s.is_valid else shapely.make_valid(s) for s in shapes])


def _to_feet(path: Coordinates, feet_per_unit: float) -> list[tuple[float, float]]:
    return [(x * feet_per_unit, y * feet_per_unit) for x, y in path]


def _fill_rings(rings: list[list[tuple[float, float]]], nonzero: bool) -> Surface:
    """What the rings fill (SVG 2, section 13.4.2): faces of their arrangement, by winding."""
    if len(rings) == 1:
        return Polygon(rings[0])
    closed = [LineString([*ring, ring[0]]) for ring in rings]
    faces = shapely.get_parts(shapely.polygonize([shapely.union_all(closed)]))
    kept = [face for face in faces if _is_filled(face.representative_point(), rings, nonzero)]
    whole = shapely.union_all(kept)
    return whole if isinstance(whole, Polygon | MultiPolygon) else Polygon()


def _is_filled(point: shapely.Point, rings: list[list[tuple[float, float]]], nonzero: bool) -> bool:
    windings = [_winding(point.x, point.y, ring) for ring in rings]
    return sum(windings) != 0 if nonzero else sum(map(abs, windings)) % 2 == 1


def _winding(x: float, y: float, ring: list[tuple[float, float]]) -> int:
    """How often a ring turns around a point (Sunday 2001, the crossings with signs)."""
    turns = 0
    for (x1, y1), (x2, y2) in zip(ring, [*ring[1:], ring[0]], strict=True):
        side = (x2 - x1) * (y - y1) - (x - x1) * (y2 - y1)
        if y1 <= y < y2 and side > 0:
            turns += 1
        elif y2 <= y < y1 and side < 0:
            turns -= 1
    return turns
