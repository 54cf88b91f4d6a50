"""Project the geographic geometries of a plan to feet from their north-west corner."""

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from parsing.drawing import (
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
    ReadingFault,
    compute_bounds,
    iter_coordinates,
)
from parsing.errors import DocumentRejectedError, InvalidPlanError
from parsing.geo.projection import (
    Projection,
    bounding_box_centre,
    local_projection,
    local_unprojection,
    transform_coordinates,
    wrap_longitude,
)

MAX_EXTENT_FEET: Final = 100_000.0
MAX_FEATURES: Final = 100_000
"""Features of a plan, each counted once for each of its levels."""
FEET_PER_MILE: Final = 5_280
FEET_PER_DEGREE: Final = 364_567
"""Of a meridian, at 45 degrees."""
FEET_DECIMALS: Final = 6
DEGREE_DECIMALS: Final = 7
"""Those of OpenStreetMap: half an inch."""


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
            fault = ReadingFault("left out, too far away", message, feature.id)
            collector.add_fault(fault._replace(levels=feature.levels))
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
