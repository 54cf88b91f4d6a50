"""Read OpenStreetMap XML with Simple Indoor Tagging into a drawing.

https://wiki.openstreetmap.org/wiki/OSM_XML, https://wiki.openstreetmap.org/wiki/Simple_Indoor_Tagging
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from parsing.drawing import (
    AreaGeometry,
    Coordinate,
    Drawing,
    LinesGeometry,
    NoteCollector,
    PointGeometry,
)
from parsing.errors import InvalidMarkupError, InvalidPlanError, NotWellFormedError
from parsing.geo.coordinates import check_coordinate
from parsing.limits import DocumentLimits
from parsing.osm.indoor import INDOOR_KEYS, build_drawing
from parsing.osm.rings import OpenRingError, join_rings
from parsing.osm.surroundings import GeoFeature
from parsing.xml.decoding import decode_document
from parsing.xml.tokens import ParserTarget, feed_document

OSM_LIMITS: Final = DocumentLimits(source_bytes=64 * 1024 * 1024, elements=2_000_000)
END_TAG: Final = b"</osm>"
TAIL_BYTES: Final = 1024
ELEMENT_KINDS: Final = frozenset({"node", "way", "relation"})
MISSING_HINT: Final = "which the file does not have; download the area with all members of its ways"
MULTIPOLYGON_ROLES: Final = frozenset({"outer", "inner", ""})


def read_osm_xml(xml: bytes, limits: DocumentLimits = OSM_LIMITS) -> Drawing:
    """Read a plan. Raises `ParsingError` with line and column, or with the id of the element."""
    reader = _OsmTarget(limits)
    try:
        feed_document(decode_document(xml, limits), reader)
    except NotWellFormedError as error:
        if END_TAG not in xml[-TAIL_BYTES:]:
            message = f"{error.message}; the file does not end with </osm>: it may be cut off"
            raise NotWellFormedError(message, error.line, error.column) from error
        raise
    collector = NoteCollector()
    return build_drawing(_iter_features(reader.extract, collector), collector)


class _OsmMember(NamedTuple):
    """A member of a relation."""

    kind: str
    id: str
    role: str


@dataclass(slots=True)
class _OsmElement:
    """A node, way or relation while it is being read."""

    kind: str
    id: str
    is_deleted: bool = False
    coordinate: Coordinate | None = None
    tags: dict[str, str] = field(default_factory=dict)
    nodes: list[str] = field(default_factory=list)
    members: list[_OsmMember] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.kind}/{self.id}"


class _OsmExtract(NamedTuple):
    """The parts of a file that features are built from, in document order.

    Untagged nodes and ways are kept only as coordinates and node ids, because ways and relations
    refer to them.
    """

    node_coordinates: dict[str, Coordinate]
    ways: dict[str, list[str]]
    tagged: list[_OsmElement]


class _OsmTarget(ParserTarget):
    """Collects nodes, ways and relations from the events of the XML parser."""

    def __init__(self, limits: DocumentLimits) -> None:
        super().__init__(limits)
        self.extract = _OsmExtract({}, {}, [])
        self._element: _OsmElement | None = None
        self._names: set[str] = set()

    def enter(self, tag: str, attributes: dict[str, str]) -> None:
        if self.depth == 1 and tag != "osm":
            raise InvalidMarkupError(
                f"the root element is <{tag}>; a file of OpenStreetMap has <osm>"
            )
        if self.depth == 2 and tag in ELEMENT_KINDS:
            self._element = self._begin(tag, attributes)
        elif self.depth == 3 and self._element is not None:
            _add_child(self._element, tag, attributes)

    def leave(self) -> None:
        if self.depth == 2 and self._element is not None:
            self._finish(self._element)
            self._element = None

    def _begin(self, kind: str, attributes: Mapping[str, str]) -> _OsmElement:
        element = _OsmElement(kind, _get_required(attributes, "id", kind))
        if element.name in self._names:
            raise InvalidPlanError(f"{element.name} is there twice; ids are unique")
        self._names.add(element.name)
        # JOSM marks deleted elements with `action`, history files with `visible`.
        deleted = attributes.get("action") == "delete" or attributes.get("visible") == "false"
        element.is_deleted = deleted
        if kind == "node" and not deleted:
            longitude = _parse_degrees(attributes, "lon", element.name)
            latitude = _parse_degrees(attributes, "lat", element.name)
            element.coordinate = check_coordinate(longitude, latitude, element.name)
        return element

    def _finish(self, element: _OsmElement) -> None:
        if element.is_deleted:
            return
        if element.coordinate is not None:
            self.extract.node_coordinates[element.id] = element.coordinate
        if element.kind == "way":
            self.extract.ways[element.id] = element.nodes
        if element.tags:
            self.extract.tagged.append(element)


def _add_child(element: _OsmElement, tag: str, attributes: Mapping[str, str]) -> None:
    if tag == "tag":
        key = _get_required(attributes, "k", f"a tag of {element.name}")
        if key in element.tags:
            raise InvalidPlanError(f"{element.name} has the tag {key!r} twice")
        element.tags[key] = _get_required(attributes, "v", f"the tag {key!r} of {element.name}")
    elif tag == "nd":
        element.nodes.append(_get_required(attributes, "ref", f"an nd of {element.name}"))
    elif tag == "member":
        label = f"a member of {element.name}"
        kind = _get_required(attributes, "type", label)
        member_id = _get_required(attributes, "ref", label)
        element.members.append(_OsmMember(kind, member_id, attributes.get("role", "")))


def _iter_features(extract: _OsmExtract, collector: NoteCollector) -> Iterator[GeoFeature]:
    for element in extract.tagged:
        if element.kind == "node" and element.coordinate is not None:
            yield GeoFeature(element.name, element.tags, PointGeometry(element.coordinate))
        elif element.kind == "way":
            yield _way_feature(element, extract)
        elif element.tags.get("type") == "multipolygon":
            yield _multipolygon_feature(element, extract)
        else:
            collector.add(f"relation of type {element.tags.get('type', 'unknown')}", element.name)


def _way_feature(way: _OsmElement, extract: _OsmExtract) -> GeoFeature:
    line = tuple(_iter_node_coordinates(way.nodes, way, extract))
    if len(line) > 3 and way.nodes[0] == way.nodes[-1]:
        return GeoFeature(way.name, way.tags, AreaGeometry((line[:-1],)))
    if len(line) < 2:
        return GeoFeature(way.name, way.tags, LinesGeometry(()))
    return GeoFeature(way.name, way.tags, LinesGeometry((line,)))


def _multipolygon_feature(relation: _OsmElement, extract: _OsmExtract) -> GeoFeature:
    if INDOOR_KEYS.isdisjoint(relation.tags):
        return GeoFeature(relation.name, relation.tags, AreaGeometry(()))
    ways = [
        member
        for member in relation.members
        if member.kind == "way" and member.role in MULTIPOLYGON_ROLES
    ]
    for way in ways:
        if way.id not in extract.ways:
            raise InvalidPlanError(f"{relation.name} has way/{way.id} as a member, {MISSING_HINT}")
    try:
        rings = join_rings(extract.ways[way.id] for way in ways)
    except OpenRingError as error:
        raise InvalidPlanError(
            f"{relation.name} is not closed: its outline ends at node/{error.end}; "
            "its ways must form rings"
        ) from error
    if not rings:
        raise InvalidPlanError(
            f"{relation.name} has no member ways; expected one with the role outer"
        )
    outlines = tuple(tuple(_iter_node_coordinates(ring, relation, extract)) for ring in rings)
    return GeoFeature(relation.name, relation.tags, AreaGeometry(outlines))


def _iter_node_coordinates(
    nodes: list[str] | tuple[str, ...], element: _OsmElement, extract: _OsmExtract
) -> Iterator[Coordinate]:
    is_indoors = not INDOOR_KEYS.isdisjoint(element.tags)
    for node in nodes:
        coordinate = extract.node_coordinates.get(node)
        if coordinate is not None:
            yield coordinate
        elif is_indoors:
            raise InvalidPlanError(f"{element.name} refers to node/{node}, {MISSING_HINT}")


def _get_required(attributes: Mapping[str, str], name: str, label: str) -> str:
    if name not in attributes:
        raise InvalidPlanError(f"{label} has no {name}")
    return attributes[name]


def _parse_degrees(attributes: Mapping[str, str], name: str, label: str) -> float:
    text = _get_required(attributes, name, label)
    try:
        return float(text)
    except ValueError as error:
        raise InvalidPlanError(f"{label} has {name}={text!r}; expected degrees") from error
