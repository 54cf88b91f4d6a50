"""Directives in introspection."""

import asyncio
from typing import Any

import graphql
import pytest

from schema.execution import Caller, Context, Executor
from schema.root import GRAPHQL_SCHEMA
from storage.records.visibility import ALL_ASSETS

LOCATIONS_OF_RELEASES = {
    "QUERY", "MUTATION", "SUBSCRIPTION", "FIELD", "FRAGMENT_DEFINITION", "FRAGMENT_SPREAD",
    "INLINE_FRAGMENT", "VARIABLE_DEFINITION", "SCHEMA", "SCALAR", "OBJECT", "FIELD_DEFINITION",
    "ARGUMENT_DEFINITION", "INTERFACE", "UNION", "ENUM", "ENUM_VALUE", "INPUT_OBJECT",
    "INPUT_FIELD_DEFINITION",
}  # fmt: skip
"""Section 3.13 of the specification, October 2021 and September 2025."""


async def introspect(*, compile_queries: bool) -> Any:
    executor = Executor(GRAPHQL_SCHEMA, compile_queries=compile_queries)
    query = graphql.get_introspection_query(input_value_deprecation=True)
    operation = executor.get_client_operation(query, None, variables={})
    context = Context(Caller("key", ALL_ASSETS), _store=None)  # type: ignore[arg-type]
    result = await executor.run(operation, {}, context)
    assert not result.errors
    assert result.data
    return result.data


@pytest.mark.parametrize("compile_queries", [True, False])
def test_clients_of_the_released_specification_read_the_schema(
    compile_queries: bool,
) -> None:
    introspected = asyncio.run(introspect(compile_queries=compile_queries))
    directives = {each["name"]: each for each in introspected["__schema"]["directives"]}
    for name, directive in directives.items():
        assert set(directive["locations"]) <= LOCATIONS_OF_RELEASES, name
    graphql.build_client_schema(introspected)
    assert {"deprecated", "cost", "experimental", "requires"} <= set(directives)
    [flag] = directives["experimental"]["args"]
    assert (flag["name"], flag["description"]) == ("flag", "The flag.")
