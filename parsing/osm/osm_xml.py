"""Read OpenStreetMap XML or JSON with Simple Indoor Tagging into a drawing.

https://wiki.openstreetmap.org/wiki/OSM_XML, https://wiki.openstreetmap.org/wiki/Simple_Indoor_Tagging
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from parsing.drawing import Drawing, NoteCollector, ReadingFault, SourcePlace
from parsing.errors import InvalidMarkupError, InvalidPlanError, NotWellFormedError
from parsing.geo.coordinates import check_coordinate
from parsing.limits import DocumentLimits
from parsing.osm.elements import Extract, OsmElement, OsmMember, iter_features
from parsing.osm.indoor import build_drawing
from parsing.osm.osm_json import feed_json
from parsing.xml.decoding import decode_document
from parsing.xml.tokens import ParserTarget, feed_document, number_faults, number_lines

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
            scope = _FileScope(name, f"@{name}" if len(files) > 1 else "")
            target = _OsmTarget(extract, scope, collector, limits)
            if xml[:JSON_START_BYTES].lstrip(BLANKS).startswith(b"{"):
                feed_json(xml, name, target, collector)
                collector.places |= {
                    part: SourcePlace(name, name=target.names.get(part, ""))
                    for part in target.ordinals
                }
            else:
                _read_file(xml, target, collector)
    collector.raise_errors()
    return build_drawing(iter_features(extract, collector), collector)


class _FileScope(NamedTuple):
    """A file, and what makes its negative ids unique in the plan."""

    file: str
    suffix: str


def _read_file(xml: bytes, target: "_OsmTarget", collector: NoteCollector) -> None:
    document = decode_document(xml, target.limits)
    try:
        feed_document(document, target)
    except NotWellFormedError as error:
        if END_TAG not in xml[-TAIL_BYTES:]:
            message = f"{error.message}; the file does not end with </osm>: it may be cut off"
            raise NotWellFormedError(message, error.line, error.column) from error
        raise
    finally:
        number_faults(collector, document, target.fault_ordinals)
    lines = number_lines(document, target.ordinals.values())
    for part, line in zip(target.ordinals, lines, strict=True):
        collector.places[part] = SourcePlace(target.file, line, target.names.get(part, ""))


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
    """Adds nodes, ways and relations to an extract from the events of the XML parser."""

    def __init__(
        self, extract: Extract, scope: _FileScope, collector: NoteCollector, limits: DocumentLimits
    ) -> None:
        super().__init__(limits)
        self.fault_ordinals: dict[int, int] = {}
        """Number of the start tag of each fault, by index in the collector's list."""
        self.ordinals: dict[str, int] = {}
        """Number of the start tag of each element with tags, by its kind and id."""
        self.names: dict[str, str] = {}
        """The tag `name` of elements that have it."""
        self.file = scope.file
        self._ordinal = 0  # of the open element
        self._extract = extract
        self._scope = scope
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
        element = OsmElement(kind, self._qualify(attributes["id"]), self._scope.file)
        known_file = self._extract.files.get(element.name)
        if known_file == self._scope.file:
            message = f"{element.name} is there twice; ids are unique"
            self._add_fault("duplicate id", message, element)
            return None
        self._extract.files.setdefault(element.name, self._scope.file)
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
        return reference + self._scope.suffix if reference.startswith("-") else reference

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
            self.ordinals[element.name] = self._ordinal
            self.names[element.name] = element.tags.get("name", "")

    def _add_fault(self, reason: str, message: str, element: OsmElement | None = None) -> None:
        index = len(self._collector.faults)
        self._collector.add_fault(
            ReadingFault(
                f"left out, {reason}",
                message,
                element.name if element else "",
                self._scope.file,
                position=element.coordinate if element else None,
            )
        )
        if len(self._collector.faults) > index:
            self.fault_ordinals[index] = self.elements


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
