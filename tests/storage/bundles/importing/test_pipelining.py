"""One write runs while the next is prepared."""

import asyncio

import pytest

from storage.bundles.importing.pipelining import PipelinedWriter

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
    assert events == ["a begins", "a ends", "prepared", "b begins", "b ends"]


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
