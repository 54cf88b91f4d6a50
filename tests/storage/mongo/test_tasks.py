"""Background tasks end, however often they lose a cancellation."""

import asyncio

import pytest

from storage.mongo.tasks import cancel_and_wait, run_in_background

pytestmark = pytest.mark.anyio


async def test_a_task_that_ignores_cancellations_is_cancelled_again() -> None:
    ignored = 0

    async def ignore_cancellations() -> None:
        nonlocal ignored
        while ignored < 3:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                ignored += 1

    task = asyncio.create_task(ignore_cancellations())
    await asyncio.sleep(0)
    await cancel_and_wait(task)
    assert (task.done(), ignored) == (True, 3)


async def test_what_a_task_raised_is_not_raised_again() -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    await cancel_and_wait(asyncio.create_task(fail()))


async def test_background_work_ends_with_its_context() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        started.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    with pytest.raises(ZeroDivisionError):
        async with run_in_background(work()):
            await started.wait()
            assert not ended.is_set()
            raise ZeroDivisionError
    assert ended.is_set()
