"""Inputs of a wrong type are named in `extensions.fields`, and shown as JSON."""

from typing import Any, cast

import pytest

from resolvers.request.caller import Caller
from resolvers.request.context import Context
from schema.errors import quote_json
from schema.execution import Executor, InvalidOperationError, OperationResult
from schema.root import GRAPHQL_SCHEMA
from storage.records.visibility import ALL_ASSETS
from storage.store import Store

pytestmark = pytest.mark.anyio

ROUTE = """query ($from: WaypointInput!, $avoid: [Avoidable!]) {
  map(id: "m") { nearest(from: $from, avoid: $avoid) { distance } }
}"""
UNITS = """query ($n: Int, $updated: DateTime) {
  units(first: $n, updatedSince: $updated) { data { id } }
}"""
UNIT = "query ($id: ID!) { unit(id: $id) { id } }"


@pytest.fixture(params=["compiled", "interpreted"])
def executor(request: pytest.FixtureRequest) -> Executor:
    return Executor(GRAPHQL_SCHEMA, compile_queries=request.param == "compiled")


def new_context() -> Context:
    """A context that reads nothing."""
    return Context(Caller("test", ALL_ASSETS), cast(Store, None))


async def run(executor: Executor, text: str, variables: dict[str, Any]) -> OperationResult:
    operation = executor.get_client_operation(text, None, variables)
    return await executor.run(operation, variables, new_context())


@pytest.mark.parametrize(
    ("text", "variables", "name", "reason"),
    [
        (UNITS, {"n": "one"}, "n", "Int cannot represent non-integer value: 'one'"),
        (
            UNITS,
            {"updated": [None]},
            "updated",
            "Expected value of type 'DateTime', but encountered error "
            "'must be the text of a time in ISO 8601'; found: [null].",
        ),
        (UNIT, {}, "id", "Expected a value of non-null type 'ID!' to be provided."),
        (UNIT, {"id": {"x": None}}, "id", 'ID cannot represent value: {"x":null}'),
        (
            ROUTE,
            {"from": {"id": "a"}, "avoid": ["stairs", "bus"]},
            "avoid[1]",
            "A value of Avoidable must be stairs, escalators, lifts or outdoors, not 'bus'",
        ),
        (ROUTE, {"from": {"x": "1"}}, "from.x", "Float cannot represent non numeric value: '1'"),
        (
            ROUTE,
            {"from": {"door": "a", "x": None}},
            "from",
            "Expected value of type 'WaypointInput' not to include unknown field 'door', found: "
            '{"door":"a","x":null}.',
        ),
    ],
)
async def test_a_variable_of_a_wrong_type_is_named_with_what_is_right(
    executor: Executor, text: str, variables: dict[str, Any], name: str, reason: str
) -> None:
    [error] = (await run(executor, text, variables)).errors
    assert error.extensions == {
        "code": "INVALID_INPUT",
        "fields": {f"variables.{name}": [reason]},
    }
    assert error.message.endswith(f": {reason}")


async def test_all_wrong_variables_are_named(executor: Executor) -> None:
    variables = {"n": "one", "updated": 1}
    errors = (await run(executor, UNITS, variables)).errors
    names = [name for error in errors for name in (error.extensions or {})["fields"]]
    assert names == ["variables.n", "variables.updated"]


async def test_a_subscription_names_its_variables() -> None:
    executor = Executor(GRAPHQL_SCHEMA)
    text = "subscription ($kinds: [RecordKind!]) { changes(kinds: $kinds) { cursor } }"
    variables = {"kinds": ["units", None]}
    operation = executor.get_client_operation(text, None, variables)
    result = await executor.open_events(operation, variables, new_context())
    assert isinstance(result, OperationResult)
    assert [[*(error.extensions or {})["fields"]] for error in result.errors] == [
        ["variables.kinds[1]"]
    ]


async def test_an_argument_that_a_variable_makes_null_is_named(executor: Executor) -> None:
    text = 'query ($id: ID = "u") { unit(id: $id) { id } }'
    [error] = (await run(executor, text, {"id": None})).errors
    reason = "Expected variable '$id' provided to non-null type 'ID!' not to be null."
    assert error.message == f"Argument 'id' has invalid value: {reason}"
    assert (error.extensions or {})["fields"] == {"id": [reason]}


def test_an_invalid_document_says_null(executor: Executor) -> None:
    with pytest.raises(InvalidOperationError) as caught:
        executor.get_client_operation("{ unit(id: null) { id } }", None, {})
    [error] = caught.value.errors
    assert error.message == "Expected value of non-null type 'ID!' not to be null."


def test_a_long_or_deep_value_is_cut_short() -> None:
    nested: list[Any] = []
    for _ in range(300):
        nested = [nested]
    assert quote_json([1] * 1000) == "[" + "1," * 24 + "1…"
    assert quote_json([True, None]) == "[true,null]"
    assert quote_json("x" * 1000) == repr("x" * 50)
    assert quote_json(nested) == "…"
