"""Variables and arguments of a compiled query are those that graphql-core would pass."""

from typing import Any

import pytest
from graphql import GraphQLError, OperationDefinitionNode, get_variable_values, parse

from resolvers.networks.waypoints import WaypointInput
from schema.compiler import variable_coercion
from schema.compiler.selection import FieldCollector, SelectedField
from schema.compiler.variable_coercion import (
    InvalidVariablesError,
    VariableCoercer,
    build_arguments,
)
from schema.root import GRAPHQL_SCHEMA


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
    while isinstance(selected, SelectedField) and selected.response_key == "map":
        (selected,) = selected.children
    assert isinstance(selected, SelectedField)
    build = build_arguments(selected, GRAPHQL_SCHEMA)
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
    monkeypatch.delattr(variable_coercion, "convert_arguments")
    built = arguments(field, declared, **inputs)
    assert built is not None
    assert None in built.values()
