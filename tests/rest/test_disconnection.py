"""Work for clients that have gone is cancelled."""

import asyncio
import contextlib
from typing import Any

import pytest

from rest import disconnection
from rest.disconnection import run_while_connected
from rest.request_body import ClientDisconnectedError

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _watch_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disconnection, "WATCH_AFTER_SECONDS", 0.0)


async def test_work_ends_when_its_client_leaves() -> None:
    messages = asyncio.Queue[dict[str, Any]]()
    messages.put_nowait({"type": "http.request", "body": b""})
    ended = asyncio.Event()

    async def work() -> None:
        messages.put_nowait({"type": "http.disconnect"})
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(ClientDisconnectedError):
        await run_while_connected(work(), messages.get)
    assert ended.is_set()


async def test_work_that_is_done_is_returned_and_nothing_waits_any_more() -> None:
    waiting = asyncio.Event()

    async def receive() -> Any:
        waiting.set()
        await asyncio.Event().wait()

    async def work() -> str:
        await waiting.wait()
        return "done"

    before = asyncio.all_tasks()
    assert await run_while_connected(work(), receive) == "done"
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_another_cancellation_is_not_taken_for_a_disconnection() -> None:
    async def receive() -> Any:
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await run_while_connected(asyncio.sleep(60), receive)


async def test_a_disconnection_is_told_in_a_task_that_was_cancelled_before() -> None:
    async def leave() -> Any:
        return {"type": "http.disconnect"}

    async def run() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
        with pytest.raises(ClientDisconnectedError):
            await run_while_connected(asyncio.sleep(60), leave)

    await asyncio.create_task(run())
