"""Subscriptions: a stream of events, each of which is executed like a query."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any, cast

import pytest
import strawberry
from graphql import SourceLocation

from resolvers.request.caller import Caller
from resolvers.request.context import Context, Info
from resolvers.request.errors import InvalidInputError, UnavailableCause, UnavailableError
from resolvers.request.inputs import Range, argument
from schema.definitions import Requirement, guard_fields
from schema.execution import Event, Executor, InvalidOperationError, OperationResult
from schema.fields import resolver_field
from storage.records.visibility import ALL_ASSETS
from storage.store import Store

CLOSED: list[str] = []
"""The streams that have ended."""


@pytest.fixture(autouse=True)
def _none_closed() -> None:
    CLOSED.clear()


async def count_up(
    info: Info, to: Annotated[int, argument("The last.", Range(1, 5))] = 3, fail_at: int = 0
) -> AsyncGenerator[int]:
    """Numbers from 1 on."""
    try:
        for number in range(1, to + 1):
            if number == fail_at:
                raise UnavailableError("no source", UnavailableCause.DATABASE_UNREACHABLE)
            yield number
    finally:
        CLOSED.append("countUp")


async def watch_secrets(info: Info) -> AsyncGenerator[int]:
    """Numbers for those who may see them."""
    yield 7


async def tell_double(parent: strawberry.Parent[int], info: Info) -> int:
    """Twice the number; 2 has none."""
    await asyncio.sleep(0)
    if parent == 2:
        raise InvalidInputError(number="2 cannot be doubled")
    return 2 * parent


async def tell_secret(parent: strawberry.Parent[int], info: Info) -> int:
    """A field that needs a permission."""
    return parent


IS_TRUSTED = Requirement(permission="trusted")


@strawberry.type
class Number:
    double = resolver_field(tell_double, int | None)
    secret = resolver_field(tell_secret, int | None, IS_TRUSTED)


@strawberry.type
class Query:
    one: int = 1


@strawberry.type
class Subscription:
    count_up = resolver_field(count_up, Number)
    watch_secrets = resolver_field(watch_secrets, Number, IS_TRUSTED)


SCHEMA = strawberry.Schema(query=Query, subscription=Subscription)._schema
guard_fields(SCHEMA)
TRUSTED = frozenset({"trusted"})


def new_context(permissions: frozenset[str] = frozenset()) -> Context:
    """A context of a schema that stores nothing."""
    return Context(Caller("test", ALL_ASSETS, permissions), cast(Store, None))


async def follow(
    executor: Executor,
    text: str,
    variables: dict[str, Any] | None = None,
    permissions: frozenset[str] = frozenset(),
) -> list[OperationResult]:
    """All results of a subscription, as a gateway makes them."""
    operation = await executor.load_client_operation(text, None, variables or {})
    events = await executor.open_events(operation, variables or {}, new_context(permissions))
    if isinstance(events, OperationResult):
        return [events]
    results = []
    try:
        async with aclosing(events):
            async for value in events:
                context = new_context(permissions)
                results.append(
                    await executor.run(operation, variables or {}, context, Event(value))
                )
    except Exception as error:
        results.append(executor.to_result(error))
    return results


def describe(results: list[OperationResult]) -> list[Any]:
    """Data, or data and errors where there are some."""
    return [
        (each.data, [{"message": error.message, "path": error.path} for error in each.errors])
        if each.errors
        else each.data
        for each in results
    ]


@pytest.fixture(params=["compiled", "interpreted"])
def executor(request: pytest.FixtureRequest) -> Executor:
    return Executor(SCHEMA, compile_queries=request.param == "compiled")


async def test_each_event_has_a_result(executor: Executor) -> None:
    results = await follow(executor, "subscription { number: countUp(to: 3) { twice: double } }")

    assert describe(results) == [
        {"number": {"twice": 2}},
        (
            {"number": {"twice": None}},
            [{"message": "number: 2 cannot be doubled", "path": ["number", "twice"]}],
        ),
        {"number": {"twice": 6}},
    ]
    assert CLOSED == ["countUp"]


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"to": 9}, "to: must be from 1 to 5, not 9"),
        ({"to": "x"}, "Variable '$to' has invalid value"),
        ({"to": None}, "Expected value of non-null type"),
    ],
)
async def test_wrong_arguments_are_the_only_result(
    executor: Executor, variables: dict[str, Any], message: str
) -> None:
    text = "subscription ($to: Int!) { countUp(to: $to) { double } }"

    [result] = await follow(executor, text, variables)

    assert result.data is None
    assert [error.extensions and error.extensions["code"] for error in result.errors] == [
        "INVALID_INPUT"
    ]
    assert message in result.errors[0].message


@pytest.mark.parametrize(
    ("text", "column", "name"),
    [
        ("subscription { countUp(to: 9) { double } }", 16, "countUp"),
        ("subscription { numbers: countUp(to: 9) { double } }", 16, "numbers"),
        (
            "subscription { ...All } fragment All on Subscription { countUp(to: 9) { double } }",
            56,
            "countUp",
        ),
        ("subscription { watchSecrets { double } }", 16, "watchSecrets"),
    ],
)
async def test_an_error_before_the_first_event_is_of_the_root_field(
    executor: Executor, text: str, column: int, name: str
) -> None:
    [result] = await follow(executor, text)
    [error] = result.errors
    assert (error.path, error.locations) == ([name], [SourceLocation(1, column)])


async def test_a_source_that_fails_ends_the_stream_with_its_error(executor: Executor) -> None:
    *events, last = await follow(executor, "subscription { countUp(failAt: 2) { double } }")

    assert describe(events) == [{"countUp": {"double": 2}}]
    assert last.data is None
    [error] = last.errors
    assert (error.path, error.extensions) == (None, {"code": "DATABASE_UNREACHABLE"})
    assert CLOSED == ["countUp"]


async def test_a_stream_that_may_not_be_read_does_not_begin(executor: Executor) -> None:
    text = "subscription { watchSecrets { double } }"

    [refused] = await follow(executor, text)
    [allowed] = await follow(executor, text, permissions=TRUSTED)

    assert refused.data is None
    assert refused.errors[0].extensions == {
        "code": "PERMISSION_REQUIRED",
        "permission": "trusted",
    }
    assert allowed.data == {"watchSecrets": {"double": 14}}


async def test_a_field_that_may_not_be_read_is_null_in_each_event(executor: Executor) -> None:
    results = await follow(executor, "subscription { countUp(to: 1) { double secret } }")

    assert [result.data for result in results] == [{"countUp": {"double": 2, "secret": None}}]
    assert results[0].errors[0].path == ["countUp", "secret"]


@pytest.mark.parametrize(
    "text",
    [
        "subscription { countUp { double } other: countUp { double } }",
        "subscription { __typename }",
        "subscription ($no: Boolean = false) { countUp @include(if: $no) { double } }",
    ],
)
def test_a_subscription_has_exactly_one_field(executor: Executor, text: str) -> None:
    with pytest.raises(InvalidOperationError):
        asyncio.run(executor.load_client_operation(text, None, {}))
