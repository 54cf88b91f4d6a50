"""Longitude and latitude -> feet on the ground, for plans of up to a few kilometres."""

import math
from collections.abc import Callable, Iterable
from typing import Final

from parsing.drawing import (
    FEET_PER_METRE,
    AreaGeometry,
    Coordinate,
    Coordinates,
    Geometry,
    LinesGeometry,
    PointGeometry,
)

# WGS 84: semi-major axis in metres, and the square of the first eccentricity.
SEMI_MAJOR_METRES: Final = 6_378_137.0
ECCENTRICITY_SQUARED: Final = 0.006_694_379_990_141_317

Projection = Callable[[Coordinate], Coordinate]


def local_projection(origin: Coordinate) -> Projection:
    """Longitude and latitude in degrees -> feet east and south of the origin.

    The plane that touches the ellipsoid at the origin, reached through geocentric coordinates
    (Bugayevskiy and Snyder, Map Projections, 1995, section 2.2): true to scale within
    (d / 6,400 km)^2 / 2 at distance d, a millionth at 9 km.
    """
    east_of, south_of, start = _local_axes(origin)

    def project(place: Coordinate) -> Coordinate:
        metres = [a - b for a, b in zip(_to_geocentric(place), start, strict=True)]
        east = sum(a * b for a, b in zip(metres, east_of, strict=True))
        south = sum(a * b for a, b in zip(metres, south_of, strict=True))
        return east * FEET_PER_METRE, south * FEET_PER_METRE

    return project


def bounding_box_centre(places: Iterable[Coordinate]) -> Coordinate:
    """The middle of a bounding box in degrees, also where it lies across the 180th meridian."""
    longitudes, latitudes = zip(*places, strict=True)
    first = longitudes[0]
    east = [_wrap_longitude(longitude - first) for longitude in longitudes]
    middle = first + (min(east) + max(east)) / 2
    return _wrap_longitude(middle), (min(latitudes) + max(latitudes)) / 2


def transform_coordinates(geometry: Geometry, transform: Projection) -> Geometry:
    """A geometry with every coordinate changed."""

    def changed(path: Coordinates) -> Coordinates:
        return tuple(transform(at) for at in path)

    match geometry:
        case PointGeometry(at):
            return PointGeometry(transform(at))
        case LinesGeometry(lines):
            return LinesGeometry(tuple(changed(line) for line in lines))
        case AreaGeometry(rings, nonzero):
            return AreaGeometry(tuple(changed(ring) for ring in rings), nonzero)


def _wrap_longitude(degrees: float) -> float:
    return (degrees + 180) % 360 - 180


def _to_geocentric(place: Coordinate) -> tuple[float, float, float]:
    """Metres from the Earth's centre, of a point on the ellipsoid."""
    longitude, latitude = (math.radians(degrees) for degrees in place)
    sine = math.sin(latitude)
    normal = SEMI_MAJOR_METRES / math.sqrt(1 - ECCENTRICITY_SQUARED * sine * sine)
    ring = normal * math.cos(latitude)
    height = normal * (1 - ECCENTRICITY_SQUARED) * sine
    return ring * math.cos(longitude), ring * math.sin(longitude), height


def _local_axes(
    origin: Coordinate,
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """The directions east and south at the origin, and the origin itself, geocentric."""
    longitude, latitude = (math.radians(degrees) for degrees in origin)
    east = (-math.sin(longitude), math.cos(longitude), 0.0)
    south = (
        math.sin(latitude) * math.cos(longitude),
        math.sin(latitude) * math.sin(longitude),
        -math.cos(latitude),
    )
    return east, south, _to_geocentric(origin)
