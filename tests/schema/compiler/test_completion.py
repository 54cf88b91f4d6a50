"""The fast test of a leaf accepts only values that graphql-core serializes unchanged."""

from typing import Any

import pytest
from graphql import (
    GraphQLBoolean,
    GraphQLFloat,
    GraphQLID,
    GraphQLInt,
    GraphQLList,
    GraphQLNonNull,
    GraphQLOutputType,
    GraphQLString,
    Undefined,
)

from schema.compiler.completion import InvalidResultError, build_completion, build_type_test
from schema.compiler.selection import UnsupportedQueryError
from schema.root import GRAPHQL_SCHEMA

VALUES: list[Any] = [
    None, True, False, 0, 1, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 1.0, 1.5,
    float("inf"), float("-inf"), float("nan"), "", "text", b"bytes", [], {}, Undefined,
]  # fmt: skip


def passes_fast_test(output_type: GraphQLOutputType, value: Any) -> bool:
    test = build_type_test(output_type)
    assert test is not None
    return bool(eval(test.format("value"), {"value": value}))


@pytest.mark.parametrize(
    "scalar", [GraphQLID, GraphQLString, GraphQLInt, GraphQLFloat, GraphQLBoolean], ids=str
)
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_that_passes_the_fast_test_is_serialized_unchanged(scalar: Any, value: Any) -> None:
    if passes_fast_test(scalar, value):
        completed = build_completion(scalar)(value)
        assert (type(completed), completed) == (type(value), value)


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        (GraphQLID, "a"),
        (GraphQLString, ""),
        (GraphQLInt, -1),
        (GraphQLFloat, 0.5),
        (GraphQLBoolean, False),
    ],
)
def test_the_usual_values_pass_the_fast_test(scalar: Any, value: Any) -> None:
    assert passes_fast_test(scalar, value)
    assert passes_fast_test(GraphQLNonNull(scalar), value)
    assert passes_fast_test(scalar, None)
    assert not passes_fast_test(GraphQLNonNull(scalar), None)


def test_times_that_are_stored_as_text_have_the_test_of_text() -> None:
    timestamp: Any = GRAPHQL_SCHEMA.type_map["DateTime"]
    parsed_map: Any = GRAPHQL_SCHEMA.type_map["ParsedMap"]
    assert build_type_test(timestamp) == build_type_test(GraphQLString)
    assert build_type_test(parsed_map) is None


def test_completion_converts_as_graphql_core_does() -> None:
    assert build_completion(GraphQLFloat)(1) == 1.0
    assert build_completion(GraphQLString)(True) == "true"
    assert build_completion(GraphQLInt)(Undefined) is None
    with pytest.raises(InvalidResultError, match="non-integer"):
        build_completion(GraphQLInt)("one")


def test_a_list_is_no_leaf() -> None:
    with pytest.raises(UnsupportedQueryError, match=r"\[Int\] is not a leaf type"):
        build_type_test(GraphQLList(GraphQLInt))
