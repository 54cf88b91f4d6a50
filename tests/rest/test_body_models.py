"""Bodies in snake_case become the variables of GraphQL."""

from typing import Any

import msgspec
import pytest
from graphql import GraphQLInputType, build_schema, parse_type, type_from_ast

from rest.body_models import build_model

SCHEMA = build_schema("""
    type Query { door: String }
    input WaypointInput { id: ID, floorId: ID }
    input AssignmentInput { unitId: ID! }
    input Options { walkingMode: String }
""")


def type_of(text: str) -> GraphQLInputType:
    found: Any = type_from_ast(SCHEMA, parse_type(text))
    assert found is not None
    return found  # type: ignore[no-any-return]


def read(types: dict[str, str], body: Any) -> dict[str, Any]:
    model = build_model("Test", {name: type_of(text) for name, text in types.items()})
    return model.to_variables(msgspec.convert(body, model.body_type))


MEMBERS = {"sources": "[WaypointInput!]!", "costingOptions": "Options"}


@pytest.mark.parametrize(
    ("types", "data", "variables"),
    [
        # a variable named data is all of it
        ({"data": "[AssignmentInput!]!"}, [{"unit_id": "u"}], {"data": [{"unitId": "u"}]}),
        # other variables are members, and null is as good as absent
        (MEMBERS, {"sources": [], "costing_options": None}, {"sources": []}),
        (
            MEMBERS,
            {"sources": [], "costing_options": {"walking_mode": "foot"}},
            {"sources": [], "costingOptions": {"walkingMode": "foot"}},
        ),
        # floorId as well as floor_id, which wins
        (
            MEMBERS,
            {"sources": [{"id": "a", "floorId": "f"}, {"floor_id": "g", "floorId": "f"}]},
            {"sources": [{"id": "a", "floorId": "f"}, {"id": None, "floorId": "g"}]},
        ),
        # which the rules see if it is no id
        (
            MEMBERS,
            {"sources": [{"floor_id": "g", "floorId": ""}]},
            {"sources": [{"id": None, "floorId": ""}]},
        ),
        # clients send whole locations back
        (
            MEMBERS,
            {"sources": [{"id": "a", "tags": []}]},
            {"sources": [{"id": "a", "floorId": None}]},
        ),
    ],
)
def test_a_body_becomes_variables(
    types: dict[str, str], data: Any, variables: dict[str, Any]
) -> None:
    assert read(types, {"data": data}) == variables


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, r"missing required field `sources` - at `\$.data`"),
        ({"sources": [], "unit": "m"}, r"unknown field `unit` - at `\$.data`"),
        (
            {"sources": [], "costing_options": {"walkingMode": "foot"}},
            r"unknown field `walkingMode` - at `\$.data.costing_options`",
        ),
        ({"sources": [{"floor_id": 1}]}, r"Expected `str \| null`, .*sources\[0\].floor_id`"),
    ],
)
def test_an_error_names_the_member(data: Any, message: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=message):
        read(MEMBERS, {"data": data})
