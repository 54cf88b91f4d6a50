"""How operations run: which failures are logged, and which are shown."""

import logging
from typing import Any

import pytest
import strawberry

from resolvers.request.caller import Caller
from resolvers.request.context import Context, Info
from schema.execution import Executor, OperationResult
from schema.fields import resolver_field
from storage.mongo import driver
from storage.records.visibility import ALL_ASSETS
from storage.store import Store

pytestmark = pytest.mark.anyio


class Sensor:
    """Fails a given number of times, then succeeds."""

    failures = 0

    @classmethod
    async def read(cls, at: int = 0) -> int:
        if cls.failures:
            cls.failures -= 1
            raise ZeroDivisionError("no reading")
        return at


async def read_sensor(info: Info, at: int = 0) -> int:
    """A reading."""
    return await Sensor.read(at)


@strawberry.type
class Query:
    reading = resolver_field(read_sensor, int)


EXECUTOR = Executor(strawberry.Schema(query=Query)._schema)


async def run(failures: int, variables: dict[str, Any] | None = None) -> OperationResult:
    Sensor.failures = failures
    text = "query Read($at: Int!) { reading(at: $at) }"
    client = driver.connect("mongodb://127.0.0.1:9")  # never used
    context = Context(Caller("key", ALL_ASSETS), Store(client, "none"))
    result = await EXECUTOR.run(EXECUTOR.prepare(text), variables or {"at": 3}, context)
    await driver.close(client)
    return result


def logged(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """Return this logger's records; gateways of other tests log in the background."""
    return [record for record in caplog.records if record.name == "floorgate.graphql"]


async def test_a_compiled_run_that_fails_is_logged_with_the_operations_name(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert (await run(failures=1)).data == {"reading": 3}  # graphql-core's run succeeds
    [record] = logged(caplog)
    assert (record.name, record.levelname) == ("floorgate.graphql", "WARNING")
    assert "Read" in record.getMessage()
    assert record.exc_info is not None
    assert record.exc_info[0] is ZeroDivisionError


async def test_a_resolver_that_always_fails_is_masked(caplog: pytest.LogCaptureFixture) -> None:
    [error] = (await run(failures=2)).errors
    assert (error.message, error.extensions) == ("Server error", {"code": "SERVER_ERROR"})
    assert [record.levelname for record in logged(caplog)] == ["WARNING", "ERROR"]


async def test_variables_that_do_not_fit_are_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "floorgate.graphql"):
        [error] = (await run(failures=0, variables={"at": "three"})).errors
    assert (error.extensions or {})["code"] == "INVALID_INPUT"
    assert [record.levelname for record in logged(caplog)] == ["DEBUG"]
