"""Batches are read and written while others are worked on."""

import asyncio
from collections.abc import AsyncGenerator

import pytest

from storage.bundles.importing.pipelining import PipelinedWriter, read_ahead

pytestmark = pytest.mark.anyio


async def test_writes_run_in_order_and_one_at_a_time() -> None:
    events: list[str] = []

    async def write(name: str) -> None:
        events.append(f"{name} begins")
        await asyncio.sleep(0)
        events.append(f"{name} ends")

    writer = PipelinedWriter()
    await writer.submit(write("a"))
    await writer.submit(write("b"))
    events.append("prepared")
    await writer.drain()
    assert events == ["a begins", "a ends", "b begins", "prepared", "b ends"]


async def test_writes_of_which_the_order_does_not_matter_run_side_by_side() -> None:
    events: list[str] = []
    may_end = asyncio.Event()

    async def write(name: str) -> None:
        events.append(f"{name} begins")
        await may_end.wait()
        events.append(f"{name} ends")

    writer = PipelinedWriter(2)
    await writer.submit(write("a"))
    await writer.submit(write("b"))
    third = asyncio.ensure_future(writer.submit(write("c")))
    while len(events) < 2:
        await asyncio.sleep(0)
    assert not third.done()
    may_end.set()
    await third
    assert events[:4] == ["a begins", "b begins", "a ends", "b ends"]
    await writer.drain()
    assert events[4:] == ["c begins", "c ends"]


async def test_the_next_batch_is_read_while_one_is_worked_on() -> None:
    events: list[str] = []

    async def read() -> AsyncGenerator[int]:
        for number in range(3):
            events.append(f"{number} is read")
            yield number

    async for number in read_ahead(read()):
        events += [f"{number} is worked on"]
    assert events[:3] == ["0 is read", "1 is read", "0 is worked on"]
    assert events[-1] == "2 is worked on"


async def test_reading_ahead_ends_with_its_consumer_and_raises_the_error_of_the_reader() -> None:
    closed = asyncio.Event()

    async def read() -> AsyncGenerator[int]:
        try:
            yield 1
            await asyncio.sleep(60)
        finally:
            closed.set()

    batches = read_ahead(read())
    assert await anext(batches) == 1
    await batches.aclose()
    assert closed.is_set()

    async def fail() -> AsyncGenerator[int]:
        yield 1
        raise OSError("MongoDB is lost")

    with pytest.raises(OSError, match="MongoDB is lost"):
        assert [number async for number in read_ahead(fail())] == []


async def test_an_error_is_raised_by_the_next_call_and_no_other_write_starts() -> None:
    async def fail() -> None:
        raise OSError("disk full")

    async def write() -> None:
        raise AssertionError("must not start")

    writer = PipelinedWriter()
    await writer.submit(fail())
    with pytest.raises(OSError, match="disk full"):
        await writer.submit(write())
    await writer.drain()
