"""JSON schemas of inputs: the types and rules of the arguments that they feed."""

import re
from typing import Any

import jsonschema_rs
import pytest

from resolvers.networks.waypoints import LocationOrPosition
from rest.bodies import ASSIGNMENTS_BODY, CLOSURES_BODY, DISTANCES_BODY, UNIT_MAP_BODY, RequestBody
from rest.endpoint_table import ENDPOINTS
from rest.openapi.examples import SVG_EXAMPLE
from rest.openapi.input_schemas import (
    build_body_example,
    build_body_schema,
    describe_parameter_value,
)
from rest.openapi.json_schemas import hoist_titled
from rest.parameters import EndpointInputs
from schema.execution import Executor
from schema.root import GRAPHQL_SCHEMA

EXECUTOR = Executor(GRAPHQL_SCHEMA)


def inputs_of(path: str, method: str = "GET") -> EndpointInputs:
    (endpoint,) = (row for row in ENDPOINTS if (row.path, row.method) == (path, method))
    return EndpointInputs.read(GRAPHQL_SCHEMA, endpoint, EXECUTOR.prepare(endpoint.document))


def parameter(path: str, name: str) -> dict[str, Any]:
    (found,) = (item for item in inputs_of(path).query if item.name == name)
    return describe_parameter_value(found.input)


def body_inputs(request_body: RequestBody) -> Any:
    endpoint = next(row for row in ENDPOINTS if row.body is request_body)
    return inputs_of(endpoint.path, endpoint.method).body


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


def test_a_waypoint_in_a_query_is_text() -> None:
    described = parameter("/v1/maps/{map}/route", "from")
    assert described["schema"]["type"] == "string"
    assert "`x,y,floor_id`" in described["description"]


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


@pytest.mark.parametrize("id", [{}, {"id": None}, {"id": "loc-1"}])
@pytest.mark.parametrize("unit", [{}, {"unit_id": None}, {"unit_id": "u1"}])
@pytest.mark.parametrize("x", [{}, {"x": None}, {"x": 1.5}])
@pytest.mark.parametrize("y", [{}, {"y": None}, {"y": 2.5}])
@pytest.mark.parametrize("floor", [{}, {"floor_id": None}, {"floor_id": "f"}])
def test_a_waypoint_is_described_as_it_is_checked(
    id: dict[str, Any],
    unit: dict[str, Any],
    x: dict[str, Any],
    y: dict[str, Any],
    floor: dict[str, Any],
) -> None:
    given = {**id, **unit, **x, **y, **floor}
    schema = build_body_schema(DISTANCES_BODY, body_inputs(DISTANCES_BODY))
    waypoint = schema["properties"]["data"]["properties"]["sources"]["items"]
    values = dict.fromkeys(("id", "unit_id", "x", "y", "floor_id")) | given
    is_valid = LocationOrPosition().check(values) is None
    assert jsonschema_rs.is_valid(waypoint, given) == is_valid


def test_a_single_list_is_data_itself() -> None:
    inputs = body_inputs(ASSIGNMENTS_BODY)
    data = build_body_schema(ASSIGNMENTS_BODY, inputs)["properties"]["data"]
    assert data["type"] == "array"
    assert set(data["items"]["required"]) == {"asset_id", "attribute_id", "group_id", "unit_id"}
    assert [*build_body_example(ASSIGNMENTS_BODY, inputs)] == ["data"]


def test_a_drawing_is_text_with_an_example() -> None:
    schema = build_body_schema(UNIT_MAP_BODY, ())
    assert (schema["type"], schema["contentMediaType"]) == ("string", "image/svg+xml")
    assert schema["maxLength"] == UNIT_MAP_BODY.max_bytes
    assert build_body_example(UNIT_MAP_BODY, ()) == SVG_EXAMPLE


@pytest.mark.parametrize("request_body", [DISTANCES_BODY, ASSIGNMENTS_BODY])
def test_an_example_has_the_required_members(request_body: Any) -> None:
    inputs = body_inputs(request_body)
    data = build_body_schema(request_body, inputs)["properties"]["data"]
    example = build_body_example(request_body, inputs)["data"]
    assert {*data.get("required", ())} <= {*example} if isinstance(example, dict) else example
