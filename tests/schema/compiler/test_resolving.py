"""How rows are put in the place of objects."""

import pytest
from graphql import GraphQLList, GraphQLNonNull, GraphQLObjectType, GraphQLOutputType

from schema.compiler.completion import InvalidResultError
from schema.compiler.resolving import build_nesting

OBJECT = GraphQLObjectType("Floor", {})
REQUIRED = GraphQLNonNull(OBJECT)
A, B = object(), object()
ROW_A, ROW_B, ROW_A2 = {"id": "a"}, {"id": "b"}, {"id": "a again"}


def test_siblings_that_share_an_object_share_its_row() -> None:
    nesting = build_nesting(OBJECT)
    values = [A, None, B, A]
    assert nesting.flatten(values) == [A, B]
    assert nesting.rebuild(values, iter([ROW_A, ROW_B])) == [ROW_A, None, ROW_B, ROW_A]


def test_lists_keep_their_lengths_and_nulls() -> None:
    nesting = build_nesting(GraphQLList(GraphQLList(OBJECT)))
    values = [[[A], None], None, [[], [None, A]]]
    assert nesting.flatten(values) == [A, A]
    rebuilt = nesting.rebuild(values, iter([ROW_A, ROW_A2]))
    assert rebuilt == [[[ROW_A], None], None, [[], [None, ROW_A2]]]


@pytest.mark.parametrize(
    ("output_type", "values"),
    [
        (REQUIRED, [A, None]),
        (GraphQLList(REQUIRED), [[A, None]]),
        (GraphQLNonNull(GraphQLList(OBJECT)), [None]),
        (GraphQLList(OBJECT), ["text"]),
    ],
)
def test_values_that_the_type_forbids_are_rejected(
    output_type: GraphQLOutputType, values: list[object]
) -> None:
    with pytest.raises(InvalidResultError):
        build_nesting(output_type).flatten(values)
