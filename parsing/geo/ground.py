"""Project the geographic geometries of a plan to feet from their north-west corner."""

from collections.abc import Sequence
from typing import Final

from parsing.drawing import (
    AreaGeometry,
    Bounds,
    Coordinate,
    Coordinates,
    Geometry,
    LinesGeometry,
    compute_bounds,
    iter_coordinates,
)
from parsing.errors import InvalidPlanError
from parsing.geo.projection import bounding_box_centre, local_projection, transform_coordinates

MAX_EXTENT_FEET: Final = 100_000.0
FEET_PER_MILE: Final = 5_280
FEET_DECIMALS: Final = 6


def project_to_feet(geometries: Sequence[Geometry], ids: Sequence[str]) -> list[Geometry]:
    """Project geometries in degrees to feet, with the origin at the north-west corner of their box.

    `ids` are those of the geometries. Raises `InvalidPlanError`, naming the remotest feature, if
    they are too far apart to be one building or campus.
    """
    project = local_projection(
        bounding_box_centre(point for shape in geometries for point in iter_coordinates(shape))
    )
    projected = [transform_coordinates(shape, project) for shape in geometries]
    west, north = compute_bounds(projected)[:2]
    _check_extent(projected, ids)

    def shift(point: Coordinate) -> Coordinate:
        return round(point[0] - west, FEET_DECIMALS), round(point[1] - north, FEET_DECIMALS)

    return [_canonicalize(transform_coordinates(shape, shift)) for shape in projected]


def _check_extent(projected: Sequence[Geometry], ids: Sequence[str]) -> None:
    boxes = [compute_bounds([shape]) for shape in projected]
    # The median, unlike the mean, stays with the rest when one feature is far away.
    median = _median_corner(boxes)
    distances = [max(abs(box.west - median[0]), abs(box.north - median[1])) for box in boxes]
    farthest = max(range(len(distances)), key=distances.__getitem__)
    if distances[farthest] > MAX_EXTENT_FEET:
        miles = distances[farthest] / FEET_PER_MILE
        raise InvalidPlanError(
            f"{ids[farthest]} is {miles:,.0f} miles away from the rest; "
            "a plan is one building or campus (longitude and latitude may have changed places)"
        )


def _median_corner(boxes: Sequence[Bounds]) -> Coordinate:
    half = len(boxes) // 2
    return sorted(box.west for box in boxes)[half], sorted(box.north for box in boxes)[half]


def _canonicalize(geometry: Geometry) -> Geometry:
    """Give rings a fixed direction and starting point: files of one plan differ in both."""
    match geometry:
        case AreaGeometry(rings, nonzero):
            return AreaGeometry(tuple(sorted(map(_canonicalize_ring, rings))), nonzero)
        case LinesGeometry(lines):
            return LinesGeometry(tuple(map(_canonicalize_line, lines)))
    return geometry


def _canonicalize_line(line: Coordinates) -> Coordinates:
    if line[0] != line[-1]:
        return line
    ring = _canonicalize_ring(line[:-1])
    return (*ring, ring[0])


def _canonicalize_ring(ring: Coordinates) -> Coordinates:
    start = ring.index(min(ring))
    rotated = ring[start:] + ring[:start]
    reversed_ring = rotated[:1] + rotated[:0:-1]
    return min(rotated, reversed_ring)
