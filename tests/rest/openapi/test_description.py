"""The OpenAPI description: complete, made from the table, with examples that are true."""

import json
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import yaml

from parsing.svg.unit_map import parse_unit_map
from rest.openapi import description
from rest.openapi.description import TAG_DESCRIPTIONS
from rest.responses import NoBodyForm
from schema.root import GRAPHQL_SCHEMA
from tests.endpoints import ENDPOINTS

DESCRIPTION = description.build_description(GRAPHQL_SCHEMA, "https://maps.example")
OPERATIONS = [DESCRIPTION["paths"][row.path][row.method.lower()] for row in ENDPOINTS]
NAMES = [operation["operationId"] for operation in OPERATIONS]


def resolved(part: dict[str, Any]) -> dict[str, Any]:
    """What a reference points to."""
    if "$ref" not in part:
        return part
    target: Any = DESCRIPTION
    for name in part["$ref"].removeprefix("#/").split("/"):
        target = target[name]
    return dict(target)


def schema_errors(schema: dict[str, Any], value: object) -> list[str]:
    refers = "$ref" in json.dumps(schema)
    complete = {**schema, "components": DESCRIPTION["components"]} if refers else schema
    validator = jsonschema_rs.Draft202012Validator(complete, validate_formats=True)
    return [error.message for error in validator.iter_errors(value)]


def media(operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    bodies = [resolved(response) for response in operation["responses"].values()]
    for body in [*bodies, operation.get("requestBody", {})]:
        yield from body.get("content", {}).values()


def examples_of(part: dict[str, Any]) -> list[Any]:
    several = [example["value"] for example in part.get("examples", {}).values()]
    return [part["example"], *several] if "example" in part else several


def test_the_server_is_where_clients_find_it() -> None:
    assert [each["url"] for each in DESCRIPTION["servers"]] == ["https://maps.example"]
    assert description.build_description(GRAPHQL_SCHEMA)["servers"][0]["url"] == "/"


def test_yaml_holds_the_same_in_the_same_order() -> None:
    read = yaml.safe_load(description.to_yaml(DESCRIPTION))
    assert json.dumps(read) == json.dumps(DESCRIPTION)


def test_every_operation_has_a_name_of_its_own() -> None:
    assert len({*NAMES}) == len(ENDPOINTS)


def test_every_example_of_a_body_fits_its_schema() -> None:
    for operation in OPERATIONS:
        for content in media(operation):
            assert examples_of(content) or content["schema"].get("format") == "binary"
            for example in examples_of(content):
                assert schema_errors(content["schema"], example) == [], operation["operationId"]


def test_the_example_of_a_drawing_parses_to_that_of_a_parsed_map() -> None:
    [parsing] = [each for each in OPERATIONS if each["operationId"] == "parseMap"]
    [drawing] = parsing["requestBody"]["content"].values()
    [parsed] = parsing["responses"]["200"]["content"].values()
    assert parse_unit_map(drawing["example"].encode()).to_dict() == parsed["example"]


def test_every_parameter_and_header_is_described_and_its_example_fits() -> None:
    for operation in OPERATIONS:
        for parameter in map(resolved, operation["parameters"]):
            assert parameter["description"]
            for example in examples_of(parameter):
                assert schema_errors(parameter["schema"], example) == [], parameter["name"]
        for response in map(resolved, operation["responses"].values()):
            assert "X-Request-Id" in response["headers"]
            for header in map(resolved, response["headers"].values()):
                assert schema_errors(header["schema"], header["example"]) == []


def test_every_tag_of_the_table_is_described_and_no_other() -> None:
    assert {*TAG_DESCRIPTIONS} == {row.tag for row in ENDPOINTS}


def test_every_component_is_used() -> None:
    text = json.dumps(DESCRIPTION)
    for kind, components in DESCRIPTION["components"].items():
        for name in components:
            assert kind == "securitySchemes" or f'"#/components/{kind}/{name}"' in text


def test_a_permission_is_shown_and_what_the_specification_does_not_have_is_marked() -> None:
    by_name = dict(zip(NAMES, zip(ENDPOINTS, OPERATIONS, strict=True), strict=True))
    _, references = by_name["listAssetReferences"]
    assert references["x-permission"] == "service.asset-references.read"
    assert "`service.asset-references.read`" in references["description"]
    for row, operation in by_name.values():
        assert operation.get("x-extension", False) == row.number.startswith("X"), row.path


def test_errors_and_empty_responses_are_those_of_the_endpoint() -> None:
    for row, operation in zip(ENDPOINTS, OPERATIONS, strict=True):
        responses = operation["responses"]
        assert ({"413", "415"} <= {*responses}) == (row.body is not None)
        assert ("204" in responses) == isinstance(row.form, NoBodyForm)
        assert "content" not in responses.get("204", {})
