"""Fast coercion of input values gives the same result as graphql-core and strawberry."""

from typing import Any

import pytest
from graphql import (
    GraphQLInputObjectType,
    GraphQLInputType,
    Undefined,
    build_schema,
    is_input_type,
    parse_type,
    type_from_ast,
)
from graphql.utilities import coerce_input_value
from hypothesis import given
from hypothesis import strategies as st

from resolvers.distances import CostingOptions, PedestrianOptions, TravelMode
from resolvers.networks.waypoints import WaypointInput
from schema.compiler.coercion import (
    MAX_EXACT_INTEGER,
    FallbackNeededError,
    build_coercion,
    build_conversion,
)
from schema.compiler.selection import UnsupportedQueryError
from schema.root import GRAPHQL_SCHEMA

WAYPOINT = {"id": "gym", "name": None, "x": 1.5, "y": 2, "floorId": "lower"}
TYPES = [
    "ID",
    "String!",
    "Boolean",
    "Int",
    "Float",
    "Float!",
    "[ID!]",
    "[[Int]!]!",
    "WaypointInput",
    "[WaypointInput!]!",
    "CostingOptions",
    "AssignmentInput!",
]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from(
        [2**31, -(2**31), MAX_EXACT_INTEGER, MAX_EXACT_INTEGER + 1, 10**400, Undefined]
    ),
    st.floats(),
    st.text(max_size=3),
)
NAMES = st.sampled_from(
    ["id", "name", "x", "y", "floorId", "floor_id", "pedestrian", "mode", "groupId", "unitId"]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner),
        st.dictionaries(NAMES, inner, max_size=5),
        st.fixed_dictionaries({}, optional={"id": inner, "x": inner, "pedestrian": inner}),
    ),
    max_leaves=12,
)


def declared(text: str) -> GraphQLInputType:
    found = type_from_ast(GRAPHQL_SCHEMA, parse_type(text))
    assert is_input_type(found)
    return found


@given(text=st.sampled_from(TYPES), value=VALUES)
def test_fast_coercion_equals_that_of_graphql_core(text: str, value: Any) -> None:
    type = declared(text)
    try:
        coerced = build_coercion(type)(value)
    except FallbackNeededError:
        return
    # The same to the class and to the order of its members.
    assert repr(coerced) == repr(coerce_input_value(value, type))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[WaypointInput!]!", [WAYPOINT, {}, {"id": "pool"}]),
        ("CostingOptions", None),
        ("CostingOptions", {"pedestrian": None}),
        ("CostingOptions!", {"pedestrian": {}}),
        ("[[Int]!]!", [[1, None], []]),
        ("Float", 7),
    ],
)
def test_plain_values_are_coerced(text: str, value: Any) -> None:
    type = declared(text)
    assert repr(build_coercion(type)(value)) == repr(coerce_input_value(value, type))


def test_resolvers_get_their_inputs() -> None:
    type = declared("[WaypointInput!]!")
    made = build_conversion(type)(build_coercion(type)([WAYPOINT, {}]))
    gym = WaypointInput(id="gym", name=None, x=1.5, y=2.0, floor_id="lower")  # type: ignore[arg-type]
    assert made == [gym, WaypointInput()]
    options = declared("CostingOptions")
    given = {"pedestrian": {"mode": "wheelchair"}}
    on_foot = CostingOptions(pedestrian=PedestrianOptions(mode=TravelMode.FOOT))
    assert build_conversion(options)(build_coercion(options)({"pedestrian": {}})) == on_foot
    rolling = CostingOptions(pedestrian=PedestrianOptions(mode=TravelMode.WHEELCHAIR))
    assert build_conversion(options)(build_coercion(options)(given)) == rolling
    assert build_conversion(options)(None) is None


@pytest.mark.parametrize(
    "fields",
    [
        "inner: Odd",  # within itself
        "when: Date = null",
        "names: [String!] = []",  # a default that could be changed
        "x: Float",  # without a default it may be absent
    ],
)
def test_other_types_are_not_covered(fields: str) -> None:
    schema = build_schema(f"scalar Date input Odd {{ {fields} }} type Query {{ a(b: Odd): Int }}")
    type = schema.type_map["Odd"]
    assert isinstance(type, GraphQLInputObjectType)
    with pytest.raises(UnsupportedQueryError):
        build_coercion(type)
