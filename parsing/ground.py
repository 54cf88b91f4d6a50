"""Geographic shapes laid on the ground: feet from the north-west corner of them all."""

from collections.abc import Sequence
from typing import Final

from parsing.drawing import (
    Area,
    Bounds,
    Coordinate,
    Coordinates,
    Geometry,
    Lines,
    bounds_of,
    coordinates_of,
)
from parsing.errors import InvalidPlan
from parsing.projection import centre, local_projection, map_coordinates

MOST_FEET: Final = 100_000.0
DECIMALS: Final = 6


def to_feet(geometries: Sequence[Geometry], ids: Sequence[str]) -> list[Geometry]:
    """Geographic geometries in feet, origin at the north-west corner of their bounding box.

    Raises `InvalidPlan` for what cannot be one building or campus, naming the remotest feature.
    """
    project = local_projection(centre(at for shape in geometries for at in coordinates_of(shape)))
    flat = [map_coordinates(shape, project) for shape in geometries]
    west, north = bounds_of(flat)[:2]
    _check_extent(flat, ids)

    def shift(at: Coordinate) -> Coordinate:
        return round(at[0] - west, DECIMALS), round(at[1] - north, DECIMALS)

    return [_canonical(map_coordinates(shape, shift)) for shape in flat]


def _check_extent(flat: Sequence[Geometry], ids: Sequence[str]) -> None:
    boxes = [bounds_of([shape]) for shape in flat]
    middle = _median(boxes)
    away = [max(abs(box.west - middle[0]), abs(box.north - middle[1])) for box in boxes]
    farthest = max(range(len(away)), key=away.__getitem__)
    if away[farthest] > MOST_FEET:
        raise InvalidPlan(
            f"{ids[farthest]} is {away[farthest] / 5280:,.0f} miles away from the rest; a plan is "
            "one building or campus (longitude and latitude may have changed places)"
        )


def _median(boxes: Sequence[Bounds]) -> Coordinate:
    half = len(boxes) // 2
    return sorted(box.west for box in boxes)[half], sorted(box.north for box in boxes)[half]


def _canonical(geometry: Geometry) -> Geometry:
    """Rings turned one way and begun at their least point, as files differ in both."""
    match geometry:
        case Area(rings, nonzero):
            return Area(tuple(sorted(map(_turned, rings))), nonzero)
        case Lines(lines):
            return Lines(tuple(map(_turned_if_closed, lines)))
    return geometry


def _turned_if_closed(line: Coordinates) -> Coordinates:
    if line[0] != line[-1]:
        return line
    ring = _turned(line[:-1])
    return (*ring, ring[0])


def _turned(ring: Coordinates) -> Coordinates:
    start = ring.index(min(ring))
    turned = ring[start:] + ring[:start]
    mirrored = turned[:1] + turned[:0:-1]
    return min(turned, mirrored)
