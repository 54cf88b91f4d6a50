"""Requests in OpenAPI: every input of an endpoint, in its place, and the headers it takes."""

import re
from collections import Counter
from typing import Any

import pytest

from resolvers.request.caller import FLAGS
from rest.bodies import ASSIGNMENTS_BODY, DISTANCES_BODY, UNIT_MAP_BODY, RequestBody
from rest.endpoint_table import ENDPOINTS, Endpoint
from rest.openapi import description
from rest.openapi.examples import SVG_EXAMPLE
from rest.openapi.request_descriptions import (
    HEADER_PARAMETERS,
    SECURITY_SCHEMES,
    describe_body,
    describe_parameters,
)
from rest.parameters import EndpointInputs
from schema.execution import Executor
from schema.root import GRAPHQL_SCHEMA

EXECUTOR = Executor(GRAPHQL_SCHEMA)
DESCRIPTION = description.build_description(GRAPHQL_SCHEMA)
each_endpoint = pytest.mark.parametrize(
    "row", ENDPOINTS, ids=lambda row: f"{row.method}-{row.path.removeprefix('/v1/')}"
)


def inputs_of(row: Endpoint) -> EndpointInputs:
    return EndpointInputs.read(GRAPHQL_SCHEMA, row, EXECUTOR.prepare(row.document))


def described(row: Endpoint, *flags: str) -> list[dict[str, Any]]:
    components: dict[str, dict[str, Any]] = {}
    parameters = describe_parameters(row, inputs_of(row), flags, components)
    return [components.get(item.get("$ref", "").rpartition("/")[2], item) for item in parameters]


def reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/parameters/{name}"}


def test_every_endpoint_of_the_table_is_described_once() -> None:
    operations = Counter(
        (method.upper(), path)
        for path, methods in DESCRIPTION["paths"].items()
        for method in methods
    )
    assert operations == Counter((row.method, row.path) for row in ENDPOINTS)


def test_the_flags_of_single_parameters_are_described() -> None:
    (units,) = (row for row in ENDPOINTS if row.path == "/v1/units")
    (flags,) = (item for item in described(units) if item.get("name") == "Experimental-Flags")
    assert "required" not in flags  # only these parameters need them
    assert flags["description"] == (
        "Flags separated by commas: `unit-attributes-resource` for `attribute`, `references` for "
        "`reference`."
    )
    assert "400" in DESCRIPTION["paths"]["/v1/units"]["get"]["responses"]


def test_the_page_size_is_one_parameter_with_the_default_of_the_list() -> None:
    for row in ENDPOINTS:
        is_whole = row.path.endswith("/locations")
        for item in described(row):
            if item.get("name", "").replace("_", "-").lower() in ("per-page", "perpage"):
                assert item["name"] == "per-page"
                assert item["schema"].get("default") == (10_000 if is_whole else None)
                assert f"Without it {10_000 if is_whole else 100}, " in item["description"]
                assert "`perPage` and `per_page` are read as `per-page`" in item["description"]


@pytest.mark.slow
@each_endpoint
def test_every_input_is_in_its_place(row: Endpoint) -> None:
    inputs = inputs_of(row)
    own = [item for item in described(row) if "$ref" not in item and item["in"] != "header"]
    assert [(item["in"], item["name"]) for item in own] == [
        *(("path", name) for name in row.path_parameters),
        *(("query", parameter.name) for parameter in inputs.query),
    ]
    body = describe_body(row.body, inputs, {})
    assert bool(body) == (row.body is not None)
    assert not (row.body and inputs.query) or row.body.variable


@each_endpoint
def test_path_parameters_are_required_and_have_the_schema_of_ids(row: Endpoint) -> None:
    for parameter in described(row):
        if parameter.get("in") == "path":
            assert parameter["required"] is True
            assert parameter["description"]
            assert parameter["schema"]["minLength"] == 1
            assert parameter["schema"]["maxLength"] == 255
            assert parameter["example"]


@each_endpoint
def test_query_parameters_are_required_if_their_argument_is(row: Endpoint) -> None:
    required = {
        item["name"] for item in described(row) if item.get("in") == "query" and item["required"]
    }
    assert required == {item.name for item in inputs_of(row).query if item.is_required}
    # Of a picture, a route is only an addition.
    may_lack = {"from", "to"} if row.path.endswith("/picture") else set()
    names = {item.name for item in inputs_of(row).query}
    assert required == ({"from", "to", "minutes"} & names) - may_lack


@each_endpoint
def test_an_entity_tag_may_be_sent_to_read_and_both_conditions_to_change(row: Endpoint) -> None:
    parameters = described(row)
    changes = bool(row.changes)
    assert (reference("IfNoneMatch") in parameters) == (changes or row.method == "GET")
    assert (reference("IfMatch") in parameters) == changes
    assert parameters[-1] == reference("RequestId")


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_is_a_required_header_that_names_it_among_others(flag: str) -> None:
    [header] = [item for item in described(ENDPOINTS[0], flag) if item.get("in") == "header"]
    assert (header["name"], header["required"]) == ("Experimental-Flags", True)
    assert f"`{flag}`" in header["description"]
    pattern = header["schema"]["pattern"]
    for value in (header["example"], f"x,{flag}", f" {flag} ,x", ",".join(FLAGS)):
        assert re.search(pattern, value)
    for value in ("", f"{flag}x", f"x{flag}", flag.upper(), f"{flag} x", flag[:-1]):
        assert not re.search(pattern, value)


def test_no_flag_is_no_header() -> None:
    assert not [item for item in described(ENDPOINTS[0]) if item.get("in") == "header"]


def is_inline(schema: dict[str, Any]) -> bool:
    """Whether an object has another one in it that has no name."""
    members = [*schema.get("properties", {}).values()]
    members += [each["items"] for each in members if "items" in each]
    return any("object" in str(each.get("type")) for each in members)


@pytest.mark.parametrize("body", [ASSIGNMENTS_BODY, DISTANCES_BODY, UNIT_MAP_BODY])
def test_a_body_is_required_and_has_its_media_type_limit_and_example(body: RequestBody) -> None:
    row = next(row for row in ENDPOINTS if row.body is body)
    components: dict[str, Any] = {}
    request_body = describe_body(body, inputs_of(row), components)["requestBody"]
    assert request_body["required"] is True
    assert (
        request_body["description"] == f"{body.description} At most {body.max_bytes} bytes.".strip()
    )
    [(media_type, media)] = request_body["content"].items()
    assert media_type == body.media_type
    assert media["example"]
    title = getattr(body, "title", "UnitMapDrawing")
    assert [*components][-1] == title
    assert all(not is_inline(value) for value in components.values())
    assert media["schema"] == {"$ref": f"#/components/schemas/{title}"}


def test_the_example_of_a_drawing_is_the_one_that_is_shown_parsed() -> None:
    row = next(row for row in ENDPOINTS if row.body is UNIT_MAP_BODY)
    content = describe_body(UNIT_MAP_BODY, inputs_of(row), {})["requestBody"]["content"]
    assert content[UNIT_MAP_BODY.media_type]["example"] == SVG_EXAMPLE


def test_a_key_may_come_in_two_places_and_either_is_enough() -> None:
    places = {(scheme["in"], scheme["name"]) for scheme in SECURITY_SCHEMES.values()}
    assert places == {("header", "API-Key"), ("query", "api-key")}
    assert DESCRIPTION["security"] == [{name: []} for name in SECURITY_SCHEMES]
    assert all("security" not in path for path in DESCRIPTION["paths"].values())


def test_shared_headers_are_optional_and_described() -> None:
    assert HEADER_PARAMETERS.items() <= DESCRIPTION["components"]["parameters"].items()
    for parameter in HEADER_PARAMETERS.values():
        assert parameter["in"] == "header"
        assert parameter["description"]
        assert "required" not in parameter
