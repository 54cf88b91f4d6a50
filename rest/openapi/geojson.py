"""JSON schema of a map as GeoJSON (RFC 7946)."""

from typing import Final

from rest.openapi.objects import OUTPUT_TEXT_PATTERN
from schema.operation_inputs import MAX_ID_CHARACTERS, JsonSchema

LONGEST_FEATURE_ID: Final = MAX_ID_CHARACTERS + len("location:")
FEATURES_BOUND: Final = 1_000_000
_NAME_CHARACTERS: Final = 65_536

_GEOMETRY_SCHEMA: Final[JsonSchema] = {
    "type": "object",
    "required": ["type", "coordinates"],
    "properties": {
        "type": {"type": "string", "enum": ["Point", "Polygon", "MultiPolygon"]},
        "coordinates": {
            "type": "array",
            "minItems": 1,
            "maxItems": FEATURES_BOUND,
            "items": {},
            "description": "Longitude and latitude in degrees of WGS 84, nested as RFC 7946 says.",
        },
    },
}
_FEATURE_SCHEMA: Final[JsonSchema] = {
    "type": "object",
    "required": ["type", "id", "geometry", "properties"],
    "properties": {
        "type": {"type": "string", "const": "Feature"},
        "id": {
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_FEATURE_ID,
            "pattern": OUTPUT_TEXT_PATTERN,
            "description": "Unique in the collection; that of a drawn feature is the `uid` of its "
            "element in the parsed map, and changes with the drawing.",
        },
        "geometry": _GEOMETRY_SCHEMA,
        "properties": {
            "type": "object",
            "required": ["feature_type"],
            "properties": {
                "feature_type": {
                    "type": "string",
                    "enum": ["level", "unit", "hit_area", "location"],
                }
            },
            "additionalProperties": True,
        },
    },
}
GEOJSON_SCHEMA: Final[JsonSchema] = {
    "title": "GeoJson",
    "type": "object",
    "required": ["type", "name", "features"],
    "properties": {
        "type": {"type": "string", "const": "FeatureCollection"},
        "name": {
            "type": "string",
            "maxLength": _NAME_CHARACTERS,
            "pattern": OUTPUT_TEXT_PATTERN,
            "description": "The name of the map.",
        },
        "features": {"type": "array", "maxItems": FEATURES_BOUND, "items": _FEATURE_SCHEMA},
    },
}
GEOJSON_EXAMPLE: Final = {
    "type": "FeatureCollection",
    "name": "Floor plates",
    "features": [
        {
            "type": "Feature",
            "id": "u3",
            "geometry": {
                "type": "Polygon",
                "coordinates": [
                    [
                        [-87.6243, 41.88],
                        [-87.6242, 41.88],
                        [-87.6242, 41.8801],
                        [-87.6243, 41.8801],
                        [-87.6243, 41.88],
                    ]
                ],
            },
            "properties": {
                "feature_type": "unit",
                "unit_id": "ugwo2tfiznm",
                "name": "101",
                "asset_id": "alder-court",
                "floor_id": "alder-court-floor-1",
                "floor_short_label": "1",
                "level_id": None,
            },
        }
    ],
}
