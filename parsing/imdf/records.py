"""Parse the members of an IMDF archive into records that carry file and id for messages."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from parsing.drawing import (
    Coordinate,
    Geometry,
    NoteCollector,
    ReadingFault,
    SourcePlace,
    iter_coordinates,
)
from parsing.errors import FaultyElementError, InvalidPlanError
from parsing.geo.geojson import GeoJsonFeature, find_position, parse_geometry, parse_json

CLUTTER_PREFIXES: Final = ("__MACOSX", ".")


class ImdfRecord(NamedTuple):
    """A feature of the archive with unresolved references."""

    file: str
    kind: str
    id: str
    properties: Mapping[str, Any]
    geometry: Geometry | None

    def get_text(self, key: str) -> str:
        """Return a text property, or "" if it is missing or no text."""
        value = self.properties.get(key)
        return value if isinstance(value, str) else ""

    @property
    def position(self) -> Coordinate | None:
        """Return the first position of the geometry."""
        points = iter_coordinates(self.geometry) if self.geometry else ()
        return next(iter(points), None)

    def get_texts(self, key: str) -> list[str]:
        """Return the texts of a list property, or [] if it is missing or no list."""
        value = self.properties.get(key)
        return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []


def strip_folders(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return members by base name, without the files that operating systems add.

    Raises `InvalidPlanError` if two members have the same name.
    """
    files: dict[str, bytes] = {}
    for path, content in members.items():
        *folders, name = path.replace("\\", "/").split("/")
        if any(part.startswith(CLUTTER_PREFIXES) and part != "." for part in (*folders, name)):
            continue
        if name in files:
            raise InvalidPlanError(f"{name} is there twice; an archive holds one venue")
        files[name] = content
    return files


def parse_language(manifest: bytes, collector: NoteCollector) -> str:
    """Return the language of the archive's labels.

    Raises `InvalidPlanError` for another version of IMDF than 1.
    """
    content = parse_json(manifest, "manifest.json", collector)
    if not isinstance(content, dict) or not isinstance(content.get("version"), str):
        message = 'version is missing; expected {"version": "1.0.0", ...}'
        collector.add_fault(ReadingFault("member missing", message, file="manifest.json"))
        content = content if isinstance(content, dict) else {}
    elif not content["version"].startswith("1."):
        raise InvalidPlanError(f"version is {content['version']}; 1.0.0 is read")
    language = content.get("language")
    return language if isinstance(language, str) else ""


def parse_records(
    features: Iterable[GeoJsonFeature], kind: str, collector: NoteCollector
) -> dict[str, ImdfRecord]:
    """Return the features of one type by id; those that are not valid are faults."""
    records: dict[str, ImdfRecord] = {}
    for feature in features:
        written_id = feature.content.get("id")
        part = written_id if isinstance(written_id, str) else feature.place
        collector.places.setdefault(part, find_place(feature))
        try:
            record = _parse_record(feature, kind)
            if record.id in records:
                raise FaultyElementError(
                    "duplicate id", f"{record.id} is there twice; ids are unique"
                )
            records[record.id] = record
        except FaultyElementError as error:
            properties = feature.content.get("properties")
            level_id = properties.get("level_id") if isinstance(properties, dict) else None
            levels = (level_id,) if isinstance(level_id, str) else ()
            position, file = find_position(feature.content), feature.file
            collector.leave_out(
                error.reason, error.message, part, file, position=position, levels=levels
            )
    return records


def find_place(feature: GeoJsonFeature) -> SourcePlace:
    """Return where a feature stands, with its name."""
    properties = feature.content.get("properties")
    names = properties.get("name") if isinstance(properties, dict) else None
    return SourcePlace(feature.file, feature.line, pick_label(names, ""))


def _parse_record(feature: GeoJsonFeature, kind: str) -> ImdfRecord:
    file, place, content, _ = feature
    feature_id, properties = content.get("id"), content.get("properties")
    if not isinstance(feature_id, str) or not feature_id:
        raise FaultyElementError("member missing", f"{place} has no id")
    if not isinstance(properties, dict):
        raise FaultyElementError("member missing", f"{feature_id} has no properties")
    written = get_feature_type(content)
    if written != kind:
        message = f"{feature_id} has feature_type {written!r}; expected {kind!r}"
        raise FaultyElementError("invalid feature_type", message)
    try:
        geometry = parse_geometry(content, feature_id)
    except InvalidPlanError as error:
        raise FaultyElementError("invalid geometry", error.message) from error
    return ImdfRecord(file, kind, feature_id, properties, geometry)


def get_feature_type(content: Mapping[str, Any]) -> Any:
    """Return the type of a feature, which some converters put among its properties."""
    properties = content.get("properties")
    written = content.get("feature_type")
    return (
        properties.get("feature_type")
        if written is None and isinstance(properties, dict)
        else written
    )


def pick_label(labels: Any, language: str) -> str:
    """Return a label in `language`, else in English, else in the first language it has."""
    if not isinstance(labels, dict):
        return ""
    for key in (language, "en", *labels):
        if isinstance(labels.get(key), str):
            return str(labels[key])
    return ""
