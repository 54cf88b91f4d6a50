"""Project plans from degrees of longitude and latitude to feet on the ground.

The plane touches the earth in the middle of the plan, so a plan may be a few kilometres wide.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from parsing.drawing import (
    FEET_PER_METRE,
    AreaGeometry,
    Bounds,
    Coordinate,
    Coordinates,
    Drawing,
    DrawnLevel,
    Feature,
    Geometry,
    LinesGeometry,
    NoteCollector,
    PointGeometry,
    compute_bounds,
    iter_coordinates,
)
from parsing.errors import DocumentRejectedError, InvalidPlanError

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
    match geometry:
        case PointGeometry(position):
            return PointGeometry(transform(position))
        case LinesGeometry(lines):
            return LinesGeometry(tuple(tuple(map(transform, line)) for line in lines))
        case AreaGeometry(rings, nonzero):
            return AreaGeometry(tuple(tuple(map(transform, ring)) for ring in rings), nonzero)


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


MAX_EXTENT_FEET: Final = 100_000.0
MAX_FEATURES: Final = 100_000
"""Features of a plan, each counted once for each of its levels."""
FEET_PER_MILE: Final = 5_280
FEET_PER_DEGREE: Final = 364_567
"""A degree of latitude is that long at 45 degrees."""
FEET_DECIMALS: Final = 6
DEGREE_DECIMALS: Final = 7
"""OpenStreetMap has as many; the last is half an inch."""


class Ground(NamedTuple):
    """A frame of reference in feet, with its origin at the north-west corner of a plan."""

    project: Projection
    unproject: Projection
    west: float
    north: float

    def to_feet(self, point: Coordinate) -> Coordinate:
        """Return the position of a point in degrees."""
        x, y = self.project(point)
        return round(x - self.west, FEET_DECIMALS), round(y - self.north, FEET_DECIMALS)

    def to_degrees(self, position: Coordinate) -> Coordinate:
        """Return the longitude and latitude of a position in feet."""
        x, y = position
        longitude, latitude = self.unproject((x + self.west, y + self.north))
        return round(longitude, DEGREE_DECIMALS), round(latitude, DEGREE_DECIMALS)

    def project_geometry(self, geometry: Geometry) -> Geometry:
        """Return a geometry in feet, its rings in a fixed direction."""
        return _canonicalize(transform_coordinates(geometry, self.to_feet))


def find_ground(geometries: Sequence[Geometry]) -> Ground:
    """Return the ground of at least one geometry in degrees."""
    centre = bounding_box_centre(point for shape in geometries for point in iter_coordinates(shape))
    project = local_projection(centre)
    box = compute_bounds(transform_coordinates(shape, project) for shape in geometries)
    return Ground(project, local_unprojection(centre), box.west, box.north)


def limit_features(features: Iterable[Feature]) -> list[Feature]:
    """Return the features as a list. Raises `DocumentRejectedError` if there are too many."""
    kept, count = [], 0
    for feature in features:
        count += len(feature.levels)
        if count > MAX_FEATURES:
            raise DocumentRejectedError(
                f"the plan has more than {MAX_FEATURES:,} features, each counted on each of its "
                "levels; is a tag level=0-99 on all of them, or are several buildings in one file?"
            )
        kept.append(feature)
    return kept


def leave_out_remote(features: Sequence[Feature], collector: NoteCollector) -> list[Feature]:
    """Return the features in degrees that are near each other; the others are faults.

    Raises `InvalidPlanError` if fewer than half of them are near each other.
    """
    boxes = [compute_bounds([feature.geometry]) for feature in features]
    # The median, unlike the mean, stays with the rest when one feature is far away.
    median = _median_corner(boxes)
    distances = [_distance_feet(box, median) for box in boxes]
    near = [f for f, feet in zip(features, distances, strict=True) if feet <= MAX_EXTENT_FEET]
    if len(near) * 2 < len(features):
        raise InvalidPlanError(
            f"the features are up to {max(distances) / FEET_PER_MILE:,.0f} miles away from each "
            "other; a plan is one building or campus"
        )
    for feature, feet in zip(features, distances, strict=True):
        if feet > MAX_EXTENT_FEET:
            message = (
                f"{feature.id} is {feet / FEET_PER_MILE:,.0f} miles away from the rest; a plan is "
                "one building or campus (longitude and latitude may have changed places)"
            )
            collector.leave_out("too far away", message, feature.id, levels=feature.levels)
    return near


def build_drawing_in_feet(
    levels: tuple[DrawnLevel, ...],
    features: Sequence[Feature],
    collector: NoteCollector,
    id_key: str,
    name: str,
) -> Drawing:
    """Project at least one feature, and the positions of faults, from degrees to feet."""
    ground = find_ground([feature.geometry for feature in features])
    projected = tuple(f._replace(geometry=ground.project_geometry(f.geometry)) for f in features)
    faults = tuple(
        fault._replace(position=ground.to_feet(fault.position)) if fault.position else fault
        for fault in collector.faults
    )
    bounds = compute_bounds(feature.geometry for feature in projected)
    return Drawing(
        levels,
        projected,
        1.0,
        bounds,
        collector.notes(),
        id_key,
        name,
        faults,
        ground.to_degrees,
        collector.places_of(projected),
    )


def _median_corner(boxes: Sequence[Bounds]) -> Coordinate:
    half = len(boxes) // 2
    return sorted(box.west for box in boxes)[half], sorted(box.north for box in boxes)[half]


def _distance_feet(box: Bounds, median: Coordinate) -> float:
    """Return about how far the farthest side of a box in degrees is from a point."""
    longitude, latitude = median
    scale = math.cos(math.radians(latitude))
    east = max(abs(wrap_longitude(side - longitude)) for side in (box.west, box.east)) * scale
    return FEET_PER_DEGREE * max(east, abs(box.north - latitude), abs(box.south - latitude))


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
