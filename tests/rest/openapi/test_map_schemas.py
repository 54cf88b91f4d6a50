"""The schema of a parsed map is what the parser writes, attribute by attribute."""

from typing import Any

import jsonschema_rs
import pytest

from parsing.svg import names, unit_map
from parsing.svg.unit_map import parse_unit_map
from rest.openapi.map_schemas import (
    COMPONENT_SCHEMAS,
    COMPONENTS_PREFIX,
    GEOMETRY_PROPERTIES,
    PARSED_MAP_SCHEMA,
    RECT_NUMBER_ATTRIBUTES,
    STYLE_ATTRIBUTES,
)
from tests.parsing.parsed_maps import DEMO, MADE


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema without room for members that it does not describe."""
    is_map = "additionalProperties" in schema or "properties" not in schema
    return schema if is_map else {**schema, "additionalProperties": False}


COMPONENTS = {name: closed(schema) for name, schema in COMPONENT_SCHEMAS.items()}
VALIDATOR = jsonschema_rs.Draft202012Validator(
    {**closed(PARSED_MAP_SCHEMA), "components": {"schemas": COMPONENTS}}
)


def parsed(*shapes: str) -> dict[str, Any]:
    return parse_unit_map(f'<svg viewBox="0 0 60 30">{"".join(shapes)}</svg>'.encode()).to_dict()


def in_layer(kind: str, *shapes: str) -> str:
    return f'<g data-type="{kind}">{"".join(shapes)}</g>'


def test_all_that_a_drawing_parses_to_is_described() -> None:
    for drawing in (*MADE, *DEMO):
        VALIDATOR.validate(parse_unit_map(drawing.read_bytes()).to_dict())


ATTRIBUTES = """fill="red" fill-opacity=".5" fill-rule="evenodd" stroke="#000" stroke-width="2"
    stroke-miterlimit="3" stroke-opacity=".5" stroke-linecap="round" stroke-linejoin="bevel"
    stroke-dasharray="1 2" opacity=".9" transform="translate(1 2)" """
SHAPES = {
    "Polygon": '<polygon points="0,0 1,0 1,1"',
    "Polyline": '<polyline points="0,0 1,0"',
    "Line": '<line x1="0" y1="0" x2="1" y2="50%"',
    "Path": '<path d="M0 0h1v1z"',
    "Circle": '<circle cx="1" cy="1" r="2"',
    "Ellipse": '<ellipse cx="1" cy="1" rx="2" ry="3"',
    "Rect": '<rect x="1" y="2mm" width="50%" height="3.5" rx="1" ry="1"',
}


@pytest.mark.parametrize("kind", SHAPES)
def test_a_shape_with_every_attribute_is_described_in_every_layer(kind: str) -> None:
    drawing = parsed(
        f"{SHAPES[kind]} {ATTRIBUTES}/>",
        in_layer("UnitLayer", f'{SHAPES[kind]} id="101" {ATTRIBUTES}/>'),
        in_layer("HitAreaLayer", f'{SHAPES[kind]} id="hit101" {ATTRIBUTES}/>'),
    )
    VALIDATOR.validate(drawing)
    graphic, unit_layer, hit_layer = drawing["elements"]
    assert {*graphic} == {"type", *GEOMETRY_PROPERTIES[kind], *STYLE_ATTRIBUTES}
    outline = {"type", *GEOMETRY_PROPERTIES[kind], "fill", "transform"}
    [unit], [hit_area] = unit_layer["elements"], hit_layer["elements"]
    assert {*unit["shape"]} == {*hit_area["shape"]} == outline


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "Square"},
        {"type": "Unit", "uid": "u1", "id": "101"},
        {"type": "Unit", "uid": "u0", "id": "101", "shape": {"type": "Rect"}},
        {"type": "Unit", "uid": "u1", "id": "101", "shape": {"type": "Level"}},
        {"type": "Unit", "uid": "u1", "id": "101", "shape": {"type": "Rect", "stroke": "red"}},
        {"type": "Rect", "x": "1"},
        {"type": "Level", "uid": "u1", "elements": [], "tags": {"floor": 1}},
        {"type": "HitArea", "uid": "u1", "id": "h", "shape": {"type": "Rect"}, "target": {}},
    ],
    ids=str,
)
def test_anything_else_is_not(wrong: dict[str, Any]) -> None:
    drawing = parsed()
    assert VALIDATOR.is_valid(drawing)
    assert not VALIDATOR.is_valid({**drawing, "elements": [wrong]})


def test_the_names_are_those_of_the_parser() -> None:
    """`rest` may not import `parsing`, so it has its own lists of them."""
    described = {name for attributes in GEOMETRY_PROPERTIES.values() for name in attributes}
    assert {*GEOMETRY_PROPERTIES} == {*names.SHAPE_KINDS}
    assert described == names.GEOMETRY_ATTRIBUTES
    assert {*STYLE_ATTRIBUTES} == names.OUTPUT_ATTRIBUTES - names.GEOMETRY_ATTRIBUTES
    assert {*RECT_NUMBER_ATTRIBUTES} == names.RECT_LENGTHS
    fixed = {name: PARSED_MAP_SCHEMA["properties"][name]["const"] for name in ("version", "type")}
    assert fixed == {"version": unit_map.UNIT_MAP_VERSION, "type": unit_map.MEDIA_TYPE}


def test_the_discriminator_leads_to_every_element() -> None:
    element = COMPONENT_SCHEMAS["MapElement"]
    mapping = element["discriminator"]["mapping"]
    assert element["oneOf"] == [{"$ref": reference} for reference in mapping.values()]
    for kind, reference in mapping.items():
        described = COMPONENT_SCHEMAS[reference.removeprefix(COMPONENTS_PREFIX)]
        assert described["properties"]["type"]["const"] == kind
        assert described["description"]
