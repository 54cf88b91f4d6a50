"""Operations end at their deadlines, and what a write's response says of it is true."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import strawberry

from resolvers.request.caller import Caller
from resolvers.request.context import Context, Info
from resolvers.request.errors import Cause, UnavailableError
from resolvers.request.limits.deadlines import extend_read, without_deadline
from resolvers.request.loading import DataLoader
from schema.execution import Executor, OperationResult
from schema.fields import resolver_field
from schema.permissions import IS_ADMIN, Requirement, RequirementExtension, guard_fields
from storage.mongo import driver
from storage.records.visibility import ALL_ASSETS
from storage.store import Store

pytestmark = pytest.mark.anyio

CAN_WRITE = RequirementExtension(Requirement(permission="write"))
DEADLINE_SECONDS = 1.0
WRITTEN: list[str] = []
ENDED: list[str] = []


async def wait(info: Info, name: str) -> int:
    """A read that would last for ever."""

    async def load(keys: list[str]) -> list[int]:
        try:
            await asyncio.Event().wait()
        finally:
            ENDED.extend(keys)
        return []

    info.context._loaders[name] = loader = DataLoader(load, 10)
    return await loader.load_one(name)


async def write(info: Info, name: str, seconds: float = 0.0) -> bool:
    """A write that takes its time."""
    await asyncio.sleep(seconds)
    WRITTEN.append(name)
    return True


async def do_work(info: Info, seconds: float) -> bool:
    """A read with a bound of its own, which takes longer than others may."""
    with extend_read(60.0):
        await asyncio.sleep(seconds)
    return True


async def ask_database(info: Info, seconds: float) -> bool:
    """A read that MongoDB ends."""
    await asyncio.sleep(seconds)
    raise UnavailableError("stopped", Cause.DEADLINE)


async def replace_everything(info: Info, seconds: float) -> bool:
    """A write that may take as long as it needs."""
    with without_deadline():
        await asyncio.sleep(seconds)
        assert driver.remaining_seconds() is None
    return True


@strawberry.type
class Query:
    wait = resolver_field(wait, int | None)
    work = resolver_field(do_work, bool | None)
    admin_work = resolver_field(do_work, bool | None, IS_ADMIN)
    ask_database = resolver_field(ask_database, bool | None)


@strawberry.type
class Mutation:
    write = resolver_field(write, bool | None, CAN_WRITE)
    replace_all = resolver_field(replace_everything, bool | None, CAN_WRITE)
    admin_replace_all = resolver_field(replace_everything, bool | None, IS_ADMIN)


SCHEMA = strawberry.Schema(query=Query, mutation=Mutation)._schema
guard_fields(SCHEMA)
USE_NO = "w: work(seconds: 0) @include(if: $no)"
both_ways = pytest.mark.parametrize("compile_queries", [True, False])


@pytest.fixture(autouse=True)
def _nothing_happened() -> None:
    WRITTEN.clear()
    ENDED.clear()


@pytest.fixture
async def context() -> AsyncIterator[Context]:
    client = driver.connect("mongodb://127.0.0.1:9")  # never used
    caller = Caller("key", ALL_ASSETS, permissions=frozenset({"write"}))
    yield Context(caller, Store(client, "none"))
    await driver.close(client)


async def run(
    context: Context, text: str, *, compile_queries: bool = True, **variables: Any
) -> OperationResult:
    executor = Executor(SCHEMA, compile_queries=compile_queries, deadline_seconds=DEADLINE_SECONDS)
    return await executor.run(executor.prepare(text), variables, context)


def codes(result: OperationResult) -> list[tuple[Any, Any]]:
    return [((error.extensions or {})["code"], error.path) for error in result.errors]


@both_ways
async def test_a_query_ends_at_its_deadline_with_all_that_it_has_begun(
    context: Context, compile_queries: bool
) -> None:
    text = '{ a: wait(name: "a") b: wait(name: "b") }'
    result = await run(context, text, compile_queries=compile_queries)
    assert result.data is None
    assert codes(result) == [("DEADLINE_EXCEEDED", None)]
    await asyncio.sleep(0)
    assert sorted(ENDED) == ["a", "b"]


@both_ways
async def test_a_write_is_not_cancelled_and_no_other_begins_after_the_deadline(
    context: Context, compile_queries: bool
) -> None:
    text = 'mutation { a: write(name: "a", seconds: 1.5) b: write(name: "b") }'
    result = await run(context, text, compile_queries=compile_queries)
    assert result.data == {"a": True, "b": None}
    assert codes(result) == [("DEADLINE_EXCEEDED", ["b"])]
    assert "carried out" in result.errors[0].message
    assert WRITTEN == ["a"]


@both_ways
async def test_work_with_a_bound_of_its_own_extends_the_deadline_of_its_query(
    context: Context, compile_queries: bool
) -> None:
    result = await run(context, "{ work(seconds: 1.5) }", compile_queries=compile_queries)
    assert (result.data, result.errors) == ({"work": True}, [])


async def test_others_have_no_more_time_than_that_work_has_taken(context: Context) -> None:
    text = '{ a: work(seconds: 0.2) b: work(seconds: 1.5) w: wait(name: "a") }'
    result = await run(context, text)
    assert codes(result) == [("DEADLINE_EXCEEDED", None)]
    await asyncio.sleep(0)
    assert ENDED == ["a"]
    [seconds] = re.findall(r"over ([0-9.]+) seconds", result.errors[0].message)
    assert 2.5 <= float(seconds) < 60


@both_ways
@pytest.mark.parametrize(
    "field",
    [
        "work(seconds: 0) @skip(if: true)",
        "work(seconds: 0) @include(if: $no)",
        "adminWork(seconds: 0)",
    ],
    ids=["skipped", "not included", "without the permission"],
)
async def test_work_that_does_not_begin_extends_no_deadline(
    context: Context, compile_queries: bool, field: str
) -> None:
    text = f'query ($no: Boolean! = false) {{ {field} wait(name: "a") {USE_NO} }}'
    result = await run(context, text, compile_queries=compile_queries)
    assert codes(result) == [("DEADLINE_EXCEEDED", None)]
    assert "over 1 seconds" in result.errors[0].message


async def test_other_reads_of_the_query_keep_the_deadline_of_their_commands(
    context: Context,
) -> None:
    result = await run(context, "{ work(seconds: 2.5) askDatabase(seconds: 1.5) }")
    assert codes(result) == [("DEADLINE_EXCEEDED", None)]
    assert "over 1 seconds" in result.errors[0].message


@both_ways
async def test_the_time_of_a_write_without_deadline_does_not_count_for_the_others(
    context: Context, compile_queries: bool
) -> None:
    text = """mutation {
        replaceAll(seconds: 1.5)
        a: write(name: "a", seconds: 1.5)
        b: write(name: "b")
    }"""
    result = await run(context, text, compile_queries=compile_queries)
    assert result.data == {"replaceAll": True, "a": True, "b": None}
    assert codes(result) == [("DEADLINE_EXCEEDED", ["b"])]


@both_ways
@pytest.mark.parametrize(
    "field",
    ["replaceAll(seconds: 0) @skip(if: true)", "adminReplaceAll(seconds: 0)"],
    ids=["skipped", "without the permission"],
)
async def test_a_write_that_does_not_begin_leaves_the_others_their_deadline(
    context: Context, compile_queries: bool, field: str
) -> None:
    text = f'mutation {{ {field} a: write(name: "a", seconds: 1.5) b: write(name: "b") }}'
    result = await run(context, text, compile_queries=compile_queries)
    assert ("DEADLINE_EXCEEDED", ["b"]) in codes(result)
    assert WRITTEN == ["a"]
