"""Read GeoJSON (RFC 7946): documents, feature collections and geometries.

Which properties a feature has is left to the format that uses GeoJSON.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import orjson

from parsing.drawing import (
    AreaGeometry,
    Coordinate,
    Coordinates,
    Geometry,
    LinesGeometry,
    PointGeometry,
)
from parsing.errors import DocumentRejectedError, InvalidPlanError, NotWellFormedError
from parsing.geo.coordinates import check_coordinate

MAX_SOURCE_BYTES: Final = 64 * 1024 * 1024
WGS_84_NAMES: Final = ("CRS84", "EPSG::4326", "EPSG:4326")


def parse_json(content: bytes, name: str) -> Any:
    """Parse a JSON document.

    Raises `NotWellFormedError` with file, line and column, or `DocumentRejectedError` if it is too
    large.
    """
    if len(content) > MAX_SOURCE_BYTES:
        raise DocumentRejectedError(
            f"{name}: {len(content):,} bytes; at most {MAX_SOURCE_BYTES:,} are read"
        )
    try:
        # A parser may ignore a byte order mark (RFC 8259, section 8.1); orjson does not.
        return orjson.loads(content.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        reason = str(error).rpartition(" (char")[0] or str(error)
        raise NotWellFormedError(f"{name}: not JSON in UTF-8: {reason}") from error


def parse_feature_collection(content: bytes, name: str) -> Sequence[Mapping[str, Any]]:
    """Return the features of a FeatureCollection in WGS 84. Raises `ParsingError`."""
    collection = parse_json(content, name)
    kind = collection.get("type") if isinstance(collection, dict) else None
    if kind != "FeatureCollection":
        raise InvalidPlanError(f"{name}: type is {kind!r}; expected a GeoJSON FeatureCollection")
    _check_reference_system(collection.get("crs"), name)
    features = collection.get("features")
    if not isinstance(features, list):
        raise InvalidPlanError(f"{name}: features is missing; expected a list of features")
    for index, feature in enumerate(features):
        if not isinstance(feature, dict) or feature.get("type") != "Feature":
            raise InvalidPlanError(f"{name}: features[{index}] is not a GeoJSON Feature")
    return features


def _check_reference_system(system: Any, name: str) -> None:
    """Reject the `crs` member of GeoJSON before RFC 7946 unless it names WGS 84."""
    properties = system.get("properties") if isinstance(system, dict) else None
    crs_name = properties.get("name") if isinstance(properties, dict) else None
    if isinstance(crs_name, str) and not crs_name.endswith(WGS_84_NAMES):
        raise InvalidPlanError(f"{name}: coordinates are in {crs_name}; GeoJSON has them in WGS 84")


def geometry_type(feature: Mapping[str, Any]) -> Any:
    """Return the declared type of a feature's geometry, or None."""
    geometry = feature.get("geometry")
    return geometry.get("type") if isinstance(geometry, dict) else None


def parse_geometry(feature: Mapping[str, Any], label: str) -> Geometry | None:
    """Parse a feature's geometry, or return None if it has none or one of an unsupported type.

    Raises `InvalidPlanError`; `label` names the feature in its message.

    >>> point = {"geometry": {"type": "Point", "coordinates": [10.2, 56.1]}}
    >>> parse_geometry(point, "plan.geojson: node/1")
    PointGeometry(position=(10.2, 56.1))
    """
    geometry, kind = feature.get("geometry"), geometry_type(feature)
    if geometry is None or kind in UNSUPPORTED_GEOMETRIES:
        return None
    if not isinstance(kind, str) or kind not in GEOMETRY_PARSERS:
        raise InvalidPlanError(
            f"{label}: geometry is {kind!r}; expected one of {', '.join(GEOMETRY_PARSERS)}"
        )
    coordinates = geometry.get("coordinates")
    if not isinstance(coordinates, list) or not coordinates:
        raise InvalidPlanError(f"{label}: {kind} without coordinates")
    return GEOMETRY_PARSERS[kind](coordinates, label)


def _parse_position(position: Any, label: str) -> Coordinate:
    match position:
        case [int() | float() as longitude, int() | float() as latitude, *_]:
            return check_coordinate(float(longitude), float(latitude), label)
    raise InvalidPlanError(
        f"{label}: {position!r:.60} is no position; expected [longitude, latitude]"
    )


def _parse_line(positions: Any, label: str) -> Coordinates:
    if not isinstance(positions, list):
        raise InvalidPlanError(f"{label}: {positions!r:.60} is no list of positions")
    line = tuple(_parse_position(position, label) for position in positions)
    if len(line) < 2:
        raise InvalidPlanError(f"{label}: a line of one position; expected at least two")
    return line


def _parse_ring(positions: Any, label: str) -> Coordinates:
    ring = _parse_line(positions, label)
    if ring[0] != ring[-1]:
        raise InvalidPlanError(
            f"{label}: a ring is not closed: it starts at {list(ring[0])} and ends at "
            f"{list(ring[-1])}; expected the first position again (RFC 7946, section 3.1.6)"
        )
    if len(ring) < 4:
        raise InvalidPlanError(f"{label}: a ring of {len(ring)} positions; expected at least four")
    return ring[:-1]


def _parse_rings(polygon: Any, label: str) -> tuple[Coordinates, ...]:
    if not isinstance(polygon, list):
        raise InvalidPlanError(f"{label}: {polygon!r:.60} is no list of rings")
    return tuple(_parse_ring(ring, label) for ring in polygon)


def _parse_point(position: Any, label: str) -> Geometry:
    return PointGeometry(_parse_position(position, label))


UNSUPPORTED_GEOMETRIES: Final = ("MultiPoint", "GeometryCollection")
GEOMETRY_PARSERS: Final[dict[str, Callable[[Any, str], Geometry]]] = {
    "Point": _parse_point,
    "LineString": lambda line, label: LinesGeometry((_parse_line(line, label),)),
    "MultiLineString": lambda lines, label: LinesGeometry(
        tuple(_parse_line(line, label) for line in lines)
    ),
    "Polygon": lambda polygon, label: AreaGeometry(_parse_rings(polygon, label)),
    "MultiPolygon": lambda polygons, label: AreaGeometry(
        tuple(ring for polygon in polygons for ring in _parse_rings(polygon, label))
    ),
}
