"""Read extracts of OpenStreetMap, in XML or JSON, into a drawing.

https://wiki.openstreetmap.org/wiki/OSM_XML, https://wiki.openstreetmap.org/wiki/OSM_JSON
"""

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final, NamedTuple, TypeVar

from parsing.drawing import (
    AreaGeometry,
    Coordinate,
    Coordinates,
    Drawing,
    LinesGeometry,
    NoteCollector,
    PointGeometry,
    ReadingFault,
)
from parsing.errors import (
    FaultyElementError,
    InvalidMarkupError,
    InvalidPlanError,
    NotWellFormedError,
)
from parsing.geo.geojson import check_coordinate, parse_json
from parsing.limits import DocumentLimits
from parsing.osm.indoor import INDOOR_KEYS, build_drawing, levels_of
from parsing.osm.tags import GeoFeature
from parsing.xml_documents import (
    ParserTarget,
    SourceLines,
    StartTag,
    decode_document,
    feed_document,
)

# Join ways that share their end nodes into rings, for multipolygons drawn in pieces.
# https://wiki.openstreetmap.org/wiki/Relation:multipolygon

NodeId = TypeVar("NodeId", bound=Hashable)


class OpenRingError(ValueError):
    """Pieces that do not close; no other piece continues at the node `end`."""

    def __init__(self, end: object) -> None:
        super().__init__(f"the outline ends at {end}")
        self.end = end


def join_rings(pieces: Iterable[Sequence[NodeId]]) -> list[tuple[NodeId, ...]]:
    """Join pieces into rings of at least three nodes, the first of which is not repeated.

    Raises `OpenRingError`.

    >>> join_rings(["ab", "cb", "ca"])
    [('a', 'b', 'c')]
    """
    unused = dict(enumerate(piece for piece in pieces if len(piece) > 1))
    pieces_at: defaultdict[NodeId, list[int]] = defaultdict(list)
    for number, piece in unused.items():
        for end in {piece[0], piece[-1]}:
            pieces_at[end].append(number)
    # Iterators, which pass each piece that is used up only once.
    waiting_at = {node: iter(numbers) for node, numbers in pieces_at.items()}
    rings = []
    while unused:
        chain = list(unused.pop(next(iter(unused))))
        while chain[0] != chain[-1]:
            following = next((number for number in waiting_at[chain[-1]] if number in unused), None)
            if following is None:
                raise OpenRingError(chain[-1])
            piece = unused.pop(following)
            chain += piece[1:] if piece[0] == chain[-1] else piece[-2::-1]
        if len(chain) < 4:
            raise OpenRingError(chain[0])
        rings.append(tuple(chain[:-1]))
    return rings


# Build features from the nodes, ways and relations of OpenStreetMap. An extract may be cut: it
# refers to nodes and ways outside of its bounding box. Of an indoor element only what is certainly
# right is read; outside, missing nodes are left out of lines.

MISSING_HINT: Final = "which the file does not have; download the area with all members of its ways"
MULTIPOLYGON_ROLES: Final = frozenset({"outer", "inner", ""})
PATH_VALUES: Final = frozenset({"corridor", "footway", "path", "pedestrian"})


class OsmMember(NamedTuple):
    """A member of a relation."""

    kind: str
    id: str
    role: str

    @property
    def name(self) -> str:
        return f"{self.kind}/{self.id}"


@dataclass(slots=True)
class OsmElement:
    """A node, way or relation."""

    kind: str
    id: str
    file: str
    coordinate: Coordinate | None = None
    tags: dict[str, str] = field(default_factory=dict)
    nodes: list[str] = field(default_factory=list)
    members: list[OsmMember] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.kind}/{self.id}"

    @property
    def is_indoors(self) -> bool:
        """Return whether the element may be part of a plan; a track on a level is not."""
        is_track = "indoor" not in self.tags and self.tags.get("railway", "platform") != "platform"
        return not INDOOR_KEYS.isdisjoint(self.tags) and not is_track


@dataclass(slots=True)
class Extract:
    """The parts of files that features are built from, in document order.

    Untagged nodes and ways are kept only as coordinates and node ids, because ways and relations
    refer to them. `files` has the files of all elements by name, also of those that are left out.
    """

    nodes: dict[str, Coordinate] = field(default_factory=dict)
    ways: dict[str, list[str]] = field(default_factory=dict)
    tagged: dict[str, OsmElement] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    def has_same(self, element: OsmElement) -> bool:
        """Return whether the element of this name that was read has the same contents."""
        known = self.tagged.get(element.name)
        if element.tags != (known.tags if known else {}):
            return False
        if element.kind == "node":
            return self.nodes.get(element.id) == element.coordinate
        if element.kind == "way":
            return self.ways.get(element.id) == element.nodes
        return known is None or known.members == element.members

    def describe_missing(self, name: str) -> str:
        return "which is left out" if name in self.files else MISSING_HINT


def iter_features(extract: Extract, collector: NoteCollector) -> Iterator[GeoFeature]:
    """Iterate over the features of tagged elements; those that lack a part are faults."""
    _apply_level_relations(extract)
    for element in extract.tagged.values():
        try:
            feature = _build_feature(element, extract, collector)
        except FaultyElementError as error:
            cause = f"left out, {error.reason}"
            collector.add_fault(_to_fault(cause, error.message, element, extract))
            continue
        if feature is not None:
            yield feature


def _build_feature(
    element: OsmElement, extract: Extract, collector: NoteCollector
) -> GeoFeature | None:
    """Return an element as a feature, or None for other relations than multipolygons."""
    if element.coordinate is not None:
        return GeoFeature(element.name, element.tags, PointGeometry(element.coordinate))
    if element.kind == "way":
        return _way_feature(element, extract, collector)
    relation_type = element.tags.get("type", "unknown")
    if relation_type == "multipolygon":
        return _multipolygon_feature(element, extract)
    if relation_type != "level":
        collector.add(f"relation of type {relation_type}", element.name)
    return None


def _apply_level_relations(extract: Extract) -> None:
    """Give the members of relations of type level (IndoorOSM) its level, if they have none."""
    levels: dict[str, list[str]] = {}
    for relation in extract.tagged.values():
        if relation.tags.get("type") == "level" and "level" in relation.tags:
            for member in relation.members:
                levels.setdefault(member.name, []).append(relation.tags["level"])
    for element in extract.tagged.values():
        if element.name in levels:
            element.tags.setdefault("level", ";".join(levels[element.name]))


def _way_feature(way: OsmElement, extract: Extract, collector: NoteCollector) -> GeoFeature | None:
    missing = next((node for node in way.nodes if node not in extract.nodes), None)
    if missing is None:
        line = tuple(extract.nodes[node] for node in way.nodes)
        if len(line) > 3 and way.nodes[0] == way.nodes[-1]:
            return GeoFeature(way.name, way.tags, AreaGeometry((line[:-1],)))
        return GeoFeature(way.name, way.tags, LinesGeometry((line,) if len(line) > 1 else ()))
    pieces = LinesGeometry(tuple(_iter_pieces(way.nodes, extract)))
    if way.is_indoors:
        hint = extract.describe_missing(f"node/{missing}")
        message = f"{way.name} refers to node/{missing}, {hint}"
        if not pieces.lines or not _is_certain_in_pieces(way):
            raise FaultyElementError("node missing", message)
        collector.add_fault(_to_fault("read in part, node missing", message, way, extract))
    return GeoFeature(way.name, way.tags, pieces)


def _iter_pieces(nodes: Sequence[str], extract: Extract) -> Iterator[Coordinates]:
    """Iterate over the parts of a way between its missing nodes."""
    for is_known, run in groupby(nodes, extract.nodes.__contains__):
        line = tuple(extract.nodes[node] for node in run) if is_known else ()
        if len(line) > 1:
            yield line


def _is_certain_in_pieces(way: OsmElement) -> bool:
    """Return whether the known parts of a way are as good as all of it: walls, paths on a level."""
    tags = way.tags
    is_path = tags.get("highway") in PATH_VALUES and len(levels_of(tags)) == 1
    return tags.get("indoor") == "wall" or "barrier" in tags or is_path


def _multipolygon_feature(relation: OsmElement, extract: Extract) -> GeoFeature:
    if not relation.is_indoors:
        return GeoFeature(relation.name, relation.tags, AreaGeometry(()))
    outlines = tuple(
        tuple(extract.nodes[node] for node in ring) for ring in _join_members(relation, extract)
    )
    return GeoFeature(relation.name, relation.tags, AreaGeometry(outlines))


def _join_members(relation: OsmElement, extract: Extract) -> list[tuple[str, ...]]:
    """Return the nodes of all rings: without one of them, the inside of the area is not certain.

    Raises `FaultyElementError`.
    """
    ways = [
        member
        for member in relation.members
        if member.kind == "way" and member.role in MULTIPOLYGON_ROLES
    ]
    for way in ways:
        if way.id not in extract.ways:
            hint = extract.describe_missing(way.name)
            message = f"{relation.name} has {way.name} as a member, {hint}"
            raise FaultyElementError("member missing", message)
    try:
        rings = join_rings(extract.ways[way.id] for way in ways)
    except OpenRingError as error:
        message = (
            f"{relation.name} is not closed: its outline ends at node/{error.end}; "
            "its ways must form rings"
        )
        raise FaultyElementError("ring not closed", message) from error
    if not rings:
        message = f"{relation.name} has no member ways; expected one with the role outer"
        raise FaultyElementError("member missing", message)
    missing = next((node for ring in rings for node in ring if node not in extract.nodes), None)
    if missing is not None:
        hint = extract.describe_missing(f"node/{missing}")
        message = f"{relation.name} refers to node/{missing}, {hint}"
        raise FaultyElementError("node missing", message)
    return rings


def _to_fault(cause: str, message: str, element: OsmElement, extract: Extract) -> ReadingFault:
    """Return a fault at the first node of the element that is known."""
    ways = (extract.ways.get(member.id, []) for member in element.members if member.kind == "way")
    nodes = (node for way in (element.nodes, *ways) for node in way)
    position = next((extract.nodes[node] for node in nodes if node in extract.nodes), None)
    levels = levels_of(element.tags)
    name = element.tags.get("name", "")
    return ReadingFault(
        cause, message, element.name, element.file, position=position, levels=levels, name=name
    )


# Read OSM JSON, as Overpass writes it, through the reader of OSM XML.
# https://wiki.openstreetmap.org/wiki/OSM_JSON

OSM_JSON_START: Final = re.compile(r'\{(?:[^\["]|"[^"]*+")*?"elements"\s*+:\s*+\[')
ATTRIBUTES: Final = ("id", "lon", "lat")


def feed_json(content: bytes, name: str, target: ParserTarget, collector: NoteCollector) -> None:
    """Feed the elements of a document to a target for OSM XML. Raises `ParsingError`.

    With `out geom`, ways have the coordinates of their nodes, which need not be elements then.
    """
    document = parse_json(content, name, collector)
    elements = document.get("elements") if isinstance(document, dict) else None
    if not isinstance(elements, list):
        raise InvalidPlanError("elements is missing; expected a list of nodes, ways and relations")
    target.start("osm", {})
    written = {node["id"] for node in _of_type(elements, "node") if isinstance(node.get("id"), int)}
    for way in _of_type(elements, "way"):
        for node, point in zip(_list(way, "nodes"), _list(way, "geometry"), strict=False):
            if isinstance(node, int) and isinstance(point, dict) and node not in written:
                written.add(node)
                _feed_element("node", {**point, "id": node}, target)
    for element in elements:
        if isinstance(element, dict) and isinstance(element.get("type"), str):
            _feed_element(element["type"], element, target)
        else:
            message = f"{str(element)[:60]!r} is no element; expected one with type and id"
            collector.leave_out("no element", message, file=name)
    target.end("osm")


def _of_type(elements: list[Any], kind: str) -> Iterator[Mapping[str, Any]]:
    return (e for e in elements if isinstance(e, dict) and e.get("type") == kind)


def _list(element: Mapping[str, Any], key: str) -> list[Any]:
    value = element.get(key)
    return value if isinstance(value, list) else []


def _feed_element(kind: str, element: Mapping[str, Any], target: ParserTarget) -> None:
    target.start(kind, _to_attributes(element, ATTRIBUTES))
    for tag, attributes in _iter_children(element):
        target.start(tag, attributes)
        target.end(tag)
    target.end(kind)


def _iter_children(element: Mapping[str, Any]) -> Iterator[StartTag]:
    for node in _list(element, "nodes"):
        yield "nd", {"ref": str(node)}
    for member in _list(element, "members"):
        keys = ("type", "ref", "role")
        yield "member", _to_attributes(member if isinstance(member, dict) else {}, keys)
    tags = element.get("tags")
    for key, value in tags.items() if isinstance(tags, dict) else ():
        yield "tag", {"k": key, "v": str(value)}


def _to_attributes(values: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, str]:
    return {key: str(values[key]) for key in keys if values.get(key) is not None}


OSM_LIMITS: Final = DocumentLimits(source_bytes=64 * 1024 * 1024, elements=2_000_000)
END_TAG: Final = b"</osm>"
TAIL_BYTES: Final = 1024
JSON_START_BYTES: Final = 64
BLANKS: Final = b"\xef\xbb\xbf \t\r\n"
ELEMENT_KINDS: Final = frozenset({"node", "way", "relation"})


def read_osm_xml(
    files: Mapping[str, bytes], collector: NoteCollector, limits: DocumentLimits = OSM_LIMITS
) -> Drawing:
    """Read one plan from one file or several (one per level, say).

    Elements that files share are read once. Negative ids, which editors give to new elements, only
    mean something in their own file. Raises `ParsingError` with line and column.
    """
    extract = Extract()
    for name, xml in files.items():
        with collector.reading_file(name):
            lines = SourceLines(collector, name)
            id_suffix = f"@{name}" if len(files) > 1 else ""
            target = _OsmTarget(extract, lines, id_suffix, collector, limits)
            if xml[:JSON_START_BYTES].lstrip(BLANKS).startswith(b"{"):
                feed_json(xml, name, target, collector)
                lines.set_places(None)
            else:
                _read_file(xml, target, lines)
    collector.raise_errors()
    return build_drawing(iter_features(extract, collector), collector)


def _read_file(xml: bytes, target: ParserTarget, lines: SourceLines) -> None:
    document = decode_document(xml, target.limits)
    try:
        feed_document(document, target)
    except NotWellFormedError as error:
        if END_TAG not in xml[-TAIL_BYTES:]:
            message = f"{error.message}; the file does not end with </osm>: it may be cut off"
            raise NotWellFormedError(message, error.line, error.column) from error
        raise
    finally:
        lines.number_faults(document)
    lines.set_places(document)


class _FaultyAttributeError(InvalidPlanError):
    """An attribute that is missing or has no valid value."""


@dataclass(slots=True)
class _OpenElement:
    """An element while it is being read, and which parts of it are faulty."""

    element: OsmElement
    is_deleted: bool = False
    is_repeated: bool = False
    lacks_shape: bool = False
    lacks_tags: bool = False


class _OsmTarget(ParserTarget):
    """Adds nodes, ways and relations to an extract from the events of the XML parser.

    `id_suffix` makes the negative ids of the file unique in the plan.
    """

    def __init__(
        self,
        extract: Extract,
        lines: SourceLines,
        id_suffix: str,
        collector: NoteCollector,
        limits: DocumentLimits,
    ) -> None:
        super().__init__(limits)
        self._ordinal = 0  # of the open element
        self._extract = extract
        self._lines = lines
        self._id_suffix = id_suffix
        self._collector = collector
        self._open: _OpenElement | None = None

    def enter(self, tag: str, attributes: dict[str, str]) -> None:
        if self.depth == 1 and tag != "osm":
            raise InvalidMarkupError(
                f"the root element is <{tag}>; a file of OpenStreetMap has <osm>"
            )
        if self.depth == 2 and tag in ELEMENT_KINDS:
            self._ordinal = self.elements
            self._open = self._begin(tag, attributes)
        elif self.depth == 3 and self._open is not None:
            self._add_child(self._open, tag, attributes)

    def leave(self) -> None:
        if self.depth == 2 and self._open is not None:
            self._finish(self._open)
            self._open = None

    def _begin(self, kind: str, attributes: Mapping[str, str]) -> _OpenElement | None:
        if "id" not in attributes:
            self._add_fault("attribute missing", f"{kind} has no id")
            return None
        element = OsmElement(kind, self._qualify(attributes["id"]), self._lines.file)
        known_file = self._extract.files.get(element.name)
        if known_file == element.file:
            message = f"{element.name} is there twice; ids are unique"
            self._add_fault("duplicate id", message, element)
            return None
        self._extract.files.setdefault(element.name, element.file)
        # JOSM marks deleted elements with `action`, history files with `visible`.
        deleted = attributes.get("action") == "delete" or attributes.get("visible") == "false"
        opened = _OpenElement(element, deleted, is_repeated=known_file is not None)
        if kind == "node" and not deleted:
            try:
                longitude = _parse_degrees(attributes, "lon", element.name)
                latitude = _parse_degrees(attributes, "lat", element.name)
                element.coordinate = check_coordinate(longitude, latitude, element.name)
            except InvalidPlanError as error:
                self._add_fault("invalid coordinate", error.message, element)
                opened.lacks_shape = True
        return opened

    def _add_child(self, opened: _OpenElement, tag: str, attributes: Mapping[str, str]) -> None:
        element = opened.element
        try:
            if tag == "tag":
                key = _get_required(attributes, "k", f"a tag of {element.name}")
                value = _get_required(attributes, "v", f"the tag {key!r} of {element.name}")
                if element.tags.setdefault(key, value) != value:
                    opened.lacks_tags = True
                    self._add_fault(
                        "tag twice", f"{element.name} has the tag {key!r} twice", element
                    )
            elif tag == "nd":
                reference = _get_required(attributes, "ref", f"an nd of {element.name}")
                element.nodes.append(self._qualify(reference))
            elif tag == "member":
                label = f"a member of {element.name}"
                kind = _get_required(attributes, "type", label)
                member_id = self._qualify(_get_required(attributes, "ref", label))
                element.members.append(OsmMember(kind, member_id, attributes.get("role", "")))
        except _FaultyAttributeError as error:
            opened.lacks_tags = True
            opened.lacks_shape |= tag != "tag"
            self._add_fault("attribute missing", error.message, element)

    def _qualify(self, reference: str) -> str:
        return reference + self._id_suffix if reference.startswith("-") else reference

    def _finish(self, opened: _OpenElement) -> None:
        element, extract = opened.element, self._extract
        if opened.is_repeated:
            self._collector.add("in several files, read once", element.name)
            if not opened.is_deleted and not extract.has_same(element):
                file = extract.files[element.name]
                message = f"{element.name} has other contents than in {file}, which are read"
                self._add_fault("other contents in another file", message, element)
            return
        if opened.is_deleted:
            del extract.files[element.name]
        if opened.is_deleted or opened.lacks_shape:
            return
        if element.coordinate is not None:
            extract.nodes[element.id] = element.coordinate
        if element.kind == "way":
            extract.ways[element.id] = element.nodes
        if element.tags and not opened.lacks_tags:
            extract.tagged[element.name] = element
            self._lines.add_part(element.name, self._ordinal, element.tags.get("name", ""))

    def _add_fault(self, reason: str, message: str, element: OsmElement | None = None) -> None:
        part, position = (element.name, element.coordinate) if element else ("", None)
        fault = ReadingFault(
            f"left out, {reason}", message, part, self._lines.file, position=position
        )
        self._lines.add_fault(fault, self.elements)


def _get_required(attributes: Mapping[str, str], name: str, label: str) -> str:
    if name not in attributes:
        raise _FaultyAttributeError(f"{label} has no {name}")
    return attributes[name]


def _parse_degrees(attributes: Mapping[str, str], name: str, label: str) -> float:
    text = _get_required(attributes, name, label)
    try:
        return float(text)
    except ValueError as error:
        raise _FaultyAttributeError(f"{label} has {name}={text!r}; expected degrees") from error
