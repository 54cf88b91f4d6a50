"""Operations that graphql-core runs."""

import sys
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any, cast

import graphql
import pytest

from resolvers.request.caller import Caller
from resolvers.request.context import Context
from schema.execution import Executor
from schema.interpretation import IntrospectionExecutor
from schema.root import GRAPHQL_SCHEMA
from storage.records.visibility import ALL_ASSETS

QUERY = graphql.get_introspection_query(
    specified_by_url=True,
    directive_is_repeatable=True,
    schema_description=True,
    input_value_deprecation=True,
)
NULL = "query ($null: Boolean) { __schema { types { name %s } } }"


def count_calls(work: Callable[[], Any]) -> int:
    """How many functions of Python and C are called."""
    calls = 0

    def count(_: FrameType, event: str, __: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    profile = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(profile)
    return calls


def test_introspection_costs_what_it_costs_graphql_core() -> None:
    document = graphql.parse(QUERY)
    stock = partial(graphql.execute_sync, GRAPHQL_SCHEMA, document)
    ours = partial(stock, executor_class=IntrospectionExecutor)
    assert ours() == stock()
    assert count_calls(ours) < 1.1 * count_calls(stock)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "fields",
    [
        # Each null has one error, and what is inside it has none.
        "fields(includeDeprecated: $null) { name }",
        "fields { name args(includeDeprecated: $null) { name } }",
        "fields { type { fields(includeDeprecated: $null) { name } } "
        "args(includeDeprecated: $null) { name } }",
    ],
)
async def test_errors_of_introspection_are_those_of_other_operations(fields: str) -> None:
    executor = Executor(GRAPHQL_SCHEMA, compile_queries=False)
    results = []
    # Below a fragment of the root, it is run as other operations are.
    for text in (NULL % fields, f"{NULL % fields} fragment F on Query {{ __typename }}"):
        if "fragment" in text:
            text = text.replace("{ __schema", "{ ...F __schema", 1)
        operation = executor.get_client_operation(text, None, {"null": None})
        assert operation.is_introspection is ("fragment" not in text)
        context = Context(Caller("key", ALL_ASSETS), cast(Any, None))
        result = await executor.run(operation, {"null": None}, context)
        errors = [(error.message, error.path) for error in result.errors]
        assert errors
        assert result.data is not None
        results.append((result.data["__schema"], errors))
    assert results[0] == results[1]
