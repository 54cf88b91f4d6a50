"""Operations end at their deadlines, and what a write's response says of it is true."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import strawberry

from resolvers.request.caller import Caller
from resolvers.request.context import Context, Info
from resolvers.request.loading import DataLoader
from schema.deadlines import Deadlines
from schema.execution import Executor, OperationResult
from schema.fields import resolver_field
from storage.mongo import driver
from storage.records.visibility import ALL_ASSETS
from storage.store import Store

pytestmark = pytest.mark.anyio

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


@strawberry.type
class Query:
    wait = resolver_field(wait, int | None)


@strawberry.type
class Mutation:
    write = resolver_field(write, bool | None)


SCHEMA = strawberry.Schema(query=Query, mutation=Mutation)._schema


@pytest.fixture(autouse=True)
def _nothing_happened() -> None:
    WRITTEN.clear()
    ENDED.clear()


@pytest.fixture
async def context() -> AsyncIterator[Context]:
    client = driver.connect("mongodb://127.0.0.1:9")  # never used
    yield Context(Caller("key", ALL_ASSETS), Store(client, "none"))
    await driver.close(client)


async def run(context: Context, text: str, *, compile_queries: bool = True) -> OperationResult:
    executor = Executor(SCHEMA, compile_queries=compile_queries, deadlines=Deadlines(0.05))
    return await executor.run(executor.prepare(text), {}, context)


def codes(result: OperationResult) -> list[tuple[Any, Any]]:
    return [((error.extensions or {})["code"], error.path) for error in result.errors]


@pytest.mark.parametrize("compile_queries", [True, False])
async def test_a_query_ends_at_its_deadline_with_all_that_it_has_begun(
    context: Context, compile_queries: bool
) -> None:
    text = '{ a: wait(name: "a") b: wait(name: "b") }'
    result = await run(context, text, compile_queries=compile_queries)
    assert result.data is None
    assert codes(result) == [("DEADLINE_EXCEEDED", None)]
    await asyncio.sleep(0)
    assert sorted(ENDED) == ["a", "b"]


async def test_a_write_is_not_cancelled_and_no_other_begins_after_the_deadline(
    context: Context,
) -> None:
    text = 'mutation { a: write(name: "a", seconds: 0.1) b: write(name: "b") }'
    result = await run(context, text)
    assert result.data == {"a": True, "b": None}
    assert codes(result) == [("DEADLINE_EXCEEDED", ["b"])]
    assert "carried out" in result.errors[0].message
    assert WRITTEN == ["a"]
