"""Indoor Mapping Data Format (OGC 20-094, IMDF 1.0.0) -> a drawing in feet.

An archive is a `manifest.json` and one GeoJSON FeatureCollection for each type of feature.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from parsing.drawing import (
    Area,
    Drawing,
    Feature,
    Level,
    Notebook,
    Point,
    Tags,
    bounds_of,
)
from parsing.errors import InvalidPlan
from parsing.ground import to_feet
from parsing.imdf_links import connector_tags
from parsing.imdf_records import Record, label_in, read_language, read_records, without_folder
from parsing.imdf_terms import AMENITIES, OPENINGS, ROOM, UNITS, lookup

REQUIRED: Final = ("manifest.json", "venue.geojson", "level.geojson", "unit.geojson")
READ: Final = (
    "venue", "level", "unit", "opening", "amenity", "occupant", "anchor", "relationship",
    "fixture", "kiosk",
)  # fmt: skip
DESCRIPTIVE: Final = frozenset({"manifest.json"}) | {
    f"{kind}.geojson" for kind in (*READ, "building", "address", "footprint")
}
WHEELCHAIR: Final = "wheelchair"

Records = Mapping[str, Mapping[str, Record]]


def read(members: Mapping[str, bytes]) -> Drawing:
    """File contents by name; a folder around all of them does not matter.

    Raises `ParsingError` that names member and feature.
    """
    files = without_folder(members)
    for name in REQUIRED:
        if name not in files:
            raise InvalidPlan(f"{name} is missing; an IMDF archive has {', '.join(REQUIRED)}")
    language = read_language(files["manifest.json"])
    notebook = Notebook()
    records = {kind: read_records(files, kind) for kind in READ}
    for name in sorted(files.keys() - DESCRIPTIVE):
        notebook.add("file not read", name)
    reader = _Reader(records, language, notebook)
    sketches = [sketch for sketch in reader.features() if sketch.levels]
    if not sketches:
        raise InvalidPlan("no unit is on any level")
    flat = to_feet([sketch.geometry for sketch in sketches], [sketch.id for sketch in sketches])
    features = tuple(
        sketch._replace(geometry=geometry) for sketch, geometry in zip(sketches, flat, strict=True)
    )
    venue = next(iter(records["venue"].values()), None)
    name = label_in(venue.properties.get("name"), language) if venue else ""
    return Drawing(reader.levels, features, 1.0, bounds_of(flat), notebook.notes(), "imdf:id", name)


class _Reader:
    """Follows the references between records."""

    def __init__(self, records: Records, language: str, notebook: Notebook) -> None:
        self._records = records
        self._language = language
        self._notebook = notebook
        found = [self._level(record) for record in records["level"].values()]
        self.levels = tuple(sorted(found, key=lambda level: (level.ordinal or 0, level.id)))
        ordinals = {level.id: level.ordinal or 0 for level in found}
        self._joined = connector_tags(records, ordinals, notebook)

    def features(self) -> Iterator[Feature]:
        for record in self._records["level"].values():
            if isinstance(record.geometry, Area):
                yield Feature(record.id, (record.id,), record.geometry, {"indoor": "level"})
        for record in self._records["unit"].values():
            yield self._feature(record, self._unit_tags(record))
        for record in self._records["opening"].values():
            yield self._feature(record, self._opening_tags(record))
        for kind in ("fixture", "kiosk"):
            for record in self._records[kind].values():
                tags = {"barrier": kind, **self._named(record)}
                yield self._feature(record, tags)
        yield from self._amenities()
        yield from self._occupants()

    def _level(self, record: Record) -> Level:
        ordinal = record.properties.get("ordinal")
        if not isinstance(ordinal, int | float) or isinstance(ordinal, bool):
            raise InvalidPlan(f"{record.name}: ordinal is {ordinal!r}; expected a number")
        return Level(record.id, self._named(record).get("name", ""), float(ordinal))

    def _feature(self, record: Record, tags: Tags) -> Feature:
        if record.geometry is None:
            raise InvalidPlan(f"{record.name}: geometry is missing; a {record.file} has one")
        return Feature(record.id, (self._level_of(record),), record.geometry, tags)

    def _level_of(self, record: Record) -> str:
        level_id = record.text("level_id")
        if level_id not in self._records["level"]:
            raise InvalidPlan(
                f"{record.name}: level_id is {level_id!r}, which level.geojson does not have"
            )
        return level_id

    def _unit_tags(self, record: Record) -> Tags:
        category = record.text("category")
        terms = lookup(UNITS, category)
        if terms is None:
            self._notebook.add(f"unit category {category or 'missing'}, read as a room", record.id)
            terms = ROOM
        tags = {**terms, **self._named(record), **_described(record)}
        if record.text("restriction"):
            tags["access"] = "private"
        return tags | self._joined.get(record.id, {})

    def _opening_tags(self, record: Record) -> Tags:
        category = record.text("category")
        terms = lookup(OPENINGS, category)
        if terms is None:
            self._notebook.add(
                f"opening category {category or 'missing'}, read as a door", record.id
            )
        door = record.properties.get("door")
        kind = door.get("type") if isinstance(door, dict) else None
        tags = {"door": kind if isinstance(kind, str) else "yes", **(terms or {})}
        if "outofservice" in record.words("access_control"):
            tags["access"] = "no"
        return {**tags, **_described(record), **self._named(record)}

    def _amenities(self) -> Iterator[Feature]:
        for record in self._records["amenity"].values():
            units = [self._referred("unit", unit, record) for unit in record.words("unit_ids")]
            levels = tuple(dict.fromkeys(self._level_of(unit) for unit in units))
            if not levels or record.geometry is None:
                self._notebook.add("amenity on no unit", record.id)
                continue
            category = record.text("category")
            terms = lookup(AMENITIES, category) or {"amenity": category.replace(".", "_") or "yes"}
            tags = {**terms, **self._named(record), **_described(record)}
            yield Feature(record.id, levels, record.geometry, tags)

    def _occupants(self) -> Iterator[Feature]:
        for record in self._records["occupant"].values():
            anchor_id = record.text("anchor_id")
            if not anchor_id:
                self._notebook.add("occupant without anchor", record.id)
                continue
            anchor = self._referred("anchor", anchor_id, record)
            unit = self._referred("unit", anchor.text("unit_id"), anchor)
            if not isinstance(anchor.geometry, Point):
                raise InvalidPlan(f"{anchor.name}: geometry is missing; expected a Point")
            category = record.text("category").replace(".", "_")
            tags = {"occupant": category or "yes", **self._named(record), **_described(record)}
            yield Feature(record.id, (self._level_of(unit),), anchor.geometry, tags)

    def _referred(self, kind: str, record_id: str, by: Record) -> Record:
        record = self._records[kind].get(record_id)
        if record is None:
            raise InvalidPlan(
                f"{by.name}: refers to {kind} {record_id!r}, which {kind}.geojson does not have"
            )
        return record

    def _named(self, record: Record) -> dict[str, str]:
        name = label_in(record.properties.get("name"), self._language)
        return {"name": name} if name else {}


def _described(record: Record) -> dict[str, str]:
    """IMDF's own category, and whether the feature says that it suits wheelchairs."""
    category = record.text("category")
    described = {"imdf:category": category} if category else {}
    if WHEELCHAIR in record.words("accessibility") or category.endswith(f".{WHEELCHAIR}"):
        described["wheelchair"] = "yes"
    return described
