"""GeoJSON (RFC 7946) with OpenStreetMap's indoor tags as properties -> a drawing.

As osmtogeojson, JOSM and Overpass Turbo write it; `properties.tags` may hold the tags instead.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from parsing.drawing import (
    AreaGeometry,
    Coordinate,
    Coordinates,
    Drawing,
    Geometry,
    LinesGeometry,
    NoteCollector,
    PointGeometry,
)
from parsing.errors import DocumentRejectedError, InvalidPlanError, NotWellFormedError
from parsing.geo.coordinates import check_coordinate
from parsing.osm.indoor import build_drawing
from parsing.osm.surroundings import GeoFeature

MAX_SOURCE_BYTES: Final = 64 * 1024 * 1024
WGS_84_NAMES: Final = ("CRS84", "EPSG::4326", "EPSG:4326")
# What editors and converters add to a feature that is none of its tags.
METADATA_KEYS: Final = frozenset(
    {"id", "@id", "type", "timestamp", "version", "changeset", "user", "uid", "meta", "relations"}
)


def read_geojson(files: Mapping[str, bytes]) -> Drawing:
    """One plan from one file or several, as of one a level. Raises `ParsingError`."""
    notebook = NoteCollector()
    sketches: dict[str, GeoFeature] = {}
    for name, json in files.items():
        for sketch in _iter_features(parse_feature_collection(json, name), name, notebook):
            if sketch.id in sketches:
                raise InvalidPlanError(f"{name}: {sketch.id} is there twice; ids are unique")
            sketches[sketch.id] = sketch
    try:
        return build_drawing(sketches.values(), notebook)
    except InvalidPlanError as error:
        raise InvalidPlanError(f"{', '.join(files)}: {error}") from error


def parse_json(json: bytes, name: str) -> Any:
    """Any JSON document. Raises `NotWellFormed` with file, line and column, or `Refused`."""
    if len(json) > MAX_SOURCE_BYTES:
        raise DocumentRejectedError(
            f"{name}: {len(json):,} bytes; at most {MAX_SOURCE_BYTES:,} are read"
        )
    try:
        return orjson.loads(json.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        reason = str(error).rpartition(" (char")[0] or str(error)
        raise NotWellFormedError(f"{name}: not JSON in UTF-8: {reason}") from error


def parse_feature_collection(json: bytes, name: str) -> Sequence[Mapping[str, Any]]:
    """The features of a FeatureCollection. Raises `ParsingError`."""
    collection = parse_json(json, name)
    kind = collection.get("type") if isinstance(collection, dict) else None
    if kind != "FeatureCollection":
        raise InvalidPlanError(f"{name}: type is {kind!r}; expected a GeoJSON FeatureCollection")
    _check_reference_system(collection.get("crs"), name)
    features = collection.get("features")
    if not isinstance(features, list):
        raise InvalidPlanError(f"{name}: features is missing; expected a list of features")
    for position, feature in enumerate(features):
        if not isinstance(feature, dict) or feature.get("type") != "Feature":
            raise InvalidPlanError(f"{name}: features[{position}] is not a GeoJSON Feature")
    return features


def _check_reference_system(system: Any, name: str) -> None:
    """GeoJSON before RFC 7946 could name another one."""
    properties = system.get("properties") if isinstance(system, dict) else None
    named = properties.get("name") if isinstance(properties, dict) else None
    if isinstance(named, str) and not named.endswith(WGS_84_NAMES):
        raise InvalidPlanError(f"{name}: coordinates are in {named}; GeoJSON has them in WGS 84")


def _iter_features(
    features: Sequence[Mapping[str, Any]], name: str, notebook: NoteCollector
) -> Iterator[GeoFeature]:
    for position, feature in enumerate(features):
        properties = feature.get("properties") or {}
        if not isinstance(properties, dict):
            raise InvalidPlanError(
                f"{name}: features[{position}] has properties that are no object"
            )
        feature_id = _feature_id(feature, properties) or f"features[{position}]"
        tags = dict(_iter_tags(properties))
        shape = parse_geometry(feature, f"{name}: {feature_id}")
        if isinstance(shape, str):
            notebook.add(shape, feature_id)
        else:
            yield GeoFeature(feature_id, tags, shape)


def _feature_id(feature: Mapping[str, Any], properties: Mapping[str, Any]) -> str:
    """`way/123`, wherever the file's writer puts it."""
    for value in (feature.get("id"), properties.get("@id"), properties.get("id")):
        if isinstance(value, str | int) and str(value):
            kind = properties.get("type")
            return f"{kind}/{value}" if isinstance(value, int) and kind else str(value)
    return ""


def _iter_tags(properties: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    nested = properties.get("tags")
    for key, value in (nested if isinstance(nested, dict) else properties).items():
        if key in METADATA_KEYS and value is not None and not isinstance(nested, dict):
            continue
        match value:
            case bool():
                yield key, "yes" if value else "no"
            case str():
                yield key, value
            case int() | float():
                yield key, f"{value:g}"


def parse_geometry(feature: Mapping[str, Any], label: str) -> Geometry | str:
    """A feature's geometry, or why it has none that is read. Raises `InvalidPlan`."""
    geometry = feature.get("geometry")
    if geometry is None:
        return "without geometry"
    kind = geometry.get("type") if isinstance(geometry, dict) else None
    if not isinstance(kind, str) or kind not in GEOMETRY_PARSERS | UNSUPPORTED_GEOMETRIES:
        raise InvalidPlanError(
            f"{label}: geometry is {kind!r}; expected one of {', '.join(GEOMETRY_PARSERS)}"
        )
    if kind in UNSUPPORTED_GEOMETRIES:
        return f"not read, {kind}"
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


UNSUPPORTED_GEOMETRIES: Final = {"MultiPoint": None, "GeometryCollection": None}
GEOMETRY_PARSERS: Final[dict[str, Callable[[Any, str], Geometry]]] = {
    "Point": _parse_point,
    "LineString": lambda line, of: LinesGeometry((_parse_line(line, of),)),
    "MultiLineString": lambda lines, of: LinesGeometry(
        tuple(_parse_line(line, of) for line in lines)
    ),
    "Polygon": lambda polygon, of: AreaGeometry(_parse_rings(polygon, of)),
    "MultiPolygon": lambda parts, of: AreaGeometry(
        tuple(r for part in parts for r in _parse_rings(part, of))
    ),
}
