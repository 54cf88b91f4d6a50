"""All rules in one visitor report what graphql-core reports with each of them."""

import graphql
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schema.root import GRAPHQL_SCHEMA
from schema.validation import MAX_VALIDATION_ERRORS, RULES, validate
from tests.schema.operations import DrawnOperation, operations

INVALID = [
    "{ wrong unit { id } }",
    '{ unit(id: "1", id: "2", other: 3) { id { name } floor } }',
    "query ($a: Int, $a: Wrong, $b: Unit) { units(perPage: $c, first: $a) { data { id } } }",
    'query A { unit(id: [1]) { id } } query A { asset(id: "1") { id } } { __typename }',
    "{ ...A ...B } fragment A on Query { ...A } fragment C on Wrong { id } fragment C on Int { x }",
    "{ units @skip @skip(if: 1) @wrong { ... on Asset { id } ... on Unit @defer { id } } }",
    "{ a: __typename a: units { data { id } } } subscription { a b } mutation { __typename }",
    "{ units { ...F } } fragment F on UnitPage { data { ...G } } fragment G on Unit { wrong ...F }",
    "query ($id: String = 5) { unit(id: $id) { id } unused: nodes(ids: {a: 1, a: 2}) { id } }",
    "type Wrong { id: ID } extend schema { query: Wrong } { __typename }",
    "{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }",
    " ".join(f"query Q{n} {{ wrong }}" for n in range(9)),
]


def _describe(errors: list[graphql.GraphQLError]) -> list[str]:
    return [str(error) for error in errors]


def _check(text: str) -> list[str]:
    document = graphql.parse(text)
    expected = graphql.validate(
        GRAPHQL_SCHEMA, document, RULES, MAX_VALIDATION_ERRORS, hide_suggestions=True
    )
    found = _describe(validate(GRAPHQL_SCHEMA, document))
    assert found == _describe(expected)
    return found


@pytest.mark.parametrize("text", INVALID)
def test_errors_are_those_of_graphql_core(text: str) -> None:
    assert _check(text)


@given(operations(), st.integers(0), st.integers(0))
def test_changed_operations_have_the_errors_of_graphql_core(
    drawn: DrawnOperation, first: int, second: int
) -> None:
    words = drawn.text.split(" ")
    one, other = first % len(words), second % len(words)
    words[one], words[other] = words[other], words[one]
    for text in (drawn.text, " ".join(words)):
        try:
            graphql.parse(text)
        except graphql.GraphQLError:
            continue
        _check(text)
