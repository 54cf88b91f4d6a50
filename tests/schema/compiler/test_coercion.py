"""Fast coercion of input values gives the same result as graphql-core and strawberry."""

from typing import Any

import pytest
from graphql import (
    GraphQLError,
    GraphQLInputObjectType,
    GraphQLInputType,
    OperationDefinitionNode,
    Undefined,
    build_schema,
    get_variable_values,
    is_input_type,
    parse,
    parse_type,
    type_from_ast,
)
from graphql.utilities import coerce_input_value
from hypothesis import given
from hypothesis import strategies as st

from resolvers.distances import CostingOptions, PedestrianOptions, TravelMode
from resolvers.networks.waypoints import WaypointInput
from schema.compiler import coercion
from schema.compiler.coercion import (
    MAX_EXACT_INTEGER,
    FallbackNeededError,
    InvalidVariablesError,
    VariableCoercer,
    build_arguments,
    build_coercion,
    convert,
)
from schema.compiler.selection import FieldCollector, SelectedField, UnsupportedQueryError
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
    assert repr(coerced) == repr(convert(coerce_input_value(value, type), type))


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
    assert repr(build_coercion(type)(value)) == repr(convert(coerce_input_value(value, type), type))


def test_resolvers_get_their_inputs() -> None:
    type = declared("[WaypointInput!]!")
    made = build_coercion(type)([WAYPOINT, {}])
    gym = WaypointInput(id="gym", name=None, x=1.5, y=2.0, floor_id="lower")  # type: ignore[arg-type]
    assert made == [gym, WaypointInput()]
    options = declared("CostingOptions")
    given = {"pedestrian": {"mode": "wheelchair"}}
    on_foot = CostingOptions(pedestrian=PedestrianOptions(mode=TravelMode.FOOT))
    assert build_coercion(options)({"pedestrian": {}}) == on_foot
    rolling = CostingOptions(pedestrian=PedestrianOptions(mode=TravelMode.WHEELCHAIR))
    assert build_coercion(options)(given) == rolling
    assert build_coercion(options)(None) is None


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


def operation_of(text: str) -> OperationDefinitionNode:
    node = parse(text).definitions[0]
    assert isinstance(node, OperationDefinitionNode)
    return node


def coerce(declared: str, **inputs: Any) -> dict[str, Any]:
    operation = operation_of(f"query ({declared}) {{ __typename }}")
    return VariableCoercer(GRAPHQL_SCHEMA, operation).coerce(inputs).coerced


def arguments(field: str, declared: str = "", **inputs: Any) -> dict[str, Any] | None:
    """Return what the resolver of a field of Query is called with."""
    operation = operation_of(f"query {f'({declared})' if declared else ''} {{ {field} }}")
    assert GRAPHQL_SCHEMA.query_type is not None
    collector = FieldCollector(GRAPHQL_SCHEMA, {}, {})
    fields = collector.collect_fields([operation.selection_set], GRAPHQL_SCHEMA.query_type)
    (selected,) = fields
    while isinstance(selected, SelectedField) and selected.key == "map":
        ((selected,),) = selected.selections.values()
    assert isinstance(selected, SelectedField)
    build = build_arguments(selected)
    return build and build(VariableCoercer(GRAPHQL_SCHEMA, operation).coerce(inputs))


def test_absent_and_null_variables_differ() -> None:
    assert coerce("$n: Int") == {}
    assert coerce("$n: Int", n=None) == {"n": None}
    assert coerce("$n: Int = 3") == {"n": 3}
    assert coerce("$n: Int = 3", n=None) == {"n": None}


@pytest.mark.parametrize(
    "declared",
    ["$n: Int! = 3", "$b: Boolean = false", "$s: String = null", "$o: UnitOrder = name"],
)
def test_an_absent_variable_has_its_default_as_with_graphql_core(declared: str) -> None:
    nodes = operation_of(f"query ({declared}) {{ __typename }}").variable_definitions
    by_graphql_core = get_variable_values(GRAPHQL_SCHEMA, nodes or (), {})
    assert not isinstance(by_graphql_core, list)
    assert coerce(declared) == by_graphql_core.coerced


@pytest.mark.parametrize("inputs", [{}, {"n": None}, {"n": "one"}, {"n": 2**31}])
def test_errors_of_variables_are_those_of_graphql_core(inputs: dict[str, Any]) -> None:
    with pytest.raises(InvalidVariablesError) as caught:
        coerce("$n: Int!", **inputs)
    [error] = caught.value.errors
    assert "$n" in error.message


FILTERS = {"ids": None, "search": None, "updated_since": None}
DEFAULTS = {"page": None, "per_page": None, "after": None, "first": None} | FILTERS
"""Of a list without filters."""


def test_an_absent_variable_leaves_the_default() -> None:
    field, declared = "assets(perPage: $n) { data { id } }", "$n: Int"
    assert arguments(field, declared) == DEFAULTS
    assert (arguments(field, declared, n=None) or {})["per_page"] is None
    assert (arguments(field, declared, n=7) or {})["per_page"] == 7


def test_a_required_argument_needs_its_variable() -> None:
    assert arguments("unit(id: $id) { id }", "$id: ID!", id="u") == {"id": "u"}
    with pytest.raises(GraphQLError, match="Argument"):
        arguments("unit(id: $id) { id }", '$id: ID = "u"', id=None)


@pytest.mark.parametrize(
    ("start", "declared", "inputs"),
    [
        ('{id: "a"}', "", {}),
        ("$from", "$from: WaypointInput!", {"from": {"id": "a"}}),
        ("{id: $id}", "$id: ID!", {"id": "a"}),
    ],
)
def test_input_objects_become_their_classes(
    start: str, declared: str, inputs: dict[str, Any]
) -> None:
    field = f'map(id: "m") {{ nearest(from: {start}) {{ __typename }} }}'
    built = arguments(field, declared, **inputs)
    assert built is not None
    assert WaypointInput(id="a") in built.values()  # type: ignore[arg-type]


@pytest.mark.parametrize("id", ["a", 7])  # the second is coerced by graphql-core
def test_variables_inside_a_list_become_their_classes(id: Any) -> None:
    matrix = "distanceMatrix(sources: [$from, {id: $id}], targets: []) { distanceMethod }"
    declared = "$from: WaypointInput!, $id: ID!"
    built = arguments(f'map(id: "m") {{ {matrix} }}', declared, **{"from": {"id": id}, "id": id})
    waypoint = WaypointInput(id=str(id))  # type: ignore[arg-type]
    assert (built or {})["sources"] == [waypoint, waypoint]


@pytest.mark.parametrize(
    ("field", "declared", "inputs"),
    [
        (
            'map(id: "m") { distanceMatrix(sources: $s, targets: $s) { distanceMethod } }',
            "$s: [WaypointInput!]!",
            {"s": [{"id": "a"}]},
        ),
        ("units(perPage: $n) { data { id } }", "$n: Int", {"n": 2}),
    ],
)
def test_absent_lists_and_objects_are_built_without_graphql_core(
    field: str, declared: str, inputs: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(coercion, "_build_converted_arguments")
    built = arguments(field, declared, **inputs)
    assert built is not None
    assert None in built.values()
