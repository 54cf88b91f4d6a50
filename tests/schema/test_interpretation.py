"""Operations that graphql-core runs."""

from typing import Any, cast

import pytest

from resolvers.request.caller import Caller
from resolvers.request.context import Context
from schema.execution import Executor
from schema.root import GRAPHQL_SCHEMA
from storage.records.visibility import ALL_ASSETS

NULL = "query ($null: Boolean) { __schema { types { name %s } } }"


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
