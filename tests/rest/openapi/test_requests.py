"""Requests in OpenAPI: every input of an endpoint in its place, with its type and rules."""

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import jsonschema_rs
import pytest
from graphql import GraphQLObjectType

from resolvers.distances import LocationOrPosition
from resolvers.request.caller import FLAGS
from rest.bodies import JsonBody, RequestBody
from rest.endpoint_files import Endpoint
from rest.errors import JSON_MEDIA_TYPE
from rest.names import to_snake_case
from rest.openapi import description
from rest.openapi.example_values import make_example
from rest.openapi.json_schemas import hoist_titled
from rest.openapi.requests import (
    SECURITY_SCHEMES,
    SVG_EXAMPLE,
    build_body_example,
    build_body_schema,
    describe_body,
    describe_parameter_value,
    describe_parameters,
)
from rest.parameters import EndpointInputs
from schema.execution import Executor
from schema.operation_inputs import Input, OperationInputs, definition_of
from schema.root import GRAPHQL_SCHEMA
from tests.endpoints import ENDPOINTS, body_of

EXECUTOR = Executor(GRAPHQL_SCHEMA)
ASSIGNMENTS_BODY = body_of("AssignUnitAttributes")
CLOSURES_BODY = body_of("SetClosures")
DISTANCES_BODY = body_of("CalculateDistances")
UNIT_MAP_BODY = body_of("ParseMap")
DESCRIPTION = description.build_description(GRAPHQL_SCHEMA)


def inputs_of(row: Endpoint) -> EndpointInputs:
    return EndpointInputs.read(GRAPHQL_SCHEMA, row, EXECUTOR.prepare(row.document))


def described(row: Endpoint, *flags: str) -> list[dict[str, Any]]:
    components: dict[str, dict[str, Any]] = {}
    parameters = describe_parameters(row, inputs_of(row), flags, components)
    return [components.get(item.get("$ref", "").rpartition("/")[2], item) for item in parameters]


def reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/parameters/{name}"}


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


def test_every_input_is_in_its_place_and_required_if_its_argument_is() -> None:
    for row in ENDPOINTS:
        inputs, parameters = inputs_of(row), described(row)
        own = [item for item in parameters if "$ref" not in item and item["in"] != "header"]
        assert [(item["in"], item["name"]) for item in own] == [
            *(("path", name) for name in row.path_parameters),
            *(("query", parameter.name) for parameter in inputs.query),
        ]
        in_path, in_query = own[: len(row.path_parameters)], own[len(row.path_parameters) :]
        for item in in_path:
            assert item["required"] and item["description"] and item["example"]
            assert (item["schema"]["minLength"], item["schema"]["maxLength"]) == (1, 255)
        required = {item["name"] for item in in_query if item["required"]}
        assert required == {item.name for item in inputs.query if item.is_required}
        # Of a picture, a route is only an addition.
        may_lack = {"from", "to"} if row.path.endswith("/picture") else set()
        assert required == ({"from", "to", "minutes"} & {i["name"] for i in in_query}) - may_lack
        assert bool(describe_body(row.body, inputs, {})) == (row.body is not None)
        assert not (row.body and inputs.query) or row.body.variable


def test_an_entity_tag_may_be_sent_to_read_and_both_conditions_to_change() -> None:
    for row in ENDPOINTS:
        parameters, changes = described(row), bool(row.changes)
        assert (reference("IfNoneMatch") in parameters) == (changes or row.method == "GET")
        assert (reference("IfMatch") in parameters) == changes
        assert parameters[-1] == reference("RequestId")


def test_a_flag_is_a_required_header_that_names_it_among_others() -> None:
    flag = FLAGS[0]
    [header] = [item for item in described(ENDPOINTS[0], flag) if item.get("in") == "header"]
    assert (header["name"], header["required"]) == ("Experimental-Flags", True)
    assert f"`{flag}`" in header["description"]
    pattern = header["schema"]["pattern"]
    for value in (header["example"], f"x,{flag}", f" {flag} ,x", ",".join(FLAGS)):
        assert re.search(pattern, value)
    for value in ("", f"{flag}x", f"x{flag}", flag.upper(), f"{flag} x", flag[:-1]):
        assert not re.search(pattern, value)


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


def test_a_key_may_come_in_two_places_and_either_is_enough() -> None:
    places = {(scheme["in"], scheme["name"]) for scheme in SECURITY_SCHEMES.values()}
    assert places == {("header", "API-Key"), ("query", "api-key")}
    assert DESCRIPTION["security"] == [{name: []} for name in SECURITY_SCHEMES]
    assert all("security" not in path for path in DESCRIPTION["paths"].values())


# Types and rules of inputs


def parameter(path: str, name: str) -> dict[str, Any]:
    (row,) = (row for row in ENDPOINTS if (row.path, row.method) == (path, "GET"))
    (found,) = (item for item in inputs_of(row).query if item.name == name)
    return describe_parameter_value(found.input)


def body_inputs(request_body: RequestBody) -> Any:
    return inputs_of(next(row for row in ENDPOINTS if row.body is request_body)).body


def test_a_parameter_has_the_type_rules_default_and_example_of_its_argument() -> None:
    described = parameter("/v1/units", "page")
    # No default: what an absent page means depends on `after`.
    assert described["schema"] == {
        "type": "integer",
        "format": "int32",
        "minimum": 1,
        "maximum": 2**31 - 1,
    }
    assert described["example"] == 1
    assert described["description"]
    assert parameter("/v1/maps/{map}/nearest", "limit")["schema"]["default"] == 10


def test_a_list_has_the_type_and_the_rules_of_its_items() -> None:
    described = parameter("/v1/maps/{map}/route", "avoid")
    assert described["schema"] == {
        "type": "array",
        "minItems": 1,  # an empty parameter is one empty text
        "maxItems": 4,
        "items": {"type": "string", "enum": ["stairs", "escalators", "lifts", "outdoors"]},
    }
    assert described["explode"] is False
    schema = build_body_schema(CLOSURES_BODY, body_inputs(CLOSURES_BODY))
    doors = schema["properties"]["data"]["properties"]["doors"]
    assert doors["type"] == ["array", "null"]
    assert (doors["items"]["type"], doors["items"]["maxLength"]) == ("string", 255)


def test_the_schema_of_a_json_body_has_data_alone() -> None:
    schema = build_body_schema(DISTANCES_BODY, body_inputs(DISTANCES_BODY))
    assert (schema["title"], schema["required"]) == ("DistanceRequest", ["data"])
    data = schema["properties"]["data"]
    assert data["additionalProperties"] is False
    assert data["required"] == ["sources", "targets"]


def test_an_input_object_has_nullable_members_and_its_joint_rules() -> None:
    schema = build_body_schema(DISTANCES_BODY, body_inputs(DISTANCES_BODY))
    waypoint = schema["properties"]["data"]["properties"]["sources"]["items"]
    assert waypoint["properties"]["floor_id"]["type"] == ["string", "null"]
    assert waypoint["title"] == "Waypoint"
    assert waypoint["if"]["required"] == ["x", "y"]
    forms = [form["required"] for form in waypoint["then"]["anyOf"]]
    assert forms == [["floor_id"], ["floorId"], ["id"], ["unit_id"]]


def test_no_member_of_a_body_has_a_default_or_an_enum_with_null() -> None:
    components: dict[str, Any] = {}
    hoist_titled(build_body_schema(DISTANCES_BODY, body_inputs(DISTANCES_BODY)), components)
    described = str(components)
    assert "'default':" not in described
    assert not re.search(r"'enum': \[[^]]*None", described)
    mode = components["PedestrianOptions"]["properties"]["mode"]
    assert {"type": "null"} in mode["anyOf"]
    assert mode["description"].endswith("Default: `foot`.")


ABSENT = object()
POINT: dict[str, list[Any]] = {
    "x": [1.5],
    "y": [2.5],
    "id": ["l"],
    "unit_id": ["u"],
    "floor_id": ["f"],
}


def test_a_waypoint_is_described_as_it_is_checked() -> None:
    schema = build_body_schema(DISTANCES_BODY, body_inputs(DISTANCES_BODY))
    waypoint = schema["properties"]["data"]["properties"]["sources"]["items"]
    for given in combinations_of({name: [None, *some] for name, some in POINT.items()}):
        is_valid = LocationOrPosition().check(dict.fromkeys(POINT) | given) is None
        assert jsonschema_rs.is_valid(waypoint, given) == is_valid, given


def combinations_of(values: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    """Yield each way to give members one of their values, or to leave them out."""
    for chosen in product(*([ABSENT, *some] for some in values.values())):
        members = zip(values, chosen, strict=True)
        yield {name: value for name, value in members if value is not ABSENT}


def test_a_drawing_is_text_with_an_example() -> None:
    schema = build_body_schema(UNIT_MAP_BODY, ())
    assert (schema["type"], schema["contentMediaType"]) == ("string", "image/svg+xml")
    assert schema["maxLength"] == UNIT_MAP_BODY.max_bytes
    assert build_body_example(UNIT_MAP_BODY, ()) == SVG_EXAMPLE


ARGUMENTS = {
    f"{type.name}.{field_name}.{name}": argument
    for type in GRAPHQL_SCHEMA.type_map.values()
    if isinstance(type, GraphQLObjectType) and not type.name.startswith("__")
    for field_name, field in type.fields.items()
    for name, argument in field.args.items()
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_every_argument_can_be_a_parameter_or_a_member_of_a_body(name: str) -> None:
    argument, variable = ARGUMENTS[name], name.rpartition(".")[2]
    source = Input(variable, argument.type, argument, definition_of(argument), lambda _: None)
    body = JsonBody(JSON_MEDIA_TYPE, 1_000, title="Request")
    schema = build_body_schema(body, [source])
    assert jsonschema_rs.is_valid(schema, build_body_example(body, [source]))
    if source.definition.example is None:
        whole = make_example(schema["properties"]["data"]["properties"][to_snake_case(variable)])
        assert jsonschema_rs.is_valid(schema, {"data": {to_snake_case(variable): whole}})
    described = describe_parameter_value(source)
    assert described["description"]
    example = described.get("example", make_example(described["schema"], variable))
    assert jsonschema_rs.is_valid(described["schema"], example, validate_formats=True)


NESTED = """query Near($id: ID!, $type: ID!, $ids: [ID!], $one: ID = "a", $any: Boolean!) {
  map(id: $id) { locations(ids: $ids) { data { id @include(if: $any) name } } }
  units(attribute: {groupId: "view", attributeId: $type}, ids: [$one]) { data { id } }
}"""


def test_a_variable_within_a_value_is_described_by_its_own_type() -> None:
    inputs = OperationInputs(GRAPHQL_SCHEMA, EXECUTOR.prepare(NESTED)).by_variable
    described = {name: describe_parameter_value(each) for name, each in inputs.items()}
    assert described["one"]["schema"] == {"type": "string", "default": "a"}
    assert described["type"]["schema"]["maxLength"] == 255
    assert "default" not in described["any"]["schema"]
    required = {name for name, each in inputs.items() if each.is_required}
    assert required == {"id", "type", "any"}


def test_all_flags_are_one_header() -> None:
    (units,) = (row for row in ENDPOINTS if row.path == "/v1/units")
    (flags,) = (each for each in described(units, "a", "b") if each.get("in") == "header")
    assert flags["required"] is True
    assert flags["example"] == "a, b, unit-attributes-resource, references"
    matches = [bool(re.search(flags["schema"]["pattern"], text)) for text in ("a,x, b", "a", "b")]
    assert matches == [True, False, False]
