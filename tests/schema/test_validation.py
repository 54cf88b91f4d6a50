"""Parsing and validating operations: one visitor reports what graphql-core reports."""

import graphql
import pytest
from graphql import FieldNode, parse
from graphql.validation import OverlappingFieldsCanBeMergedRule
from hypothesis import given
from hypothesis import strategies as st

from schema import validation
from schema.operations import (
    InvalidOperationError,
    locate_requirements,
    parse_client_operation,
    parse_operation,
)
from schema.query_limits import QueryLimits
from schema.root import GRAPHQL_SCHEMA
from schema.validation import MAX_VALIDATION_ERRORS, RULES, OverlappingFieldsRule, validate
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


SAME = [
    "{ units { data { id } } units { data { name } } }",
    "{ a: units(page: 1) { data { id } } a: units(page: 1) { paging { next } } }",
    "query ($n: Int) { units(page: $n) { data { id } } ...F } "
    "fragment F on Query { units(page: $n) { data { x: name } } }",
    "{ units { data { ...F ...F ... { id } } } } fragment F on Unit { id floor { ...G } } "
    "fragment G on Floor { id asset { id } }",
    # What one object has in each fragment never meets.
    '{ node(id: "") { ... on Asset { a: name units(page: 1) { data { x: id } } }'
    " ... on Floor { a: shortLabel units(page: 2) { data { x: assetId } } } } }",
    '{ node(id: "") { nodeId ... on Node { nodeId } ... on Asset { nodeId id } } }',
    "{ ...A } fragment A on Query { ...B } fragment B on Query { ...A units { data { id } } }",
]
CONFLICTING = [
    "{ units { data { id id: name } } }",
    "{ units(page: 1) { data { id } } units(page: 2) { data { id } } }",
    "{ units { data { id } } units(page: 2) { data { id } } }",
    "{ units { data { x: id } } ...F } fragment F on Query { units { data { x: name } } }",
    "{ units { data { floor { x: id } ...F } } } fragment F on Unit { floor { ...G } } "
    "fragment G on Floor { x: name }",
    '{ node(id: "") { ... on Asset { name: market } ... on Node { ... on Asset { name } } } }',
    '{ node(id: "") { x: nodeId ... on Asset { x: name } } }',
    '{ node(id: "") { ... on Asset { x: id } ... on Floor { x: sort } } }',
    '{ node(id: "") { ... on Asset { x: units { data { y: id } } }'
    " ... on Floor { x: units { data { y: name } } } } }",
    '{ node(id: "") { ... on Unit { attributes { data { id } } }'
    " ... on AttributeGroup { attributes { id } } } }",
    'query A { unit(id: "a") { id } } query B { unit(id: "a") { x: id x: name } }',
    "query ($n: Int, $m: Int) { units(page: $n) { data { id } } units(page: $m) { data { id } } }",
]


def conflicts(rule: type, text: str) -> int:
    return len(graphql.validate(GRAPHQL_SCHEMA, parse(text), [rule]))


@pytest.mark.parametrize("text", SAME + CONFLICTING)
def test_the_rule_agrees_with_that_of_graphql_core(text: str) -> None:
    expected = conflicts(OverlappingFieldsCanBeMergedRule, text)
    assert bool(expected) is (text in CONFLICTING)
    assert conflicts(OverlappingFieldsRule, text) == expected


def test_the_message_names_both_fields() -> None:
    [error] = graphql.validate(GRAPHQL_SCHEMA, parse(CONFLICTING[0]), [OverlappingFieldsRule])
    assert error.message.startswith("Fields 'id' conflict because 'id' and 'name' are different")
    assert [place.column for place in error.locations or []] == [18, 21]


def test_work_grows_with_the_number_of_fields_and_not_of_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    described = []
    describe = validation._describe_arguments

    def count(field: FieldNode) -> dict[str, str]:
        described.append(field)
        return describe(field)

    monkeypatch.setattr(validation, "_describe_arguments", count)
    fields = "units { data { " + "floor { id } " * 20 + "} } "
    assert conflicts(OverlappingFieldsRule, "{ " + fields * 20 + "}") == 0
    assert len(described) <= 20 * (2 + 20 * 2)


def test_nested_fragments_end_at_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "MAX_COMPARED_FIELDS", 50)
    chain = "".join(
        f"fragment F{n} on Unit {{ a{n}: floor {{ id }} ...F{n + 1} }} " for n in range(60)
    )
    text = f"{{ units {{ data {{ ...F0 }} }} }} {chain} fragment F60 on Unit {{ id }}"
    [error] = graphql.validate(GRAPHQL_SCHEMA, parse(text), [OverlappingFieldsRule])
    assert error.message == "Fragments select too many fields"


TWO = "query A { units { data { id } } } query B($n: Int) { units(perPage: $n) { data { id } } }"


def code_of(error: InvalidOperationError) -> object:
    return (error.errors[0].extensions or {})["code"]


def test_an_operation_is_chosen_by_name() -> None:
    operation = parse_operation(GRAPHQL_SCHEMA, TWO, "A")
    assert (operation.name, operation.is_query) == ("A", True)


@pytest.mark.parametrize(
    ("text", "name", "code", "message_end"),
    [
        ("{ units", None, "GRAPHQL_PARSE_FAILED", "found <EOF>."),
        ("{ unknown }", None, "GRAPHQL_VALIDATION_FAILED", "on type 'Query'."),
        (TWO, None, "OPERATION_RESOLUTION_FAILURE", "operations in operationName"),
        (TWO, "C", "OPERATION_RESOLUTION_FAILURE", "in operationName: there is none named 'C'"),
    ],
)
def test_an_operation_that_cannot_be_run_has_a_code_and_a_message(
    text: str, name: str | None, code: str, message_end: str
) -> None:
    with pytest.raises(InvalidOperationError) as caught:
        parse_operation(GRAPHQL_SCHEMA, text, name)
    assert code_of(caught.value) == code
    assert caught.value.errors[0].message.endswith(message_end)


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("{ units { data { id } } }", QueryLimits(characters=10)),
        ("{ units { data { id } } }", QueryLimits(depth=2)),
        (f"{{ units(page: {'9' * 1001}) {{ data {{ id }} }} }}", QueryLimits()),
    ],
)
def test_limits_hold_for_clients_alone(text: str, limits: QueryLimits) -> None:
    with pytest.raises(InvalidOperationError) as caught:
        parse_client_operation(GRAPHQL_SCHEMA, text, None, {}, limits)
    assert code_of(caught.value) == "LIMIT_EXCEEDED"
    if "999" not in text:
        parse_operation(GRAPHQL_SCHEMA, text, None)


def test_requirements_are_found_in_fragments_and_arguments_in_document_order() -> None:
    text = """
    query ($filter: AttributeFilter) {
      __typename
      node(id: "x") {
        ... on Unit { attributes { data { attributeId } } }
        ... @skip(if: false) { nodeId }
      }
      units(attribute: $filter) { data { ...Located } }
    }
    fragment Located on Unit { location { map { id } } }
    """
    operation = parse_operation(GRAPHQL_SCHEMA, text, None)
    of_fields = ["Unit.attributes", "Unit.location"]
    located = locate_requirements(GRAPHQL_SCHEMA, operation, {})
    assert [*located] == of_fields
    assert [*located.values()] == [*operation.requirements]
    located = locate_requirements(GRAPHQL_SCHEMA, operation, {"filter": {}})
    assert [*located] == [of_fields[0], "Query.units(attribute:)", of_fields[1]]
