"""Build features from the nodes, ways and relations of OpenStreetMap.

An extract may be cut: it refers to nodes and ways outside of its bounding box. Of an indoor element
only what is certainly right is read; outside, missing nodes are left out of lines.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, NamedTuple

from parsing.drawing import (
    AreaGeometry,
    Coordinate,
    Coordinates,
    LinesGeometry,
    NoteCollector,
    PointGeometry,
    ReadingFault,
)
from parsing.errors import FaultyElementError
from parsing.osm.indoor import INDOOR_KEYS, levels_of
from parsing.osm.rings import OpenRingError, join_rings
from parsing.osm.surroundings import GeoFeature

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
        """Whether the element may be part of a plan; a track on a level is not."""
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
            collector.add_fault(_describe_fault(cause, error.message, element, extract))
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
        collector.add_fault(_describe_fault("read in part, node missing", message, way, extract))
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


def _describe_fault(
    cause: str, message: str, element: OsmElement, extract: Extract
) -> ReadingFault:
    """Return a fault at the first node of the element that is known."""
    ways = (extract.ways.get(member.id, []) for member in element.members if member.kind == "way")
    nodes = (node for way in (element.nodes, *ways) for node in way)
    position = next((extract.nodes[node] for node in nodes if node in extract.nodes), None)
    levels = levels_of(element.tags)
    name = element.tags.get("name", "")
    return ReadingFault(
        cause, message, element.name, element.file, position=position, levels=levels, name=name
    )
