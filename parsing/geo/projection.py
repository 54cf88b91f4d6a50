"""Project longitude and latitude to feet on a plane, for plans of up to a few kilometres."""

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

STEP_DEGREES: Final = 1e-6
UNPROJECTION_STEPS: Final = 4

Projection = Callable[[Coordinate], Coordinate]


def local_projection(origin: Coordinate) -> Projection:
    """Return a projection from degrees to feet east and south of `origin`.

    It maps to the plane that touches the ellipsoid at the origin, through geocentric coordinates
    (Bugayevskiy and Snyder, Map Projections, 1995, section 2.2). At distance d the scale is true
    within (d / 6,400 km)^2 / 2, which is a millionth at 9 km.

    >>> project = local_projection((10.0, 56.0))
    >>> [round(feet) for feet in project((10.0, 55.999))]
    [0, 365]
    """
    east_axis, south_axis, centre = _local_axes(origin)

    def project(point: Coordinate) -> Coordinate:
        metres = [a - b for a, b in zip(_to_geocentric(point), centre, strict=True)]
        east = sum(a * b for a, b in zip(metres, east_axis, strict=True))
        south = sum(a * b for a, b in zip(metres, south_axis, strict=True))
        return east * FEET_PER_METRE, south * FEET_PER_METRE

    return project


def local_unprojection(origin: Coordinate) -> Projection:
    """Return the inverse of `local_projection`, for positions within a few kilometres.

    >>> unproject = local_unprojection((10.0, 56.0))
    >>> [round(degrees, 4) for degrees in unproject((0.0, 365.4))]
    [10.0, 55.999]
    """
    project = local_projection(origin)
    longitude, latitude = origin
    # Feet per degree at the origin; the steps after the first correct what changes away from it.
    east = project((longitude + STEP_DEGREES, latitude))[0] / STEP_DEGREES
    south = project((longitude, latitude - STEP_DEGREES))[1] / STEP_DEGREES

    def unproject(position: Coordinate) -> Coordinate:
        found = origin
        for _ in range(UNPROJECTION_STEPS):
            x, y = project(found)
            found = found[0] + (position[0] - x) / east, found[1] - (position[1] - y) / south
        return wrap_longitude(found[0]), found[1]

    return unproject


def bounding_box_centre(points: Iterable[Coordinate]) -> Coordinate:
    """Return the centre of a bounding box in degrees, also for a box across the 180th meridian."""
    longitudes, latitudes = zip(*points, strict=True)
    first = longitudes[0]
    east = [wrap_longitude(longitude - first) for longitude in longitudes]
    middle = first + (min(east) + max(east)) / 2
    return wrap_longitude(middle), (min(latitudes) + max(latitudes)) / 2


def transform_coordinates(geometry: Geometry, transform: Projection) -> Geometry:
    """Return a geometry with `transform` applied to every coordinate."""

    def transform_path(path: Coordinates) -> Coordinates:
        return tuple(map(transform, path))

    match geometry:
        case PointGeometry(position):
            return PointGeometry(transform(position))
        case LinesGeometry(lines):
            return LinesGeometry(tuple(transform_path(line) for line in lines))
        case AreaGeometry(rings, nonzero):
            return AreaGeometry(tuple(transform_path(ring) for ring in rings), nonzero)


def wrap_longitude(degrees: float) -> float:
    """Return a longitude from -180 up to 180.

    >>> wrap_longitude(190.0)
    -170.0
    """
    return (degrees + 180) % 360 - 180


def _to_geocentric(point: Coordinate) -> tuple[float, float, float]:
    """Return the geocentric position of a point on the ellipsoid, in metres."""
    longitude, latitude = (math.radians(degrees) for degrees in point)
    sine = math.sin(latitude)
    normal = SEMI_MAJOR_METRES / math.sqrt(1 - ECCENTRICITY_SQUARED * sine * sine)
    ring = normal * math.cos(latitude)
    height = normal * (1 - ECCENTRICITY_SQUARED) * sine
    return ring * math.cos(longitude), ring * math.sin(longitude), height


def _local_axes(
    origin: Coordinate,
) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """Return the unit vectors east and south at the origin, and the origin, all geocentric."""
    longitude, latitude = (math.radians(degrees) for degrees in origin)
    east = (-math.sin(longitude), math.cos(longitude), 0.0)
    south = (
        math.sin(latitude) * math.cos(longitude),
        math.sin(latitude) * math.sin(longitude),
        -math.cos(latitude),
    )
    return east, south, _to_geocentric(origin)
