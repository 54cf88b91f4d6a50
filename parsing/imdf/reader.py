"""Read Indoor Mapping Data Format (OGC 20-094, IMDF 1.0.0) into a drawing in feet.

An archive is a `manifest.json` and one GeoJSON FeatureCollection for each type of feature.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from parsing.drawing import (
    AreaGeometry,
    Drawing,
    DrawnLevel,
    Feature,
    NoteCollector,
    PointGeometry,
    Tags,
    compute_bounds,
)
from parsing.errors import InvalidPlanError
from parsing.geo.ground import project_to_feet
from parsing.imdf.links import derive_connector_tags
from parsing.imdf.records import (
    ImdfRecord,
    parse_language,
    parse_records,
    pick_label,
    strip_folders,
)
from parsing.imdf.terms import AMENITY_TAGS, OPENING_TAGS, ROOM, UNIT_TAGS, find_tags

REQUIRED_FILES: Final = ("manifest.json", "venue.geojson", "level.geojson", "unit.geojson")
READ_KINDS: Final = (
    "venue", "level", "unit", "opening", "amenity", "occupant", "anchor", "relationship",
    "fixture", "kiosk",
)  # fmt: skip
KNOWN_FILES: Final = frozenset({"manifest.json"}) | {
    f"{kind}.geojson" for kind in (*READ_KINDS, "building", "address", "footprint")
}
WHEELCHAIR: Final = "wheelchair"

RecordsByKind = Mapping[str, Mapping[str, ImdfRecord]]


def read_imdf(members: Mapping[str, bytes]) -> Drawing:
    """Read the members of an IMDF archive by name; folders around them are ignored.

    Raises `ParsingError`, which names member and feature.
    """
    files = strip_folders(members)
    for name in REQUIRED_FILES:
        if name not in files:
            raise InvalidPlanError(
                f"{name} is missing; an IMDF archive has {', '.join(REQUIRED_FILES)}"
            )
    language = parse_language(files["manifest.json"])
    collector = NoteCollector()
    records = {kind: parse_records(files, kind) for kind in READ_KINDS}
    for name in sorted(files.keys() - KNOWN_FILES):
        collector.add("file not read", name)
    reader = _ImdfReader(records, language, collector)
    features_in_degrees = [feature for feature in reader.iter_features() if feature.levels]
    if not features_in_degrees:
        raise InvalidPlanError("no unit is on any level")
    geometries = project_to_feet(
        [feature.geometry for feature in features_in_degrees],
        [feature.id for feature in features_in_degrees],
    )
    features = tuple(
        feature._replace(geometry=geometry)
        for feature, geometry in zip(features_in_degrees, geometries, strict=True)
    )
    venue = next(iter(records["venue"].values()), None)
    name = pick_label(venue.properties.get("name"), language) if venue else ""
    return Drawing(
        reader.levels, features, 1.0, compute_bounds(geometries), collector.notes(), "imdf:id", name
    )


class _ImdfReader:
    """Resolves the references between records and tags features in OpenStreetMap's terms."""

    def __init__(self, records: RecordsByKind, language: str, collector: NoteCollector) -> None:
        self._records = records
        self._language = language
        self._notes = collector
        levels = [self._to_level(record) for record in records["level"].values()]
        self.levels = tuple(sorted(levels, key=lambda level: (level.ordinal or 0, level.id)))
        ordinals = {level.id: level.ordinal or 0 for level in levels}
        self._connector_tags = derive_connector_tags(records, ordinals, collector)

    def iter_features(self) -> Iterator[Feature]:
        for record in self._records["level"].values():
            if isinstance(record.geometry, AreaGeometry):
                yield Feature(record.id, (record.id,), record.geometry, {"indoor": "level"})
        for record in self._records["unit"].values():
            yield self._to_feature(record, self._unit_tags(record))
        for record in self._records["opening"].values():
            yield self._to_feature(record, self._opening_tags(record))
        for kind in ("fixture", "kiosk"):
            for record in self._records[kind].values():
                tags = {"barrier": kind, **self._name_tags(record)}
                yield self._to_feature(record, tags)
        yield from self._iter_amenities()
        yield from self._iter_occupants()

    def _to_level(self, record: ImdfRecord) -> DrawnLevel:
        ordinal = record.properties.get("ordinal")
        if not isinstance(ordinal, int | float) or isinstance(ordinal, bool):
            raise InvalidPlanError(f"{record.name}: ordinal is {ordinal!r}; expected a number")
        return DrawnLevel(record.id, self._name_tags(record).get("name", ""), float(ordinal))

    def _to_feature(self, record: ImdfRecord, tags: Tags) -> Feature:
        if record.geometry is None:
            raise InvalidPlanError(f"{record.name}: geometry is missing; a {record.file} has one")
        return Feature(record.id, (self._level_id(record),), record.geometry, tags)

    def _level_id(self, record: ImdfRecord) -> str:
        level_id = record.get_text("level_id")
        if level_id not in self._records["level"]:
            raise InvalidPlanError(
                f"{record.name}: level_id is {level_id!r}, which level.geojson does not have"
            )
        return level_id

    def _unit_tags(self, record: ImdfRecord) -> Tags:
        category = record.get_text("category")
        terms = find_tags(UNIT_TAGS, category)
        if terms is None:
            self._notes.add(f"unit category {category or 'missing'}, read as a room", record.id)
            terms = ROOM
        tags = {**terms, **self._name_tags(record), **_descriptive_tags(record)}
        if record.get_text("restriction"):
            tags["access"] = "private"
        return tags | self._connector_tags.get(record.id, {})

    def _opening_tags(self, record: ImdfRecord) -> Tags:
        category = record.get_text("category")
        terms = find_tags(OPENING_TAGS, category)
        if terms is None:
            self._notes.add(f"opening category {category or 'missing'}, read as a door", record.id)
        door = record.properties.get("door")
        kind = door.get("type") if isinstance(door, dict) else None
        tags = {"door": kind if isinstance(kind, str) else "yes", **(terms or {})}
        if "outofservice" in record.get_texts("access_control"):
            tags["access"] = "no"
        return {**tags, **_descriptive_tags(record), **self._name_tags(record)}

    def _iter_amenities(self) -> Iterator[Feature]:
        for record in self._records["amenity"].values():
            units = [
                self._resolve_reference("unit", unit, record)
                for unit in record.get_texts("unit_ids")
            ]
            levels = tuple(dict.fromkeys(self._level_id(unit) for unit in units))
            if not levels or record.geometry is None:
                self._notes.add("amenity on no unit", record.id)
                continue
            category = record.get_text("category")
            terms = find_tags(AMENITY_TAGS, category) or {
                "amenity": category.replace(".", "_") or "yes"
            }
            tags = {**terms, **self._name_tags(record), **_descriptive_tags(record)}
            yield Feature(record.id, levels, record.geometry, tags)

    def _iter_occupants(self) -> Iterator[Feature]:
        for record in self._records["occupant"].values():
            anchor_id = record.get_text("anchor_id")
            if not anchor_id:
                self._notes.add("occupant without anchor", record.id)
                continue
            anchor = self._resolve_reference("anchor", anchor_id, record)
            unit = self._resolve_reference("unit", anchor.get_text("unit_id"), anchor)
            if not isinstance(anchor.geometry, PointGeometry):
                raise InvalidPlanError(f"{anchor.name}: geometry is missing; expected a Point")
            category = record.get_text("category").replace(".", "_")
            tags = {
                "occupant": category or "yes",
                **self._name_tags(record),
                **_descriptive_tags(record),
            }
            yield Feature(record.id, (self._level_id(unit),), anchor.geometry, tags)

    def _resolve_reference(self, kind: str, record_id: str, referrer: ImdfRecord) -> ImdfRecord:
        record = self._records[kind].get(record_id)
        if record is None:
            raise InvalidPlanError(
                f"{referrer.name}: refers to {kind} {record_id!r}, "
                f"which {kind}.geojson does not have"
            )
        return record

    def _name_tags(self, record: ImdfRecord) -> dict[str, str]:
        name = pick_label(record.properties.get("name"), self._language)
        return {"name": name} if name else {}


def _descriptive_tags(record: ImdfRecord) -> dict[str, str]:
    """Return IMDF's own category and whether the feature is declared suitable for wheelchairs."""
    category = record.get_text("category")
    tags = {"imdf:category": category} if category else {}
    if WHEELCHAIR in record.get_texts("accessibility") or category.endswith(f".{WHEELCHAIR}"):
        tags["wheelchair"] = "yes"
    return tags
