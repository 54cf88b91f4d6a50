"""Read GeoJSON with OpenStreetMap's indoor tags as properties into a drawing.

osmtogeojson, JOSM and Overpass Turbo write such files; some converters nest the tags in
`properties.tags`.
"""

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Final

from parsing.drawing import (
    Coordinate,
    Drawing,
    NoteCollector,
    ReadingFault,
    SourcePlace,
    Tags,
    iter_coordinates,
)
from parsing.errors import InvalidPlanError
from parsing.geo.geojson import (
    GEOMETRY_PARSERS,
    GeoJsonFeature,
    find_position,
    geometry_type,
    parse_geometry,
)
from parsing.imdf.records import pick_label
from parsing.osm.indoor import INDOOR_KEYS, build_drawing, levels_of
from parsing.osm.tags import (
    CATEGORY_KEYS,
    LEVEL_KEYS,
    GeoFeature,
    find_category,
    find_level_in_name,
)

# Properties that editors and converters add to a feature beside its tags.
METADATA_KEYS: Final = frozenset(
    {"id", "@id", "timestamp", "version", "changeset", "user", "uid", "meta", "relations"}
)
OTHER_NAME: Final = re.compile(r"name[-_:][a-z]{2,3}|title|label|name", re.IGNORECASE)
ELEMENT_TYPES: Final = (("type", "node"), ("type", "way"), ("type", "relation"))
OUTDOOR_KEYS: Final = frozenset(
    {"building", "boundary", "highway", "landuse", "natural", "railway"}
)
KIND_KEYS: Final = frozenset({*INDOOR_KEYS, *OUTDOOR_KEYS, *CATEGORY_KEYS} - {"level", "repeat_on"})
"""A file in which no feature has any of these keys may say in its name what its features are."""


class _Reader:
    """Reads features one file after the other and gives them unique ids."""

    def __init__(self, has_several_files: bool, collector: NoteCollector) -> None:
        self._has_several_files = has_several_files
        self._collector = collector
        self._variants: dict[str, set[Hashable]] = {}
        """The contents of the different features of an id, by id."""
        self.features: dict[str, GeoFeature] = {}

    def add_file(self, features: Sequence[GeoJsonFeature]) -> None:
        read = [found for feature in features if (found := self._read_feature(feature))]
        for feature in _complete_from_name(read, features[0].file, self._collector):
            self._add(feature, features[0].file)

    def _read_feature(self, feature: GeoJsonFeature) -> GeoFeature | None:
        file, place, content, line = feature
        properties = content.get("properties")
        if properties is None:
            properties = {}
        if not isinstance(properties, dict):
            self._collector.places.setdefault(place, SourcePlace(file, line))
            message, position = f"{place} has properties that are no object", find_position(content)
            self._leave_out("no properties", message, place, file, position, {})
            return None
        name = f"{file} {place}" if self._has_several_files else place
        feature_id = _feature_id(content, properties) or name
        tags = dict(_iter_tags(properties))
        self._collector.places.setdefault(feature_id, SourcePlace(file, line, tags.get("name", "")))
        try:
            geometry = parse_geometry(content, feature_id)
        except InvalidPlanError as error:
            position = find_position(content)
            self._leave_out("invalid geometry", error.message, feature_id, file, position, tags)
            return None
        if geometry is None:
            kind = geometry_type(content)
            if kind is None or INDOOR_KEYS.isdisjoint(tags):
                self._collector.add(f"not read, {kind}" if kind else "without geometry", feature_id)
                return None
            message = f"{feature_id} is a {kind}; expected {', '.join(GEOMETRY_PARSERS)}"
            position = find_position(content)
            self._leave_out("unknown geometry", message, feature_id, file, position, tags)
            return None
        return GeoFeature(feature_id, tags, geometry)

    def _add(self, feature: GeoFeature, file: str) -> None:
        """Add a feature; another one of the same id, as on another level, gets a number."""
        first = self.features.setdefault(feature.id, feature)
        if first is feature:
            return
        variants = self._variants.setdefault(feature.id, {_contents(first)})
        variant = _contents(feature)
        position = next(iter(iter_coordinates(feature.geometry)), None)
        if variant in variants:
            message = f"{feature.id} is there twice; ids are unique"
            self._leave_out("duplicate id", message, feature.id, file, position, feature.tags)
            return
        variants.add(variant)
        numbered = feature._replace(id=f"{feature.id}#{len(variants)}")
        while numbered.id in self.features:
            numbered = numbered._replace(id=f"{numbered.id}#2")
        self.features[numbered.id] = numbered
        self._collector.places[numbered.id] = SourcePlace(file)
        message = f"{feature.id} is there twice, with other contents; read as {numbered.id}"
        levels = levels_of(feature.tags)
        self._collector.add_fault(
            ReadingFault("id of several features", message, numbered.id, file, 0, position, levels)
        )

    def _leave_out(
        self,
        reason: str,
        message: str,
        part: str,
        file: str,
        position: Coordinate | None,
        tags: Tags,
    ) -> None:
        levels, name = levels_of(tags), tags.get("name", "")
        self._collector.leave_out(
            reason, message, part, file, position=position, levels=levels, name=name
        )


def read_features(files: Sequence[Sequence[GeoJsonFeature]], collector: NoteCollector) -> Drawing:
    """Read one plan from the features of one file or several (one per level, say).

    Raises `InvalidPlanError`.
    """
    reader = _Reader(len(files) > 1, collector)
    for features in files:
        if features:
            reader.add_file(features)
    return build_drawing(reader.features.values(), collector)


def _contents(feature: GeoFeature) -> Hashable:
    return frozenset(feature.tags.items()), feature.geometry


def _complete_from_name(
    features: Sequence[GeoFeature], file: str, collector: NoteCollector
) -> Iterator[GeoFeature]:
    """Add the level and the category that only the name of a file tells, as `2F/rooms.geojson`."""
    added: dict[str, str] = {}
    stem = file.rpartition("/")[2].partition(".")[0].lower()
    keys = {key for feature in features for key in feature.tags}
    if keys.isdisjoint(LEVEL_KEYS) and (level := find_level_in_name(file)):
        added["level"] = level
    if keys.isdisjoint(KIND_KEYS) and (find_category(stem, True) or find_category(stem, False)):
        added["category"] = stem
    for feature in features:
        if not OUTDOOR_KEYS.isdisjoint(feature.tags) and INDOOR_KEYS.isdisjoint(feature.tags):
            yield feature
            continue
        for key, value in added.items():
            collector.add(f"{key} {value} taken from the name of {file}", feature.id)
        yield feature._replace(tags={**feature.tags, **added}) if added else feature


def _feature_id(feature: Mapping[str, Any], properties: Mapping[str, Any]) -> str:
    """Return an id such as `way/123` from the member or property that holds it, or ""."""
    for value in (feature.get("id"), properties.get("@id"), properties.get("id")):
        if isinstance(value, str | int) and str(value):
            kind = properties.get("type")
            return f"{kind}/{value}" if isinstance(value, int) and kind else str(value)
    return ""


def _iter_tags(properties: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    nested = properties.get("tags")
    tags = nested if isinstance(nested, dict) else properties
    yield from _relation_levels(properties.get("relations"))
    yield from ((key, name) for key, name in _name(tags) if name)
    for key, value in tags.items():
        if tags is properties and (key in METADATA_KEYS or (key, value) in ELEMENT_TYPES):
            continue
        if isinstance(value, list):
            yield key, ";".join(filter(None, map(_tag_value, value)))
        elif text := _tag_value(value):
            yield key, text


def _tag_value(value: Any) -> str | None:
    match value:
        # A bool is an int too, so it comes first.
        case bool():
            return "yes" if value else "no"
        # Some tools write a missing value as the text null.
        case str() if value != "null":
            return value
        case int() | float():
            return str(value).removesuffix(".0")
    return None


def _relation_levels(relations: Any) -> Iterator[tuple[str, str]]:
    """Yield the levels of the relations of type level (IndoorOSM) that a feature is a member of."""
    levels = []
    for relation in relations if isinstance(relations, list) else ():
        match relation:
            case {"reltags": {"type": "level", "level": str(level)}}:
                levels.append(level)
    if levels:
        yield "level", ";".join(levels)


def _name(tags: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name of a feature without the tag `name`: a label, or its name in one language."""
    if isinstance(tags.get("name"), dict):
        yield "name", pick_label(tags["name"], "")
    elif not _tag_value(tags.get("name")):
        names = (_tag_value(value) for key, value in tags.items() if OTHER_NAME.fullmatch(key))
        yield "name", next(filter(None, names), "")
