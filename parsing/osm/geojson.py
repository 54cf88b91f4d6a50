"""Read GeoJSON with OpenStreetMap's indoor tags as properties into a drawing.

osmtogeojson, JOSM and Overpass Turbo write such files; some converters nest the tags in
`properties.tags`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from parsing.drawing import Drawing, NoteCollector
from parsing.errors import InvalidPlanError
from parsing.geo.geojson import geometry_type, parse_feature_collection, parse_geometry
from parsing.osm.indoor import build_drawing
from parsing.osm.surroundings import GeoFeature

# Properties that editors and converters add to a feature beside its tags.
METADATA_KEYS: Final = frozenset(
    {"id", "@id", "type", "timestamp", "version", "changeset", "user", "uid", "meta", "relations"}
)


def read_geojson(files: Mapping[str, bytes]) -> Drawing:
    """Read one plan from one file or several (one per level, say). Raises `ParsingError`."""
    collector = NoteCollector()
    features: dict[str, GeoFeature] = {}
    for name, content in files.items():
        for feature in _iter_features(parse_feature_collection(content, name), name, collector):
            if feature.id in features:
                raise InvalidPlanError(f"{name}: {feature.id} is there twice; ids are unique")
            features[feature.id] = feature
    try:
        return build_drawing(features.values(), collector)
    except InvalidPlanError as error:
        raise InvalidPlanError(f"{', '.join(files)}: {error}") from error


def _iter_features(
    features: Sequence[Mapping[str, Any]], name: str, collector: NoteCollector
) -> Iterator[GeoFeature]:
    for index, feature in enumerate(features):
        properties = feature.get("properties") or {}
        if not isinstance(properties, dict):
            raise InvalidPlanError(f"{name}: features[{index}] has properties that are no object")
        feature_id = _feature_id(feature, properties) or f"features[{index}]"
        geometry = parse_geometry(feature, f"{name}: {feature_id}")
        if geometry is None:
            kind = geometry_type(feature)
            collector.add(f"not read, {kind}" if kind else "without geometry", feature_id)
        else:
            yield GeoFeature(feature_id, dict(_iter_tags(properties)), geometry)


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
    for key, value in tags.items():
        if key in METADATA_KEYS and tags is properties:
            continue
        match value:
            # A bool is an int too, so it comes first.
            case bool():
                yield key, "yes" if value else "no"
            case str():
                yield key, value
            case int() | float():
                yield key, f"{value:g}"
