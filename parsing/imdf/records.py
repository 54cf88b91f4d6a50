"""Parse the members of an IMDF archive into records that carry file and id for messages."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from parsing.drawing import Geometry
from parsing.errors import InvalidPlanError
from parsing.geo.geojson import parse_feature_collection, parse_geometry, parse_json

CLUTTER_PREFIXES: Final = ("__MACOSX", ".")


class ImdfRecord(NamedTuple):
    """A feature of the archive with unresolved references."""

    file: str
    id: str
    properties: Mapping[str, Any]
    geometry: Geometry | None

    @property
    def name(self) -> str:
        """Return file and id, for messages."""
        return f"{self.file}.geojson: {self.id}"

    def get_text(self, key: str) -> str:
        """Return a text property, or "" if it is missing or no text."""
        value = self.properties.get(key)
        return value if isinstance(value, str) else ""

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


def parse_language(manifest: bytes) -> str:
    """Return the language of the archive's labels.

    Raises `InvalidPlanError` for another version of IMDF than 1.
    """
    content = parse_json(manifest, "manifest.json")
    if not isinstance(content, dict) or not isinstance(content.get("version"), str):
        raise InvalidPlanError(
            'manifest.json: version is missing; expected {"version": "1.0.0", ...}'
        )
    if not content["version"].startswith("1."):
        raise InvalidPlanError(f"manifest.json: version is {content['version']}; 1.0.0 is read")
    language = content.get("language")
    return language if isinstance(language, str) else ""


def parse_records(files: Mapping[str, bytes], kind: str) -> dict[str, ImdfRecord]:
    """Return the features of one type by id, none if the file is missing. Raises `ParsingError`."""
    name = f"{kind}.geojson"
    if name not in files:
        return {}
    records: dict[str, ImdfRecord] = {}
    for index, feature in enumerate(parse_feature_collection(files[name], name)):
        feature_id, properties = feature.get("id"), feature.get("properties")
        if not isinstance(feature_id, str) or not feature_id:
            raise InvalidPlanError(f"{name}: features[{index}] has no id")
        if feature_id in records:
            raise InvalidPlanError(f"{name}: {feature_id} is there twice; ids are unique")
        if feature.get("feature_type") != kind:
            raise InvalidPlanError(
                f"{name}: {feature_id} has feature_type {feature.get('feature_type')!r}; "
                f"expected {kind!r}"
            )
        if not isinstance(properties, dict):
            raise InvalidPlanError(f"{name}: {feature_id} has no properties")
        geometry = parse_geometry(feature, f"{name}: {feature_id}")
        records[feature_id] = ImdfRecord(kind, feature_id, properties, geometry)
    return records


def pick_label(labels: Any, language: str) -> str:
    """Return a label in `language`, else in English, else in the first language it has."""
    if not isinstance(labels, dict):
        return ""
    for key in (language, "en", *labels):
        if isinstance(labels.get(key), str):
            return str(labels[key])
    return ""
