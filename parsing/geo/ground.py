"""Geographic shapes laid on the ground: feet from the north-west corner of them all."""

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
FEET_DECIMALS: Final = 6


def project_to_feet(geometries: Sequence[Geometry], ids: Sequence[str]) -> list[Geometry]:
    """Geographic geometries in feet, origin at the north-west corner of their bounding box.

    Raises `InvalidPlan` for what cannot be one building or campus, naming the remotest feature.
    """
    project = local_projection(
        bounding_box_centre(at for shape in geometries for at in iter_coordinates(shape))
    )
    flat = [transform_coordinates(shape, project) for shape in geometries]
    west, north = compute_bounds(flat)[:2]
    _check_extent(flat, ids)

    def shift(at: Coordinate) -> Coordinate:
        return round(at[0] - west, FEET_DECIMALS), round(at[1] - north, FEET_DECIMALS)

    return [_canonicalize(transform_coordinates(shape, shift)) for shape in flat]


def _check_extent(flat: Sequence[Geometry], ids: Sequence[str]) -> None:
    boxes = [compute_bounds([shape]) for shape in flat]
    middle = _median_corner(boxes)
    away = [max(abs(box.west - middle[0]), abs(box.north - middle[1])) for box in boxes]
    farthest = max(range(len(away)), key=away.__getitem__)
    if away[farthest] > MAX_EXTENT_FEET:
        raise InvalidPlanError(
            f"{ids[farthest]} is {away[farthest] / 5280:,.0f} miles away from the rest; a plan is "
            "one building or campus (longitude and latitude may have changed places)"
        )


def _median_corner(boxes: Sequence[Bounds]) -> Coordinate:
    half = len(boxes) // 2
    return sorted(box.west for box in boxes)[half], sorted(box.north for box in boxes)[half]


def _canonicalize(geometry: Geometry) -> Geometry:
    """Rings turned one way and begun at their least point, as files differ in both."""
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
    turned = ring[start:] + ring[:start]
    mirrored = turned[:1] + turned[:0:-1]
    return min(turned, mirrored)
