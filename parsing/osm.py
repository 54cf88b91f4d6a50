"""OpenStreetMap XML with Simple Indoor Tagging -> a drawing.

https://wiki.openstreetmap.org/wiki/OSM_XML, https://wiki.openstreetmap.org/wiki/Simple_Indoor_Tagging
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from parsing.drawing import Area, Coordinate, Drawing, Lines, Notebook, Point
from parsing.errors import InvalidMarkup, InvalidPlan, NotWellFormed
from parsing.indoor import INDOOR_KEYS, draw
from parsing.limits import Limits
from parsing.places import checked_place
from parsing.rings import OpenRing, join
from parsing.source import read_document
from parsing.surroundings import Sketch
from parsing.tokens import Target, feed

LIMITS: Final = Limits(source_bytes=64 * 1024 * 1024, elements=2_000_000)
END: Final = b"</osm>"
LAST_BYTES: Final = 1024
KINDS: Final = frozenset({"node", "way", "relation"})
MISSING: Final = "which the file does not have; download the area with all members of its ways"
MULTIPOLYGON_ROLES: Final = frozenset({"outer", "inner", ""})


def read(xml: bytes, limits: Limits = LIMITS) -> Drawing:
    """Raises `ParsingError`, with line and column or the id of the element at fault."""
    reader = _Reader(limits)
    try:
        feed(read_document(xml, limits), reader)
    except NotWellFormed as error:
        if END not in xml[-LAST_BYTES:]:
            message = f"{error.message}; the file does not end with </osm>: it may be cut off"
            raise NotWellFormed(message, error.line, error.column) from error
        raise
    notebook = Notebook()
    return draw(_sketches(reader.extract, notebook), notebook)


class _Member(NamedTuple):
    kind: str
    id: str
    role: str


@dataclass(slots=True)
class _Element:
    """A node, way or relation as far as it has been read."""

    kind: str
    id: str
    is_deleted: bool = False
    place: Coordinate | None = None
    tags: dict[str, str] = field(default_factory=dict)
    nodes: list[str] = field(default_factory=list)
    members: list[_Member] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.kind}/{self.id}"


class _Extract(NamedTuple):
    """What a file holds, in document order; of nodes without tags only where they are."""

    places: dict[str, Coordinate]
    ways: dict[str, list[str]]
    tagged: list[_Element]


class _Reader(Target):
    def __init__(self, limits: Limits) -> None:
        super().__init__(limits)
        self.extract = _Extract({}, {}, [])
        self._element: _Element | None = None
        self._names: set[str] = set()

    def enter(self, tag: str, attributes: dict[str, str]) -> None:
        if self.depth == 1 and tag != "osm":
            raise InvalidMarkup(f"the root element is <{tag}>; a file of OpenStreetMap has <osm>")
        if self.depth == 2 and tag in KINDS:
            self._element = self._begin(tag, attributes)
        elif self.depth == 3 and self._element is not None:
            _add_child(self._element, tag, attributes)

    def leave(self) -> None:
        if self.depth == 2 and self._element is not None:
            self._finish(self._element)
            self._element = None

    def _begin(self, kind: str, attributes: Mapping[str, str]) -> _Element:
        element = _Element(kind, _required(attributes, "id", kind))
        if element.name in self._names:
            raise InvalidPlan(f"{element.name} is there twice; ids are unique")
        self._names.add(element.name)
        deleted = attributes.get("action") == "delete" or attributes.get("visible") == "false"
        element.is_deleted = deleted
        if kind == "node" and not deleted:
            longitude = _number(attributes, "lon", element.name)
            latitude = _number(attributes, "lat", element.name)
            element.place = checked_place(longitude, latitude, element.name)
        return element

    def _finish(self, element: _Element) -> None:
        if element.is_deleted:
            return
        if element.place is not None:
            self.extract.places[element.id] = element.place
        if element.kind == "way":
            self.extract.ways[element.id] = element.nodes
        if element.tags:
            self.extract.tagged.append(element)


def _add_child(element: _Element, tag: str, attributes: Mapping[str, str]) -> None:
    if tag == "tag":
        key = _required(attributes, "k", f"a tag of {element.name}")
        if key in element.tags:
            raise InvalidPlan(f"{element.name} has the tag {key!r} twice")
        element.tags[key] = _required(attributes, "v", f"the tag {key!r} of {element.name}")
    elif tag == "nd":
        element.nodes.append(_required(attributes, "ref", f"an nd of {element.name}"))
    elif tag == "member":
        of = f"a member of {element.name}"
        kind, name = _required(attributes, "type", of), _required(attributes, "ref", of)
        element.members.append(_Member(kind, name, attributes.get("role", "")))


def _sketches(extract: _Extract, notebook: Notebook) -> Iterator[Sketch]:
    for element in extract.tagged:
        if element.kind == "node" and element.place is not None:
            yield Sketch(element.name, element.tags, Point(element.place))
        elif element.kind == "way":
            yield _way(element, extract)
        elif element.tags.get("type") == "multipolygon":
            yield _multipolygon(element, extract)
        else:
            notebook.add(f"relation of type {element.tags.get('type', 'unknown')}", element.name)


def _way(way: _Element, extract: _Extract) -> Sketch:
    line = tuple(_places(way.nodes, way, extract))
    if len(line) > 3 and way.nodes[0] == way.nodes[-1]:
        return Sketch(way.name, way.tags, Area((line[:-1],)))
    if len(line) < 2:
        return Sketch(way.name, way.tags, Lines(()))
    return Sketch(way.name, way.tags, Lines((line,)))


def _multipolygon(relation: _Element, extract: _Extract) -> Sketch:
    if INDOOR_KEYS.isdisjoint(relation.tags):
        return Sketch(relation.name, relation.tags, Area(()))
    ways = [
        member
        for member in relation.members
        if member.kind == "way" and member.role in MULTIPOLYGON_ROLES
    ]
    for way in ways:
        if way.id not in extract.ways:
            raise InvalidPlan(f"{relation.name} has way/{way.id} as a member, {MISSING}")
    try:
        rings = join(extract.ways[way.id] for way in ways)
    except OpenRing as error:
        raise InvalidPlan(
            f"{relation.name} is not closed: its outline ends at node/{error.end}; "
            "its ways must form rings"
        ) from error
    if not rings:
        raise InvalidPlan(f"{relation.name} has no member ways; expected one with the role outer")
    outlines = tuple(tuple(_places(ring, relation, extract)) for ring in rings)
    return Sketch(relation.name, relation.tags, Area(outlines))


def _places(
    nodes: list[str] | tuple[str, ...], of: _Element, extract: _Extract
) -> Iterator[Coordinate]:
    is_indoors = not INDOOR_KEYS.isdisjoint(of.tags)
    for node in nodes:
        place = extract.places.get(node)
        if place is not None:
            yield place
        elif is_indoors:
            raise InvalidPlan(f"{of.name} refers to node/{node}, {MISSING}")


def _required(attributes: Mapping[str, str], name: str, of: str) -> str:
    if name not in attributes:
        raise InvalidPlan(f"{of} has no {name}")
    return attributes[name]


def _number(attributes: Mapping[str, str], name: str, of: str) -> float:
    text = _required(attributes, name, of)
    try:
        return float(text)
    except ValueError as error:
        raise InvalidPlan(f"{of} has {name}={text!r}; expected degrees") from error
