"""How operations run: which failures are logged and which are shown, and nothing runs twice."""

import asyncio
import logging
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import pytest
import strawberry

from resolvers.request.caller import Caller
from resolvers.request.context import Context, Info
from resolvers.request.errors import InvalidInputError, LimitExceededError
from resolvers.request.inputs import batch_resolver
from schema.execution import Executor, OperationResult
from schema.fields import resolver_field
from schema.root import GRAPHQL_SCHEMA
from storage.mongo import driver
from storage.records.visibility import ALL_ASSETS
from storage.store import Store

CALLS: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def _no_calls() -> None:
    CALLS.clear()


async def read_sensor(info: Info, at: int = 0) -> int:
    """A reading."""
    CALLS["reading"] += 1
    if at < 0:
        error = ZeroDivisionError("no reading")
        raise error from (error if at == -2 else None)
    return at


async def reject(info: Info, name: str) -> int:
    """A field that is rejected, after its siblings have begun."""
    CALLS[name] += 1
    await asyncio.sleep(0)
    raise InvalidInputError(name="wrong")


async def list_sensors(info: Info) -> list[int]:
    """Three sensors, which are numbers here."""
    CALLS["sensors"] += 1
    return [1, 2, 3]


async def exceed(info: Info) -> int | None:
    """A field that ends the whole operation."""
    raise LimitExceededError("too much", limit="cost")


@batch_resolver
async def read_each(parents: Sequence[int], info: Info) -> list[int | Exception]:
    """A reading of each sensor; that of the second fails."""
    for parent in parents:
        CALLS[f"sensor {parent}"] += 1
    return [InvalidInputError(sensor="broken") if parent == 2 else parent for parent in parents]


@batch_resolver
async def refuse_all(parents: Sequence[int], info: Info) -> list[int]:
    """A reading that is refused for all sensors at once."""
    CALLS["refused"] += len(parents)
    raise InvalidInputError(sensor="refused")


async def read_damaged(info: Info) -> list[str | None]:
    """A reading that is no number."""
    return ["secret", None]


@strawberry.type
class Sensor:
    value = resolver_field(read_each, int | None)
    required_value = resolver_field(read_each, int, nullable=False)
    refused = resolver_field(refuse_all, int | None)
    damaged = resolver_field(read_damaged, str | None)
    damaged_number = resolver_field(read_damaged, int | None)


@strawberry.type
class Query:
    reading = resolver_field(read_sensor, int)
    rejected = resolver_field(reject, int | None)
    required = resolver_field(reject, int, nullable=False)
    sensors = resolver_field(list_sensors, list[Sensor], nullable=False)
    optional_sensors = resolver_field(list_sensors, list[Sensor | None], nullable=False)
    exceeding = resolver_field(exceed, int | None)


SCHEMA = strawberry.Schema(query=Query)._schema
EXECUTORS = {
    "compiled": Executor(SCHEMA),
    "interpreted": Executor(SCHEMA, compile_queries=False),
}


@pytest.fixture(params=[*EXECUTORS])
def executor(request: pytest.FixtureRequest) -> Executor:
    return EXECUTORS[request.param]


async def run(
    executor: Executor, text: str, variables: dict[str, Any] | None = None
) -> OperationResult:
    client = driver.connect("mongodb://127.0.0.1:9")  # never used
    context = Context(Caller("key", ALL_ASSETS), Store(client, "none"))
    result = await executor.run(executor.prepare(text), variables or {}, context)
    await driver.close(client)
    return result


def summary(result: OperationResult) -> list[tuple[str, list[str | int] | None]]:
    return [(error.message, error.path) for error in result.errors]


def logged(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """Return this logger's records; gateways of other tests log in the background."""
    return [record for record in caplog.records if record.name == "floorgate.graphql"]


@pytest.mark.parametrize("at", [-1, -2], ids=["plain", "its own cause"])
async def test_a_resolver_that_fails_is_called_once_logged_and_masked(
    executor: Executor, caplog: pytest.LogCaptureFixture, at: int
) -> None:
    [error] = (await run(executor, f"{{ reading(at: {at}) }}")).errors
    assert (error.message, error.extensions) == ("Server error", {"code": "SERVER_ERROR"})
    [record] = logged(caplog)
    assert record.levelname == "ERROR"
    assert record.exc_info is not None
    assert record.exc_info[0] is ZeroDivisionError
    assert record.exc_info[2] is not None
    assert CALLS == {"reading": 1}
    assert error.__cause__ is not None
    assert error.__cause__.__traceback__ is None  # frames hold what the request has read


async def test_a_value_that_does_not_fit_its_type_is_masked_and_leaves_its_siblings(
    executor: Executor,
) -> None:
    result = await run(executor, "{ sensors { damaged damagedNumber value } }")
    assert result.data == {
        "sensors": [
            {"damaged": None, "damagedNumber": None, "value": value} for value in (1, None, 3)
        ]
    }
    damaged = [error for error in result.errors if error.path and error.path[-1] != "value"]
    assert len(damaged) == 6
    for error in damaged:
        assert (error.message, error.extensions) == ("Server error", {"code": "SERVER_ERROR"})


async def test_variables_that_do_not_fit_are_not_logged(
    executor: Executor, caplog: pytest.LogCaptureFixture
) -> None:
    text = "query ($at: Int!) { reading(at: $at) }"
    [error] = (await run(executor, text, {"at": "three"})).errors
    assert (error.extensions or {})["code"] == "INVALID_INPUT"
    assert (error.path, logged(caplog), CALLS) == (None, [], {})


async def test_a_rejected_field_leaves_its_siblings_their_data_and_is_called_once(
    executor: Executor,
) -> None:
    text = '{ b: reading(at: 1) r: rejected(name: "r") a: reading sensors { value } }'
    result = await run(executor, text)
    assert result.data == {
        "b": 1,
        "r": None,
        "a": 0,
        "sensors": [{"value": 1}, {"value": None}, {"value": 3}],
    }
    assert summary(result) == [
        ("name: wrong", ["r"]),
        ("sensor: broken", ["sensors", 1, "value"]),
    ]
    assert [(each.line, each.column) for each in result.errors[1].locations or []] == [(1, 65)]
    assert set(CALLS.values()) == {1, 2}
    assert CALLS["reading"] == 2


async def test_of_errors_that_cause_one_null_the_first_in_document_order_is_reported(
    executor: Executor,
) -> None:
    text = '{ n: rejected(name: "n") b: required(name: "b") a: required(name: "a") }'
    for _ in range(5):
        CALLS.clear()
        result = await run(executor, text)
        assert result.data is None
        assert summary(result) == [("name: wrong", ["b"])]
        assert CALLS == {"n": 1, "a": 1, "b": 1}  # all run to their ends


async def test_a_null_spreads_to_the_nearest_field_that_may_be_null(executor: Executor) -> None:
    text = "{ optionalSensors { refused requiredValue value } }"
    result = await run(executor, text)
    row = {"refused": None, "requiredValue": 1, "value": 1}
    assert result.data == {
        "optionalSensors": [row, None, {"refused": None, "requiredValue": 3, "value": 3}]
    }
    assert summary(result) == [
        ("sensor: refused", ["optionalSensors", 0, "refused"]),
        ("sensor: broken", ["optionalSensors", 1, "requiredValue"]),
        ("sensor: refused", ["optionalSensors", 2, "refused"]),
    ]
    assert CALLS == {"sensors": 1, "sensor 1": 2, "sensor 2": 2, "sensor 3": 2, "refused": 3}


async def test_an_error_of_the_whole_operation_is_the_only_one(executor: Executor) -> None:
    result = await run(executor, '{ a: rejected(name: "a") exceeding b: reading(at: -1) }')
    assert result.data is None
    [error] = result.errors
    assert (error.path, (error.extensions or {})["code"]) == (None, "LIMIT_EXCEEDED")


async def test_a_response_has_a_limited_number_of_errors(
    executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("schema.interpretation", "schema.compiler.compiled_query"):
        monkeypatch.setattr(f"{module}.MAX_ERRORS", 2)
    result = await run(executor, "{ sensors { value refused } }")
    assert [path for _, path in summary(result)] == [
        ["sensors", 0, "refused"],
        ["sensors", 1, "value"],
    ]


async def test_wrong_generated_code_is_logged_and_its_result_is_right_all_the_same(
    caplog: pytest.LogCaptureFixture,
) -> None:
    executor = Executor(SCHEMA)
    operation = executor.prepare("query Read { reading(at: 3) }")
    assert operation.compiled is not None
    [plan] = operation.compiled._plans.values()

    def wrong(*_: Any) -> Any:
        raise KeyError("generated")

    plan.root.fields[0].complete_values = wrong  # type: ignore[union-attr]
    result = await executor.run(operation, {}, Context(Caller("key", ALL_ASSETS), None))  # type: ignore[arg-type]
    assert result.data == {"reading": 3}
    [record] = logged(caplog)
    assert (record.levelname, "Read" in record.getMessage()) == ("WARNING", True)


async def test_what_graphql_core_has_to_run_is_counted_and_logged_once_for_each_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    executor = Executor(SCHEMA)
    with caplog.at_level(logging.INFO, "floorgate.graphql"):
        for _ in range(3):
            await run(executor, "query Look { __schema { queryType { name } } }")
        await run(executor, "{ reading }")
    assert (executor.counters.compiled, executor.counters.interpreted) == (1, 3)
    [record] = logged(caplog)
    assert record.__dict__["fields"] == {
        "operation": "Look",
        "reason": "introspection by __schema",
    }


NULL = "query ($null: Boolean) { __schema { types { name %s } } }"


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
        operation = await executor.load_client_operation(text, None, {"null": None})
        assert operation.is_introspection is ("fragment" not in text)
        context = Context(Caller("key", ALL_ASSETS), cast(Any, None))
        result = await executor.run(operation, {"null": None}, context)
        errors = [(error.message, error.path) for error in result.errors]
        assert errors
        assert result.data is not None
        results.append((result.data["__schema"], errors))
    assert results[0] == results[1]
