"""Read Indoor Mapping Data Format (OGC 20-094, IMDF 1.0.0) into a drawing in feet.

An archive is a `manifest.json` and one GeoJSON FeatureCollection for each type of feature.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from parsing.drawing import (
    AreaGeometry,
    Drawing,
    DrawnLevel,
    Feature,
    NoteCollector,
    PointGeometry,
    ReadingFault,
    Tags,
)
from parsing.errors import FaultyElementError, InvalidPlanError, NotWellFormedError
from parsing.geo.geojson import GeoJsonFeature, find_position, parse_collections
from parsing.geo.projection import build_drawing_in_feet, leave_out_remote, limit_features
from parsing.imdf.records import (
    ImdfRecord,
    find_place,
    get_feature_type,
    parse_language,
    parse_records,
    pick_label,
    strip_folders,
)
from parsing.imdf.relationships import derive_connector_tags, derive_door_tags
from parsing.osm.indoor import levels_of
from parsing.osm.tags import AMENITY_TAGS, OPENING_TAGS, ROOM, UNIT_TAGS, find_tags

REQUIRED_FILES: Final = ("level.geojson", "unit.geojson")
EXPECTED_FILES: Final = ("manifest.json", "venue.geojson", *REQUIRED_FILES)
READ_KINDS: Final = (
    "venue", "level", "unit", "opening", "amenity", "occupant", "anchor", "relationship",
    "fixture", "kiosk",
)  # fmt: skip
KNOWN_FILES: Final = frozenset({"manifest.json"}) | {
    f"{kind}.geojson" for kind in (*READ_KINDS, "building", "address", "footprint")
}
WHEELCHAIR: Final = "wheelchair"
VEHICLE_CATEGORY: Final = "automobile"
MIN_VEHICLE_SHARE: Final = 0.9
"""An archive in which so many openings are for vehicles says so by mistake."""

RecordsByKind = Mapping[str, Mapping[str, ImdfRecord]]


def read_imdf(members: Mapping[str, bytes], collector: NoteCollector) -> Drawing:
    """Read the members of an IMDF archive by name; folders around them are ignored.

    Raises `ParsingError`, which names member and feature.
    """
    files = strip_folders(members)
    for name in REQUIRED_FILES:
        if name not in files:
            message = f"{name} is missing; an IMDF archive has {', '.join(EXPECTED_FILES)}"
            collector.errors.append(InvalidPlanError(message))
    note_missing_files(files, collector)
    language = ""
    if "manifest.json" in files:
        with _reading_file("manifest.json", collector):
            language = parse_language(files["manifest.json"], collector)
    features: dict[str, list[GeoJsonFeature]] = {}
    for kind in READ_KINDS:
        if (name := f"{kind}.geojson") in files:
            with _reading_file(name, collector):
                features[kind] = parse_collections(files[name], name, collector)
    collector.raise_errors()
    for name in sorted(files.keys() - KNOWN_FILES):
        collector.add("file not read", name)
    return _read_records(features, language, collector)


@contextmanager
def _reading_file(name: str, collector: NoteCollector) -> Iterator[None]:
    """Make a broken file a fault if archives may lack it, else keep the error."""
    with collector.reading_file(name):
        try:
            yield
        except NotWellFormedError as error:
            if name in REQUIRED_FILES:
                raise
            collector.leave_out("broken file", str(error), name, name)


def note_missing_files(names: Collection[str], collector: NoteCollector) -> None:
    """Add a fault for each file that every archive has and this one lacks."""
    for name in EXPECTED_FILES:
        if name not in names:
            collector.add_fault(ReadingFault("file missing", f"{name} is missing", name))


def is_imdf(features: Iterable[GeoJsonFeature]) -> bool:
    """Return whether features of GeoJSON are those of an IMDF archive: units on levels."""
    return {"level", "unit"} <= {str(get_feature_type(feature.content)) for feature in features}


def read_imdf_features(features: Iterable[GeoJsonFeature], collector: NoteCollector) -> Drawing:
    """Read the features of an archive that are in one file, or in files of other names.

    Raises `InvalidPlanError`.
    """
    by_kind: dict[str, list[GeoJsonFeature]] = {}
    for feature in features:
        kind = get_feature_type(feature.content)
        if kind is None:
            feature, kind = _type_as_unit(feature, collector), "unit"
        by_kind.setdefault(str(kind), []).append(feature)
    for kind in by_kind.keys() - {name.partition(".")[0] for name in KNOWN_FILES}:
        collector.add(f"not read, feature_type {kind}", by_kind[kind][0].place, len(by_kind[kind]))
    return _read_records(by_kind, "", collector)


def _type_as_unit(feature: GeoJsonFeature, collector: NoteCollector) -> GeoJsonFeature:
    message = f"{feature.place} has no feature_type; read as a unit"
    position = find_position(feature.content)
    collector.places.setdefault(feature.place, find_place(feature))
    collector.add_fault(
        ReadingFault("no feature_type", message, feature.place, feature.file, position=position)
    )
    return feature._replace(content={**feature.content, "feature_type": "unit"})


def _read_records(
    by_kind: Mapping[str, Iterable[GeoJsonFeature]], language: str, collector: NoteCollector
) -> Drawing:
    records = {kind: parse_records(by_kind.get(kind, ()), kind, collector) for kind in READ_KINDS}
    reader = _ImdfReader(records, language, collector)
    features = limit_features(reader.iter_features())
    if not features:
        raise InvalidPlanError("no unit is on any level")
    venue = next(iter(records["venue"].values()), None)
    name = pick_label(venue.properties.get("name"), language) if venue else ""
    near = leave_out_remote(features, collector)
    return build_drawing_in_feet(reader.levels, near, collector, "imdf:id", name)


class _NoLevelError(Exception):
    """A record names a level that is not read."""

    def __init__(self, level_id: str) -> None:
        super().__init__(level_id)
        self.level_id = level_id


class _ImdfReader:
    """Resolves the references between records and tags features in OpenStreetMap's terms."""

    def __init__(self, records: RecordsByKind, language: str, collector: NoteCollector) -> None:
        self._records = records
        self._language = language
        self._notes = collector
        self._levels: dict[str, DrawnLevel] = {}
        self._homeless: dict[str, list[ImdfRecord]] = {}
        for record in records["level"].values():
            with self._leaving_out(record):
                self._levels[record.id] = self._to_level(record)
        self.levels = tuple(
            sorted(self._levels.values(), key=lambda level: (level.ordinal or 0, level.id))
        )
        ordinals = {level.id: level.ordinal or 0 for level in self.levels}
        self._connector_tags = derive_connector_tags(records, ordinals, collector)
        self._door_tags = derive_door_tags(records, collector)
        openings = [record.get_text("category") for record in records["opening"].values()]
        self._vehicle_doors_are_walked = note_vehicle_doors(openings, collector)

    def iter_features(self) -> Iterator[Feature]:
        for kind, to_feature in (
            ("level", self._level_feature),
            ("unit", self._unit_feature),
            ("opening", self._opening_feature),
            ("fixture", self._obstacle_feature),
            ("kiosk", self._obstacle_feature),
            ("amenity", self._amenity_feature),
            ("occupant", self._occupant_feature),
        ):
            for record in self._records[kind].values():
                feature = None
                with self._leaving_out(record):
                    feature = to_feature(record)
                if feature is not None:
                    yield feature
        self._add_homeless()

    @contextmanager
    def _leaving_out(self, record: ImdfRecord) -> Iterator[None]:
        """Make a fault of the reason to leave out a record."""
        try:
            yield
        except _NoLevelError as error:
            self._homeless.setdefault(error.level_id, []).append(record)
        except FaultyElementError as error:
            self._add_fault(record, error.reason, error.message, self._find_levels(record))

    def _add_fault(
        self,
        record: ImdfRecord,
        reason: str,
        message: str,
        levels: tuple[str, ...] = (),
        elements: int = 1,
    ) -> None:
        self._notes.leave_out(
            reason,
            message,
            record.id,
            record.file,
            position=record.position,
            levels=levels,
            elements=elements,
            name=self._name_of(record),
        )

    def _find_levels(self, record: ImdfRecord) -> tuple[str, ...]:
        """Return the levels of a record, or of the units that it refers to."""
        anchor = self._records["anchor"].get(record.get_text("anchor_id"), record)
        unit_ids = (anchor.get_text("unit_id"), *record.get_texts("unit_ids"))
        units = filter(None, map(self._records["unit"].get, unit_ids))
        level_ids = dict.fromkeys(each.get_text("level_id") for each in (record, *units))
        return tuple(level_id for level_id in level_ids if level_id in self._levels)

    def _add_homeless(self) -> None:
        """Make one fault of all records on a level that is not there, or that is left out."""
        for level_id, (first, *others) in self._homeless.items():
            label = self._label(first) + (f" and {len(others):,} more" if others else "")
            level = self._records["level"].get(level_id)
            hint = f"but {self._label(level)} is left out" if level else "which no level has"
            message = f"{label}: level_id is {level_id!r}, {hint}"
            self._add_fault(first, "reference to nothing", message, elements=1 + len(others))

    def _to_level(self, record: ImdfRecord) -> DrawnLevel:
        ordinal = record.properties.get("ordinal")
        if not isinstance(ordinal, int | float) or isinstance(ordinal, bool):
            message = f"{self._label(record)}: ordinal is {ordinal!r}; expected a number"
            labels = (pick_label(record.properties.get(key), "") for key in ("short_name", "name"))
            named = next((level for label in labels for level in levels_of({"level": label})), None)
            if named is None:
                raise FaultyElementError("invalid ordinal", message)
            ordinal = float(named)
            message = f"{message}; read as {named} because of its name"
            self._notes.add_fault(ReadingFault("invalid ordinal", message, record.id, record.file))
        return DrawnLevel(record.id, self._name_of(record), float(ordinal))

    def _level_feature(self, record: ImdfRecord) -> Feature | None:
        if record.id not in self._levels or not isinstance(record.geometry, AreaGeometry):
            return None
        return Feature(record.id, (record.id,), record.geometry, {"indoor": "level"})

    def _unit_feature(self, record: ImdfRecord) -> Feature:
        return self._to_feature(record, self._unit_tags(record))

    def _opening_feature(self, record: ImdfRecord) -> Feature:
        return self._to_feature(record, self._opening_tags(record))

    def _obstacle_feature(self, record: ImdfRecord) -> Feature:
        return self._to_feature(record, {"barrier": record.kind, **self._name_tags(record)})

    def _to_feature(self, record: ImdfRecord, tags: Tags) -> Feature:
        if record.geometry is None:
            message = f"{record.id}: geometry is missing; a {record.kind} has one"
            raise FaultyElementError("geometry missing", message)
        return Feature(record.id, (self._level_id(record),), record.geometry, tags)

    def _level_id(self, record: ImdfRecord) -> str:
        level_id = record.get_text("level_id")
        if level_id not in self._levels:
            raise _NoLevelError(level_id)
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
        level = self._records["level"].get(record.get_text("level_id"))
        if level is not None and level.properties.get("outdoor") is True:
            tags["outdoor"] = "yes"
        return tags | self._connector_tags.get(record.id, {})

    def _opening_tags(self, record: ImdfRecord) -> Tags:
        category = record.get_text("category")
        terms = find_tags(OPENING_TAGS, category)
        if terms is None:
            self._notes.add(f"opening category {category or 'missing'}, read as a door", record.id)
        door = record.properties.get("door")
        kind = door.get("type") if isinstance(door, dict) else None
        if category == VEHICLE_CATEGORY and self._vehicle_doors_are_walked:
            terms = {}
        tags = {"door": kind if isinstance(kind, str) else "yes", **(terms or {})}
        if "outofservice" in record.get_texts("access_control"):
            tags["access"] = "no"
        directed = self._door_tags.get(record.id, {})
        return {**tags, **_descriptive_tags(record), **self._name_tags(record), **directed}

    def _amenity_feature(self, record: ImdfRecord) -> Feature | None:
        units = [
            self._resolve_reference("unit", unit, record) for unit in record.get_texts("unit_ids")
        ]
        levels = tuple(dict.fromkeys(self._level_id(unit) for unit in units))
        if not levels or record.geometry is None:
            self._notes.add("amenity on no unit", record.id)
            return None
        category = record.get_text("category")
        terms = find_tags(AMENITY_TAGS, category) or {
            "amenity": category.replace(".", "_") or "yes"
        }
        tags = {**terms, **self._name_tags(record), **_descriptive_tags(record)}
        return Feature(record.id, levels, record.geometry, tags)

    def _occupant_feature(self, record: ImdfRecord) -> Feature | None:
        anchor_id = record.get_text("anchor_id")
        if not anchor_id:
            self._notes.add("occupant without anchor", record.id)
            return None
        anchor = self._resolve_reference("anchor", anchor_id, record)
        unit = self._resolve_reference("unit", anchor.get_text("unit_id"), anchor)
        if not isinstance(anchor.geometry, PointGeometry):
            message = f"anchor {anchor.id}: geometry is missing; expected a Point"
            raise FaultyElementError("geometry missing", message)
        category = record.get_text("category").replace(".", "_")
        tags = {
            "occupant": category or "yes",
            **self._name_tags(record),
            **_descriptive_tags(record),
        }
        return Feature(record.id, (self._level_id(unit),), anchor.geometry, tags)

    def _resolve_reference(self, kind: str, record_id: str, referrer: ImdfRecord) -> ImdfRecord:
        record = self._records[kind].get(record_id)
        if record is None:
            message = (
                f"{referrer.kind} {referrer.id} refers to {kind} {record_id!r}, which is not there"
            )
            raise FaultyElementError("reference to nothing", message)
        return record

    def _name_of(self, record: ImdfRecord) -> str:
        return pick_label(record.properties.get("name"), self._language)

    def _label(self, record: ImdfRecord) -> str:
        name = self._name_of(record)
        return f"{record.kind} {record.id}" + (f" ({name})" if name else "")

    def _name_tags(self, record: ImdfRecord) -> dict[str, str]:
        name = self._name_of(record)
        return {"name": name} if name else {}


def _descriptive_tags(record: ImdfRecord) -> dict[str, str]:
    """Return IMDF's own category and whether the feature is declared suitable for wheelchairs."""
    category = record.get_text("category")
    tags = {"imdf:category": category} if category else {}
    if WHEELCHAIR in record.get_texts("accessibility") or category.endswith(f".{WHEELCHAIR}"):
        tags["wheelchair"] = "yes"
    return tags


def note_vehicle_doors(categories: Sequence[str], collector: NoteCollector) -> bool:
    """Return whether the openings for vehicles are for people too, because nearly all are such."""
    count = categories.count(VEHICLE_CATEGORY)
    are_walked = count > 1 and count >= MIN_VEHICLE_SHARE * len(categories)
    if are_walked:
        share = f"{count} of {len(categories)} openings"
        collector.add(
            f"{share} have category {VEHICLE_CATEGORY}, read as doors for people", count=count
        )
    elif count:
        collector.add(f"doors locked because of category {VEHICLE_CATEGORY}", count=count)
    return are_walked
