"""Examples of responses: one for every resource, each true to its schema and to the demo."""

from typing import Any

import jsonschema_rs
import pytest

from parsing.svg.unit_map import parse_unit_map
from rest.envelopes import (
    PagedList,
    SingleResource,
)
from rest.graphql_documents import FRAGMENTS
from rest.openapi import description
from rest.openapi.examples import (
    BASE_URL,
    RESOURCE_EXAMPLES,
    SVG_EXAMPLE,
    build_example_response,
)
from rest.openapi.json_schemas import MissingDescriptionError
from schema.root import GRAPHQL_SCHEMA

COMPONENTS = description.build_description(GRAPHQL_SCHEMA)["components"]


def test_every_resource_has_an_example_and_every_example_a_resource() -> None:
    assert {*RESOURCE_EXAMPLES} == {*FRAGMENTS, "GeoJson", "ParsedMap"}


@pytest.mark.parametrize("name", RESOURCE_EXAMPLES)
def test_an_example_has_the_members_of_its_schema(name: str) -> None:
    """Those that may be null may be left out, and are null in the description."""
    members = COMPONENTS["schemas"][name]["properties"]
    nulls = {key: None for key, schema in members.items() if "null" in schema.get("type", ())}
    schema = {"$ref": f"#/components/schemas/{name}", "components": COMPONENTS}
    validator = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
    shown = nulls | RESOURCE_EXAMPLES[name]
    assert [error.message for error in validator.iter_errors(shown)] == []
    assert {*shown} == {*members}


def test_the_example_of_a_drawing_parses_to_the_example_of_a_parsed_map() -> None:
    parsed = RESOURCE_EXAMPLES["ParsedMap"]
    assert parse_unit_map(SVG_EXAMPLE.encode()).to_dict() == parsed


TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
UNIT: dict[str, Any] = {
    "title": "Unit",
    "type": "object",
    "properties": {"id": TEXT, "name": TEXT},
}
PAGE: dict[str, Any] = {
    "properties": {
        "paging": {"properties": {"per_page": NUMBER, "current_page": NUMBER, "next": TEXT}},
        "data": {"type": "array", "items": UNIT},
    }
}
EXAMPLE = {"id": "ugwo2tfiznm", "name": "101"}


def test_the_example_of_a_page_has_a_next_one_at_the_path_of_the_endpoint() -> None:
    page = build_example_response(PagedList("units"), PAGE, "/v1/units")
    next_url = page.body["paging"]["next_url"]
    assert next_url.startswith(f"{BASE_URL}/v1/units?per-page=20&page=2&after=")
    assert page.headers == {"Link": f'<{next_url}>; rel="next"'}
    assert page.body["data"] == [EXAMPLE]
    assert build_example_response(SingleResource("unit"), UNIT, "/v1").headers == {}


def test_a_nullable_member_without_an_example_is_null_and_another_one_is_left_out() -> None:
    members = {"id": TEXT, "suite": {"type": ["string", "null"]}, "rent": NUMBER}
    schema = {"title": "Unit", "type": "object", "properties": members}
    response = build_example_response(SingleResource("unit"), schema, "/v1")
    assert response.body == {"id": EXAMPLE["id"], "suite": None}


@pytest.mark.parametrize("schema", [TEXT, {"title": "Garage", "type": "object"}, {"items": TEXT}])
def test_a_resource_without_an_example_is_named(schema: dict[str, Any]) -> None:
    with pytest.raises(MissingDescriptionError, match="RESOURCE_EXAMPLES has no example of"):
        build_example_response(SingleResource("unit"), schema, "/v1")
