"""How rows are put in the place of objects."""

from types import SimpleNamespace
from typing import Any

import pytest
from graphql import GraphQLList, GraphQLNonNull, GraphQLObjectType, GraphQLOutputType

from schema.compiler.plan import PlannedField

OBJECT = GraphQLObjectType("Floor", {})
REQUIRED = GraphQLNonNull(OBJECT)
A, B, ERROR = object(), object(), ValueError()
ROW_A, ROW_B, ROW_A2 = {"id": "a"}, {"id": "b"}, {"id": "a again"}


def field_of(output_type: GraphQLOutputType) -> PlannedField:
    selected: Any = SimpleNamespace(key="floor", output_type=output_type)
    return PlannedField(selected, None, None, {}, None, None)


def test_siblings_that_share_an_object_share_its_row() -> None:
    field, values = field_of(OBJECT), [A, None, B, A]
    assert field.flatten(values, None) == ([A, B], [2, 1])
    assert field.flatten(values, [2, 3, 4, 5]) == ([A, B], [7, 4])
    assert field.put_back(values, [A, B], [ROW_A, ROW_B]) == [ROW_A, None, ROW_B, ROW_A]


def test_lists_keep_their_lengths() -> None:
    field, values = field_of(GraphQLList(OBJECT)), [[A], [], (B, A)]
    assert field.flatten(values, [1, 5, 2]) == ([A, B, A], [1, 2, 2])
    rows = [ROW_A, ROW_B, ROW_A2]
    assert field.put_back(values, [A, B, A], rows) == [[ROW_A], [], [ROW_B, ROW_A2]]
    assert field.put_back([[A, B]], [A, B], [ROW_A, ROW_B]) == [[ROW_A, ROW_B]]


@pytest.mark.parametrize(
    ("output_type", "values", "objects"),
    [
        (REQUIRED, [A, None], [A]),
        (REQUIRED, [None], []),
        (OBJECT, [ERROR, A], [A]),
        (OBJECT, [ERROR], []),
        (GraphQLList(REQUIRED), [[A, None]], [A]),
        (GraphQLList(OBJECT), [[ERROR]], []),
        (GraphQLList(OBJECT), [[A], None], [A]),
        (GraphQLList(OBJECT), ["text"], []),
        (GraphQLList(OBJECT), [{}], []),
        (GraphQLList(GraphQLList(OBJECT)), [[[A]]], [A]),
    ],
)
def test_values_that_need_a_closer_look_are_told_apart(
    output_type: GraphQLOutputType, values: list[Any], objects: list[Any]
) -> None:
    field = field_of(output_type)
    assert [*field.flatten(values, None)[0]] == objects
    assert field.put_back(values, objects, [ROW_A] * len(objects)) is None
