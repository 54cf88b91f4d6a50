"""Operations end at their deadlines, and what a write's response says of it is true.

They run by a clock that stands still while something runs, and then jumps to the next timer.
"""

import asyncio
import selectors
from types import SimpleNamespace
from typing import Any, cast

import pytest
import strawberry

from resolvers.request import context
from resolvers.request.caller import ADMINISTER, Caller
from resolvers.request.context import Context, DataLoader, Info, extend_read, without_deadline
from resolvers.request.errors import Cause, UnavailableError
from schema.definitions import Requirement, guard_fields
from schema.execution import Executor, OperationResult
from schema.fields import resolver_field
from storage.mongo import driver, unavailable
from storage.records.visibility import ALL_ASSETS
from storage.store import Store

CAN_WRITE = Requirement(permission="write")
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

    info.context._loads.loaders[name] = loader = DataLoader(load, 10)
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
    admin_work = resolver_field(do_work, bool | None, ADMINISTER)
    ask_database = resolver_field(ask_database, bool | None)


@strawberry.type
class Mutation:
    write = resolver_field(write, bool | None, CAN_WRITE)
    replace_all = resolver_field(replace_everything, bool | None, CAN_WRITE)
    admin_replace_all = resolver_field(replace_everything, bool | None, ADMINISTER)


SCHEMA = strawberry.Schema(query=Query, mutation=Mutation)._schema
guard_fields(SCHEMA)
USE_NO = "w: work(seconds: 0) @include(if: $no)"
both_ways = pytest.mark.parametrize("compile_queries", [True, False])


class JumpingClock(selectors.DefaultSelector):
    """Waits for no time: it is later at once."""

    now = 1000.0

    def select(self, timeout: float | None = None) -> Any:
        """Return the events that there are; if there is none, the time of the wait is over."""
        events = super().select(0)
        if not events and timeout:
            self.now += timeout
        return events


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the result of an operation that runs by the jumping clock."""
    WRITTEN.clear()
    ENDED.clear()

    def run(text: str, *, compile_queries: bool = True) -> OperationResult:
        clock = JumpingClock()
        time = SimpleNamespace(monotonic=lambda: clock.now)
        monkeypatch.setattr(context, "time", time)
        monkeypatch.setattr(unavailable, "time", time)

        def make_loop() -> asyncio.AbstractEventLoop:
            loop = asyncio.SelectorEventLoop(clock)
            loop.time = time.monotonic  # type: ignore[method-assign]
            return loop

        caller = Caller("key", ALL_ASSETS, permissions=frozenset({"write"}))
        executor = Executor(
            SCHEMA, compile_queries=compile_queries, deadline_seconds=DEADLINE_SECONDS
        )
        with asyncio.Runner(loop_factory=make_loop) as runner:
            operation = executor.prepare(text)
            result = runner.run(executor.run(operation, {}, Context(caller, cast(Store, None))))
            runner.run(asyncio.sleep(0))
        return result

    return run


def codes(result: OperationResult) -> list[tuple[Any, Any]]:
    return [((error.extensions or {})["code"], error.path) for error in result.errors]


@both_ways
def test_a_query_ends_at_its_deadline_with_all_that_it_has_begun(
    run: Any, compile_queries: bool
) -> None:
    result = run('{ a: wait(name: "a") b: wait(name: "b") }', compile_queries=compile_queries)
    assert result.data is None
    assert codes(result) == [("DEADLINE_EXCEEDED", None)]
    assert sorted(ENDED) == ["a", "b"]


@both_ways
def test_a_write_is_not_cancelled_and_no_other_begins_after_the_deadline(
    run: Any, compile_queries: bool
) -> None:
    text = 'mutation { a: write(name: "a", seconds: 1.5) b: write(name: "b") }'
    result = run(text, compile_queries=compile_queries)
    assert result.data == {"a": True, "b": None}
    assert codes(result) == [("DEADLINE_EXCEEDED", ["b"])]
    assert "carried out" in result.errors[0].message
    assert WRITTEN == ["a"]


@both_ways
def test_work_with_a_bound_of_its_own_extends_the_deadline_of_its_query(
    run: Any, compile_queries: bool
) -> None:
    result = run("{ work(seconds: 59) }", compile_queries=compile_queries)
    assert (result.data, result.errors) == ({"work": True}, [])


def test_others_have_no_more_time_than_that_work_has_taken(run: Any) -> None:
    result = run('{ a: work(seconds: 0.2) b: work(seconds: 1.5) w: wait(name: "a") }')
    assert codes(result) == [("DEADLINE_EXCEEDED", None)]
    assert ENDED == ["a"]
    assert "over 2.5 seconds" in result.errors[0].message


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
def test_work_that_does_not_begin_extends_no_deadline(
    run: Any, compile_queries: bool, field: str
) -> None:
    text = f'query ($no: Boolean! = false) {{ {field} wait(name: "a") {USE_NO} }}'
    result = run(text, compile_queries=compile_queries)
    assert codes(result) == [("DEADLINE_EXCEEDED", None)]
    assert "over 1 seconds" in result.errors[0].message


def test_other_reads_of_the_query_keep_the_deadline_of_their_commands(run: Any) -> None:
    result = run("{ work(seconds: 2.5) askDatabase(seconds: 1.5) }")
    assert codes(result) == [("DEADLINE_EXCEEDED", None)]
    assert "over 1 seconds" in result.errors[0].message


@both_ways
@pytest.mark.parametrize(
    ("field", "begins"),
    [
        ("replaceAll(seconds: 1.5)", True),
        ("replaceAll(seconds: 0) @skip(if: true)", False),
        ("adminReplaceAll(seconds: 0)", False),
    ],
    ids=["begins", "skipped", "without the permission"],
)
def test_the_time_of_a_write_without_deadline_does_not_count_for_the_others(
    run: Any, compile_queries: bool, field: str, begins: bool
) -> None:
    """A write of 0.9 seconds leaves time for another, and that one for none."""
    text = f"""mutation {{
        {field}
        a: write(name: "a", seconds: 0.9)
        b: write(name: "b", seconds: 0.2)
        c: write(name: "c")
    }}"""
    result = run(text, compile_queries=compile_queries)
    assert ("DEADLINE_EXCEEDED", ["c"]) in codes(result)
    assert WRITTEN == ["a", "b"]
    assert result.data is not None
    assert result.data.get("replaceAll", False) is begins
