"""Parsing and validating operations."""

import pytest

from schema.operations import (
    InvalidOperationError,
    locate_requirements,
    parse_client_operation,
    parse_operation,
)
from schema.query_limits import QueryLimits
from schema.root import GRAPHQL_SCHEMA

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
