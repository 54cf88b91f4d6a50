"""JSON schemas of maps: the elements of a parsed map, and GeoJSON (RFC 7946)."""

from typing import Any, Final, TypeAlias

from rest.bodies import UNIT_MAP_BODY
from rest.responses import object_schema
from schema.operation_inputs import MAX_ID_CHARACTERS, JsonSchema

OpenApiObject: TypeAlias = dict[str, Any]
OUTPUT_TEXT_PATTERN = r"^[^\x00]*$"
"""The pattern of texts in responses: none has a NUL, which the database does not store either."""
COMPONENTS_PREFIX = "#/components/schemas/"
ELEMENT_COUNT_LIMIT: Final = UNIT_MAP_BODY.max_bytes // 4
"""Bound of the children of an element: `<g/>` is the shortest."""


def text_schema(max_length: int, **keywords: Any) -> JsonSchema:
    """Return the schema of a text in responses of at most so many characters."""
    return {"type": "string", "maxLength": max_length, "pattern": OUTPUT_TEXT_PATTERN, **keywords}


_TEXT_SCHEMA: Final = text_schema(UNIT_MAP_BODY.max_bytes)
_NUMBER_SCHEMA: Final[JsonSchema] = {"type": "number"}
_SIZE_SCHEMA: Final[JsonSchema] = {
    "type": "integer",
    "format": "int64",
    "minimum": 1,
    "maximum": 2**63 - 1,
}

GEOMETRY_PROPERTIES: Final = {
    "Polygon": ("points",),
    "Polyline": ("points",),
    "Line": ("x1", "y1", "x2", "y2"),
    "Path": ("d",),
    "Circle": ("cx", "cy", "r"),
    "Ellipse": ("cx", "cy", "rx", "ry"),
    "Rect": ("x", "y", "width", "height", "rx", "ry"),
}
"""The geometry attributes of each shape (SVG 2, chapters 9 and 10)."""

STYLE_ATTRIBUTES: Final = (
    "fill",
    "fill-opacity",
    "fill-rule",
    "stroke",
    "stroke-width",
    "stroke-miterlimit",
    "stroke-opacity",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-dasharray",
    "opacity",
    "transform",
)
RECT_NUMBER_ATTRIBUTES: Final = ("x", "y", "width", "height")


def _schema_reference(name: str) -> JsonSchema:
    return {"$ref": COMPONENTS_PREFIX + name}


def _element_schema(
    description: str, kind: str, optional: dict[str, JsonSchema], **members: JsonSchema
) -> JsonSchema:
    required = {"type": {"type": "string", "const": kind}, **members}
    return {
        "type": "object",
        "description": description,
        "required": [*required],
        "properties": {**required, **optional},
    }


def _graphic_schema(kind: str) -> JsonSchema:
    numbers = RECT_NUMBER_ATTRIBUTES if kind == "Rect" else ()
    attributes = {
        name: _NUMBER_SCHEMA if name in numbers else _TEXT_SCHEMA
        for name in (*GEOMETRY_PROPERTIES[kind], *STYLE_ATTRIBUTES)
    }
    return _element_schema(
        f"A `{kind.lower()}` of SVG; its attributes are as in the source.", kind, attributes
    )


_UID_SCHEMA: Final[JsonSchema] = {
    "type": "string",
    "pattern": "^u[1-9][0-9]*$",
    "maxLength": 16,
    "description": "`u` and the element's position in the tree, parents first.",
}
_CHILDREN_SCHEMA: Final[JsonSchema] = {
    "type": "array",
    "maxItems": ELEMENT_COUNT_LIMIT,
    "items": _schema_reference("MapElement"),
}
_SHAPE_SCHEMA: Final[JsonSchema] = {
    "type": "object",
    "description": "An outline: geometry, fill and transform alone.",
    "required": ["type"],
    "properties": {
        "type": {"type": "string", "enum": [*GEOMETRY_PROPERTIES]},
        "fill": _TEXT_SCHEMA,
        "transform": _TEXT_SCHEMA,
        **{name: _TEXT_SCHEMA for names in GEOMETRY_PROPERTIES.values() for name in names},
        # Numbers in a Rect; the text of the source where another shape has such an attribute.
        **{name: {**_TEXT_SCHEMA, "type": ["number", "string"]} for name in RECT_NUMBER_ATTRIBUTES},
    },
}
_TARGET_SCHEMA: Final = object_schema(
    None, id=_TEXT_SCHEMA, type={**_TEXT_SCHEMA, "examples": ["Unit"]}
)
_TAGS_SCHEMA: Final[JsonSchema] = {
    "type": "object",
    "description": "From the key of a level tag to the id of its value.",
    "additionalProperties": _TEXT_SCHEMA,
}

_CHILDREN: Final = {"elements": _CHILDREN_SCHEMA}
_OUTLINE: Final = {"uid": _UID_SCHEMA, "id": _TEXT_SCHEMA, "shape": _schema_reference("MapShape")}
_POSITION: Final = ("latitude", "longitude", "zoom", "bearing", "pitch")
ELEMENT_SCHEMAS: Final[dict[str, JsonSchema]] = {
    "Georeference": _element_schema(
        "The geographic position of the map.",
        "Georeference",
        {},
        uid=_UID_SCHEMA,
        **dict.fromkeys(_POSITION, _NUMBER_SCHEMA),
    ),
    "Level": _element_schema(
        "A storey.",
        "Level",
        {"id": _TEXT_SCHEMA, "tags": _TAGS_SCHEMA},
        uid=_UID_SCHEMA,
        **_CHILDREN,
    ),
    "Layer": _element_schema("A group of elements.", "Layer", {}, **_CHILDREN),
    "HitAreaLayer": _element_schema("Holds hit areas.", "HitAreaLayer", {}, **_CHILDREN),
    "UnitLayer": _element_schema("Holds units.", "UnitLayer", {}, **_CHILDREN),
    "HitArea": _element_schema(
        "An area to click, which selects its target.",
        "HitArea",
        {},
        **_OUTLINE,
        target=_TARGET_SCHEMA,
    ),
    "Unit": _element_schema("The outline of a unit; `id` is the unit's.", "Unit", {}, **_OUTLINE),
    **{kind: _graphic_schema(kind) for kind in GEOMETRY_PROPERTIES},
}

COMPONENT_SCHEMAS: Final[dict[str, JsonSchema]] = {
    "MapElement": {
        "oneOf": [_schema_reference(f"Map{kind}") for kind in ELEMENT_SCHEMAS],
        "discriminator": {
            "propertyName": "type",
            "mapping": {kind: f"{COMPONENTS_PREFIX}Map{kind}" for kind in ELEMENT_SCHEMAS},
        },
    },
    **{f"Map{kind}": schema for kind, schema in ELEMENT_SCHEMAS.items()},
    "MapShape": _SHAPE_SCHEMA,
}
"""The schemas that the schema of a parsed map refers to."""

PARSED_MAP_SCHEMA: Final = object_schema(
    "ParsedMap",
    version={"type": "string", "const": "1.2"},
    type={"type": "string", "const": "application/vnd.map+json"},
    width=_SIZE_SCHEMA,
    height=_SIZE_SCHEMA,
    elements=_CHILDREN_SCHEMA,
)

LONGEST_FEATURE_ID: Final = MAX_ID_CHARACTERS + len("location:")
FEATURES_BOUND: Final = 1_000_000
_NAME_CHARACTERS: Final = 65_536

_GEOMETRY_SCHEMA: Final = object_schema(
    None,
    type={"type": "string", "enum": ["Point", "Polygon", "MultiPolygon"]},
    coordinates={
        "type": "array",
        "minItems": 1,
        "maxItems": FEATURES_BOUND,
        "items": {},
        "description": "Longitude and latitude in degrees of WGS 84, nested as RFC 7946 says.",
    },
)
_KIND_SCHEMA: Final = {"type": "string", "enum": ["level", "unit", "hit_area", "location"]}
_FEATURE_SCHEMA: Final = object_schema(
    None,
    type={"type": "string", "const": "Feature"},
    id={
        "type": "string",
        "minLength": 1,
        "maxLength": LONGEST_FEATURE_ID,
        "pattern": OUTPUT_TEXT_PATTERN,
        "description": "Unique in the collection; that of a drawn feature is the `uid` of its "
        "element in the parsed map, and changes with the drawing.",
    },
    geometry=_GEOMETRY_SCHEMA,
    properties={**object_schema(None, feature_type=_KIND_SCHEMA), "additionalProperties": True},
)
GEOJSON_SCHEMA: Final = object_schema(
    "GeoJson",
    type={"type": "string", "const": "FeatureCollection"},
    name=text_schema(_NAME_CHARACTERS, description="The name of the map."),
    features={"type": "array", "maxItems": FEATURES_BOUND, "items": _FEATURE_SCHEMA},
)
