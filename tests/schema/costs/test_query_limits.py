"""The limits of operations: each is measured, and what the service itself offers is within them."""

import dataclasses

import graphql
import pytest

from resolvers.request.errors import LimitExceededError
from rest.endpoint_table import ENDPOINTS, Endpoint
from schema.costs.query_limits import QueryLimits
from schema.costs.query_size import LIMIT_MESSAGES, QuerySize, check_limits
from schema.execution import Executor
from schema.root import GRAPHQL_SCHEMA

LIMITS = QueryLimits()
NOT_MEASURED = {"characters", "tokens", "response_bytes"}
"""Checked before the operation is parsed, or when its result is written."""
MEASURED = sorted({limit.name for limit in dataclasses.fields(QueryLimits)} - NOT_MEASURED)


def test_every_limit_is_checked_before_or_after_parsing() -> None:
    assert {*MEASURED} == {*LIMIT_MESSAGES}
    assert {*MEASURED} <= {*QuerySize._fields}


@pytest.mark.parametrize("limit", MEASURED)
def test_a_limit_is_the_most_that_is_allowed(limit: str) -> None:
    bound = getattr(LIMITS, limit)
    check_limits(QuerySize(**{limit: bound}), LIMITS)
    with pytest.raises(LimitExceededError, match=str(bound)):
        check_limits(QuerySize(**{limit: bound + 1}), LIMITS)


@pytest.mark.parametrize("row", ENDPOINTS, ids=lambda row: row.document.split("(")[0].split()[1])
def test_what_rest_asks_may_be_asked_through_graphql(row: Endpoint) -> None:
    Executor(GRAPHQL_SCHEMA, LIMITS).get_client_operation(row.document, None, {})


def test_tools_may_introspect_the_whole_schema() -> None:
    query = graphql.get_introspection_query(
        specified_by_url=True, directive_is_repeatable=True, input_value_deprecation=True
    )
    Executor(GRAPHQL_SCHEMA, LIMITS).get_client_operation(query, None, {})
