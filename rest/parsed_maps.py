"""The JSON schemas of a parsed unit map: a tree of elements, told apart by their `type`."""

from typing import Final

from rest.shapes import JsonSchema

_COMPONENTS: Final = "#/components/schemas/"
_TEXT: Final[JsonSchema] = {"type": "string"}
_NUMBER: Final[JsonSchema] = {"type": "number"}

GEOMETRY: Final = {
    "Polygon": ("points",),
    "Polyline": ("points",),
    "Line": ("x1", "y1", "x2", "y2"),
    "Path": ("d",),
    "Circle": ("cx", "cy", "r"),
    "Ellipse": ("cx", "cy", "rx", "ry"),
    "Rect": ("x", "y", "width", "height", "rx", "ry"),
}
"""The shapes, with the attributes of SVG that each has besides the styling ones."""

STYLING: Final = (
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
NUMBERS_OF_RECT: Final = ("x", "y", "width", "height")


def _reference(name: str) -> JsonSchema:
    return {"$ref": _COMPONENTS + name}


def _object(
    description: str, kind: str, optional: dict[str, JsonSchema], **members: JsonSchema
) -> JsonSchema:
    required = {"type": {"type": "string", "const": kind}, **members}
    return {
        "type": "object",
        "description": description,
        "required": [*required],
        "properties": {**required, **optional},
    }


def _graphic(kind: str) -> JsonSchema:
    numbers = NUMBERS_OF_RECT if kind == "Rect" else ()
    attributes = {
        name: _NUMBER if name in numbers else _TEXT for name in (*GEOMETRY[kind], *STYLING)
    }
    return _object(f"SVG's {kind.lower()}, its attributes as they were written.", kind, attributes)


_UID: Final[JsonSchema] = {
    "type": "string",
    "pattern": "^u[1-9][0-9]*$",
    "description": "`u` and the element's position in the tree, parents first.",
}
_CHILDREN: Final[JsonSchema] = {"type": "array", "items": _reference("MapElement")}
_SHAPE: Final[JsonSchema] = {
    "type": "object",
    "description": "An outline: geometry, fill and transform alone.",
    "required": ["type"],
    "properties": {
        "type": {"type": "string", "enum": [*GEOMETRY]},
        "fill": _TEXT,
        "transform": _TEXT,
        "points": _TEXT,
        "d": _TEXT,
    },
}
_TARGET: Final[JsonSchema] = {
    "type": "object",
    "required": ["id", "type"],
    "properties": {"id": _TEXT, "type": {"type": "string", "examples": ["Unit"]}},
}
_TAGS: Final[JsonSchema] = {
    "type": "object",
    "description": "From the key of a level tag to the id of its value.",
    "additionalProperties": _TEXT,
}

ELEMENTS: Final[dict[str, JsonSchema]] = {
    "Georeference": _object(
        "Where on earth the map is.",
        "Georeference",
        {},
        uid=_UID,
        latitude=_NUMBER,
        longitude=_NUMBER,
        zoom=_NUMBER,
        bearing=_NUMBER,
        pitch=_NUMBER,
    ),
    "Level": _object(
        "A storey.", "Level", {"id": _TEXT, "tags": _TAGS}, uid=_UID, elements=_CHILDREN
    ),
    "Layer": _object("A group of elements.", "Layer", {}, elements=_CHILDREN),
    "HitAreaLayer": _object("Holds hit areas.", "HitAreaLayer", {}, elements=_CHILDREN),
    "UnitLayer": _object("Holds units.", "UnitLayer", {}, elements=_CHILDREN),
    "HitArea": _object(
        "Where a click means its target.",
        "HitArea",
        {},
        uid=_UID,
        id=_TEXT,
        shape=_reference("MapShape"),
        target=_TARGET,
    ),
    "Unit": _object(
        "The outline of a unit; `id` is the unit's.",
        "Unit",
        {},
        uid=_UID,
        id=_TEXT,
        shape=_reference("MapShape"),
    ),
    **{kind: _graphic(kind) for kind in GEOMETRY},
}

COMPONENTS: Final[dict[str, JsonSchema]] = {
    "MapElement": {
        "oneOf": [_reference(f"Map{kind}") for kind in ELEMENTS],
        "discriminator": {
            "propertyName": "type",
            "mapping": {kind: f"{_COMPONENTS}Map{kind}" for kind in ELEMENTS},
        },
    },
    **{f"Map{kind}": schema for kind, schema in ELEMENTS.items()},
    "MapShape": _SHAPE,
}
"""What the schema of a parsed map refers to."""

PARSED_MAP: Final[JsonSchema] = {
    "title": "ParsedMap",
    "type": "object",
    "required": ["version", "type", "width", "height", "elements"],
    "properties": {
        "version": {"type": "string", "const": "1.2"},
        "type": {"type": "string", "const": "application/vnd.map+json"},
        "width": {"type": "integer"},
        "height": {"type": "integer"},
        "elements": _CHILDREN,
    },
}
