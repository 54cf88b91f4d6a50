"""Read GeoJSON (RFC 7946): documents, feature collections and geometries.

Which properties a feature has is left to the format that uses GeoJSON.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Any, Final, NamedTuple

import orjson

from parsing.drawing import (
    AreaGeometry,
    Coordinate,
    Coordinates,
    Geometry,
    LinesGeometry,
    NoteCollector,
    PointGeometry,
    ReadingFault,
)
from parsing.errors import DocumentRejectedError, InvalidPlanError, NotWellFormedError
from parsing.xml_documents import to_utf8


def check_coordinate(longitude: float, latitude: float, label: str) -> Coordinate:
    """Return a coordinate in degrees of WGS 84.

    Raises `InvalidPlanError` if it is out of range; `label` names the feature in its message.
    """
    if abs(longitude) <= 180 and abs(latitude) <= 90:
        return longitude, latitude
    if abs(longitude) <= 90 and abs(latitude) <= 180:
        advice = "the two seem to have changed places"
    else:
        advice = "expected degrees of WGS 84, longitude up to 180 and latitude up to 90"
    raise InvalidPlanError(
        f"{label} is at longitude {longitude:g}, latitude {latitude:g}; {advice}"
    )


MAX_SOURCE_BYTES: Final = 64 * 1024 * 1024
RECORD_SEPARATOR: Final = b"\x1e"
MAX_COLLECTION_DEPTH: Final = 4
WGS_84_NAMES: Final = ("CRS84", "EPSG::4326", "EPSG:4326")
FEATURE_TYPE: Final = re.compile(rb'"type"\s*+:\s*+"Feature"')
# Possessive, so that a string without an end takes linear time too.
LIST_START: Final = re.compile(rb'"features"\s*+:\s*+\[|\A\s*+\[')
ITEM_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[\]{},\n]|[^\s"\[\]{},]++', re.DOTALL)
STRING_OR_TRAILING_COMMA: Final = re.compile(rb'"(?:[^"\\]|\\.)*+"?|(,)(?=\s*+[\]}])', re.DOTALL)


class GeoJsonFeature(NamedTuple):
    """A feature with its file and its place in it, such as `features[3]`; the line if known."""

    file: str
    place: str
    content: Mapping[str, Any]
    line: int = 0


def parse_json(content: bytes, name: str, collector: NoteCollector) -> Any:
    """Parse a JSON document; commas before a closing bracket are faults.

    A document on each line (RFC 8142 or newline-delimited) is a list of them.

    Raises `NotWellFormedError` with line and column, or `DocumentRejectedError` if it is too large.
    """
    if len(content) > MAX_SOURCE_BYTES:
        raise DocumentRejectedError(
            f"{len(content):,} bytes; at most {MAX_SOURCE_BYTES:,} are read"
        )
    # A parser may ignore a byte order mark (RFC 8259, section 8.1); orjson does not.
    content = to_utf8(content)
    try:
        return orjson.loads(content)
    except orjson.JSONDecodeError:
        commas = find_trailing_commas(content)
    text = bytearray(content)
    for offset in commas:
        text[offset] = ord(" ")
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        lines = content.translate(None, RECORD_SEPARATOR).split(b"\n")
        with suppress(orjson.JSONDecodeError):
            if documents := [orjson.loads(line) for line in lines if line.strip()]:
                return documents
        reason = str(error).rpartition(" (char")[0] or str(error)
        raise NotWellFormedError(f"not JSON in UTF-8: {reason}") from error
    message = "a comma follows the last element; JSON has none there"
    for line in _number_lines(content, commas):
        collector.add_fault(ReadingFault("trailing comma", message, file=name, line=line))
    return document


def _number_lines(text: bytes, offsets: Iterable[int]) -> Iterator[int]:
    """Iterate over the lines of ascending offsets, in linear time."""
    line, counted = 1, 0
    for offset in offsets:
        line += text.count(b"\n", counted, offset)
        counted = offset
        yield line


def find_trailing_commas(text: bytes) -> list[int]:
    """Return the offsets of commas before a closing bracket, outside of strings, in linear time.

    >>> find_trailing_commas(b'{"a": [1, 2,], "b": ",]",}')
    [11, 24]
    """
    return [match.start() for match in STRING_OR_TRAILING_COMMA.finditer(text) if match[1]]


def parse_collections(content: bytes, name: str, collector: NoteCollector) -> list[GeoJsonFeature]:
    """Return the features of a document in WGS 84; what is no Feature is a fault.

    FeatureCollections inside of other objects, and features that are in none, are read, which is a
    fault as well. Raises `ParsingError`.
    """
    document = parse_json(content, name, collector)
    collections = list(_iter_collections(document, ""))
    if not collections:
        kind = document.get("type") if isinstance(document, dict) else None
        message = f"type is {kind!r}; expected a GeoJSON FeatureCollection"
        collector.leave_out("no FeatureCollection", message, file=name)
    elif instead := _describe_deviation(document, [member for member, _ in collections]):
        message = f"expected a GeoJSON FeatureCollection; read {instead}"
        collector.add_fault(ReadingFault("no FeatureCollection", message, file=name))
    features = []
    for member, collection in collections:
        _check_reference_system(collection.get("crs"))
        items = collection.get("features")
        if not isinstance(items, list):
            message = "features is missing; expected a list of features"
            collector.leave_out("no features", message, file=name)
            continue
        for item, index, line in zip(items, count(), find_item_lines(content, items)):
            label = f"{member}.features[{index}]".removeprefix(".")
            if not _is_feature(item):
                message = f"{label} is not a GeoJSON Feature"
                collector.leave_out("no Feature", message, label, name, line=line)
                continue
            if "type" not in item:
                message = f"{label} has no type; read as a Feature"
                collector.add_fault(ReadingFault("member missing", message, label, name, line))
            features.append(GeoJsonFeature(name, label, item, line))
    lines = find_feature_lines(content, len(features))
    return [
        feature._replace(line=feature.line or line)
        for feature, line in zip(features, lines, strict=True)
    ]


def find_feature_lines(content: bytes, count: int) -> list[int]:
    """Return the lines of the `type` of so many features, in linear time; 0 for all if unsure.

    A document has as many of these members as features unless its properties have some too.
    Lines say nothing of a document that is on one line.

    >>> find_feature_lines(b'[{"type": "Feature"},\\n {"type": "Feature"}]', 2)
    [1, 2]
    """
    offsets = [match.start() for match in FEATURE_TYPE.finditer(content)]
    if len(offsets) != count or b"\n" not in content[: max(offsets, default=0)]:
        return [0] * count
    return [*_number_lines(content, offsets)]


def find_item_lines(content: bytes, items: Sequence[Any]) -> list[int]:
    """Return the lines of the items of a document's list, if some are no features with a type.

    Else, and if it is unsure, 0 for all: `find_feature_lines` takes less time.

    >>> find_item_lines(b'{"features": [7,\\n {"type": "Feature"}]}', [7, {"type": "Feature"}])
    [1, 2]
    """
    starts = [match.end() - 1 for match in LIST_START.finditer(content)]
    is_plain = all(isinstance(item, dict) and item.get("type") == "Feature" for item in items)
    if is_plain or len(starts) != 1 or b"\n" not in content:
        return [0] * len(items)
    lines: list[int] = []
    line, depth = 1 + content.count(b"\n", 0, starts[0]), 0
    awaits_item = False
    for match in ITEM_TOKEN.finditer(content, starts[0]):
        token = match[0]
        if token == b"\n":
            line += 1
            continue
        if awaits_item:
            lines.append(line)
        awaits_item = depth + (token == b"[") == 1 and token in (b"[", b",")
        depth += (token in (b"[", b"{")) - (token in (b"]", b"}"))
        if depth == 0:
            break
    return lines if len(lines) == len(items) else [0] * len(items)


def _is_feature(value: Any) -> bool:
    """Return whether a value is a Feature, or would be one with a type."""
    if not isinstance(value, dict):
        return False
    return value.get("type") == "Feature" or ("type" not in value and bool(geometry_type(value)))


def _iter_collections(value: Any, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Iterate over the FeatureCollections in the members of objects, with their paths.

    The whole document may also be a list of features, one feature, or lack its type.
    """
    if not path and (isinstance(value, list) or _is_feature(value)):
        yield path, {"features": value if isinstance(value, list) else [value]}
        return
    if not isinstance(value, dict) or path.count(".") >= MAX_COLLECTION_DEPTH:
        return
    is_untyped = not path and "type" not in value and isinstance(value.get("features"), list)
    if is_untyped or value.get("type") == "FeatureCollection":
        yield path, value
        return
    for key, member in value.items():
        yield from _iter_collections(member, f"{path}.{key}" if path else key)


def _describe_deviation(document: Any, members: Sequence[str]) -> str:
    """Return what a document is instead of a FeatureCollection, or ""."""
    if isinstance(document, list):
        return "the features of a list"
    if _is_feature(document):
        return "the only feature"
    if members[0]:
        return f"from inside: {', '.join(members)}"
    return "" if "type" in document else "one without type"


def _check_reference_system(system: Any) -> None:
    """Reject the `crs` member of GeoJSON before RFC 7946 unless it names WGS 84."""
    properties = system.get("properties") if isinstance(system, dict) else None
    crs_name = properties.get("name") if isinstance(properties, dict) else None
    if isinstance(crs_name, str) and not crs_name.endswith(WGS_84_NAMES):
        raise InvalidPlanError(f"coordinates are in {crs_name}; GeoJSON has them in WGS 84")


def geometry_type(feature: Mapping[str, Any]) -> Any:
    """Return the declared type of a feature's geometry, or None."""
    geometry = feature.get("geometry")
    return geometry.get("type") if isinstance(geometry, dict) else None


def parse_geometry(feature: Mapping[str, Any], label: str) -> Geometry | None:
    """Parse a feature's geometry, or return None if it has none or one of an unsupported type.

    Raises `InvalidPlanError`; `label` names the feature in its message.

    >>> point = {"geometry": {"type": "Point", "coordinates": [10.2, 56.1]}}
    >>> parse_geometry(point, "node/1")
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


def find_position(feature: Mapping[str, Any]) -> Coordinate | None:
    """Return the first position of a geometry that cannot be parsed, if that one is valid."""
    geometry = feature.get("geometry")
    value = geometry.get("coordinates") if isinstance(geometry, dict) else None
    while isinstance(value, list) and value and isinstance(value[0], list):
        value = value[0]
    try:
        return _parse_position(value, "")
    except InvalidPlanError:
        return None


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


UNSUPPORTED_GEOMETRIES: Final = ("MultiPoint", "GeometryCollection")
GEOMETRY_PARSERS: Final[dict[str, Callable[[Any, str], Geometry]]] = {
    "Point": lambda position, label: PointGeometry(_parse_position(position, label)),
    "LineString": lambda line, label: LinesGeometry((_parse_line(line, label),)),
    "MultiLineString": lambda lines, label: LinesGeometry(
        tuple(_parse_line(line, label) for line in lines)
    ),
    "Polygon": lambda polygon, label: AreaGeometry(_parse_rings(polygon, label)),
    "MultiPolygon": lambda polygons, label: AreaGeometry(
        tuple(ring for polygon in polygons for ring in _parse_rings(polygon, label))
    ),
}
