"""GeoJSON (RFC 7946) with OpenStreetMap's indoor tags as properties -> a drawing.

As osmtogeojson, JOSM and Overpass Turbo write it; `properties.tags` may hold the tags instead.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import orjson

from parsing.drawing import (
    Area,
    Coordinate,
    Coordinates,
    Drawing,
    Geometry,
    Lines,
    Notebook,
    Point,
)
from parsing.errors import InvalidPlan, NotWellFormed, Refused
from parsing.indoor import draw
from parsing.places import checked_place
from parsing.surroundings import Sketch

SOURCE_BYTES: Final = 64 * 1024 * 1024
WGS_84: Final = ("CRS84", "EPSG::4326", "EPSG:4326")
# What editors and converters add to a feature that is none of its tags.
METADATA: Final = frozenset(
    {"id", "@id", "type", "timestamp", "version", "changeset", "user", "uid", "meta", "relations"}
)


def read(files: Mapping[str, bytes]) -> Drawing:
    """One plan from one file or several, as of one a level. Raises `ParsingError`."""
    notebook = Notebook()
    sketches: dict[str, Sketch] = {}
    for name, json in files.items():
        for sketch in _sketches(load_collection(json, name), name, notebook):
            if sketch.id in sketches:
                raise InvalidPlan(f"{name}: {sketch.id} is there twice; ids are unique")
            sketches[sketch.id] = sketch
    try:
        return draw(sketches.values(), notebook)
    except InvalidPlan as error:
        raise InvalidPlan(f"{', '.join(files)}: {error}") from error


def load_json(json: bytes, name: str) -> Any:
    """Any JSON document. Raises `NotWellFormed` with file, line and column, or `Refused`."""
    if len(json) > SOURCE_BYTES:
        raise Refused(f"{name}: {len(json):,} bytes; at most {SOURCE_BYTES:,} are read")
    try:
        return orjson.loads(json.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        reason = str(error).rpartition(" (char")[0] or str(error)
        raise NotWellFormed(f"{name}: not JSON in UTF-8: {reason}") from error


def load_collection(json: bytes, name: str) -> Sequence[Mapping[str, Any]]:
    """The features of a FeatureCollection. Raises `ParsingError`."""
    collection = load_json(json, name)
    kind = collection.get("type") if isinstance(collection, dict) else None
    if kind != "FeatureCollection":
        raise InvalidPlan(f"{name}: type is {kind!r}; expected a GeoJSON FeatureCollection")
    _check_reference_system(collection.get("crs"), name)
    features = collection.get("features")
    if not isinstance(features, list):
        raise InvalidPlan(f"{name}: features is missing; expected a list of features")
    for position, feature in enumerate(features):
        if not isinstance(feature, dict) or feature.get("type") != "Feature":
            raise InvalidPlan(f"{name}: features[{position}] is not a GeoJSON Feature")
    return features


def _check_reference_system(system: Any, name: str) -> None:
    """GeoJSON before RFC 7946 could name another one."""
    properties = system.get("properties") if isinstance(system, dict) else None
    named = properties.get("name") if isinstance(properties, dict) else None
    if isinstance(named, str) and not named.endswith(WGS_84):
        raise InvalidPlan(f"{name}: coordinates are in {named}; GeoJSON has them in WGS 84")


def _sketches(
    features: Sequence[Mapping[str, Any]], name: str, notebook: Notebook
) -> Iterator[Sketch]:
    for position, feature in enumerate(features):
        properties = feature.get("properties") or {}
        if not isinstance(properties, dict):
            raise InvalidPlan(f"{name}: features[{position}] has properties that are no object")
        feature_id = _id_of(feature, properties) or f"features[{position}]"
        tags = dict(_tags(properties))
        shape = geometry_of(feature, f"{name}: {feature_id}")
        if isinstance(shape, str):
            notebook.add(shape, feature_id)
        else:
            yield Sketch(feature_id, tags, shape)


def _id_of(feature: Mapping[str, Any], properties: Mapping[str, Any]) -> str:
    """`way/123`, wherever the file's writer puts it."""
    for value in (feature.get("id"), properties.get("@id"), properties.get("id")):
        if isinstance(value, str | int) and str(value):
            kind = properties.get("type")
            return f"{kind}/{value}" if isinstance(value, int) and kind else str(value)
    return ""


def _tags(properties: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    nested = properties.get("tags")
    for key, value in (nested if isinstance(nested, dict) else properties).items():
        if key in METADATA and value is not None and not isinstance(nested, dict):
            continue
        match value:
            case bool():
                yield key, "yes" if value else "no"
            case str():
                yield key, value
            case int() | float():
                yield key, f"{value:g}"


def geometry_of(feature: Mapping[str, Any], of: str) -> Geometry | str:
    """A feature's geometry, or why it has none that is read. Raises `InvalidPlan`."""
    geometry = feature.get("geometry")
    if geometry is None:
        return "without geometry"
    kind = geometry.get("type") if isinstance(geometry, dict) else None
    if not isinstance(kind, str) or kind not in READERS | UNREAD:
        raise InvalidPlan(f"{of}: geometry is {kind!r}; expected one of {', '.join(READERS)}")
    if kind in UNREAD:
        return f"not read, {kind}"
    coordinates = geometry.get("coordinates")
    if not isinstance(coordinates, list) or not coordinates:
        raise InvalidPlan(f"{of}: {kind} without coordinates")
    return READERS[kind](coordinates, of)


def _place(position: Any, of: str) -> Coordinate:
    match position:
        case [int() | float() as longitude, int() | float() as latitude, *_]:
            return checked_place(float(longitude), float(latitude), of)
    raise InvalidPlan(f"{of}: {position!r:.60} is no position; expected [longitude, latitude]")


def _line(positions: Any, of: str) -> Coordinates:
    if not isinstance(positions, list):
        raise InvalidPlan(f"{of}: {positions!r:.60} is no list of positions")
    line = tuple(_place(position, of) for position in positions)
    if len(line) < 2:
        raise InvalidPlan(f"{of}: a line of one position; expected at least two")
    return line


def _ring(positions: Any, of: str) -> Coordinates:
    ring = _line(positions, of)
    if ring[0] != ring[-1]:
        raise InvalidPlan(
            f"{of}: a ring is not closed: it starts at {list(ring[0])} and ends at "
            f"{list(ring[-1])}; expected the first position again (RFC 7946, section 3.1.6)"
        )
    if len(ring) < 4:
        raise InvalidPlan(f"{of}: a ring of {len(ring)} positions; expected at least four")
    return ring[:-1]


def _rings(polygon: Any, of: str) -> tuple[Coordinates, ...]:
    if not isinstance(polygon, list):
        raise InvalidPlan(f"{of}: {polygon!r:.60} is no list of rings")
    return tuple(_ring(ring, of) for ring in polygon)


def _point(position: Any, of: str) -> Geometry:
    return Point(_place(position, of))


UNREAD: Final = {"MultiPoint": None, "GeometryCollection": None}
READERS: Final[dict[str, Callable[[Any, str], Geometry]]] = {
    "Point": _point,
    "LineString": lambda line, of: Lines((_line(line, of),)),
    "MultiLineString": lambda lines, of: Lines(tuple(_line(line, of) for line in lines)),
    "Polygon": lambda polygon, of: Area(_rings(polygon, of)),
    "MultiPolygon": lambda parts, of: Area(tuple(r for part in parts for r in _rings(part, of))),
}
