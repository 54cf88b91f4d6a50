"""The members of an IMDF archive as records, each with its file and id for messages."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from parsing.drawing import Geometry
from parsing.errors import InvalidPlanError
from parsing.geo.geojson import parse_feature_collection, parse_geometry, parse_json

CLUTTER_PREFIXES: Final = ("__MACOSX", ".")


class ImdfRecord(NamedTuple):
    """A feature of the archive, before its references have been followed."""

    file: str
    id: str
    properties: Mapping[str, Any]
    geometry: Geometry | None

    @property
    def name(self) -> str:
        return f"{self.file}.geojson: {self.id}"

    def get_text(self, key: str) -> str:
        """A property that is text; empty where it is missing or null."""
        value = self.properties.get(key)
        return value if isinstance(value, str) else ""

    def get_texts(self, key: str) -> list[str]:
        """A property that is a list of texts; empty where it is missing or null."""
        value = self.properties.get(key)
        return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []


def strip_folders(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """Members by their own name, without those that file managers add."""
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
    """The language of the archive's names. Raises `InvalidPlan` for another version of IMDF."""
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
    """The features of one type by id. Raises `ParsingError`."""
    name = f"{kind}.geojson"
    if name not in files:
        return {}
    records: dict[str, ImdfRecord] = {}
    for position, feature in enumerate(parse_feature_collection(files[name], name)):
        feature_id, properties = feature.get("id"), feature.get("properties")
        if not isinstance(feature_id, str) or not feature_id:
            raise InvalidPlanError(f"{name}: features[{position}] has no id")
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
    """A name in the venue's language, else in English, else in the first there is."""
    if not isinstance(labels, dict):
        return ""
    for key in (language, "en", *labels):
        if isinstance(labels.get(key), str):
            return str(labels[key])
    return ""
