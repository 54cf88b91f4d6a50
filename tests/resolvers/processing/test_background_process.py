"""Work in a process of its own."""

import asyncio
import os
import signal
from collections.abc import Callable

import pytest

from resolvers.processing.background_process import BackgroundProcessDiedError, run_with_progress

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

Report = Callable[[float, str], None]


def ignore(share: float, step: str) -> None:
    pass


def double(progress: Report, number: int) -> int:
    progress(0.5, "halfway")
    return 2 * number


def fail(progress: Report) -> None:
    raise ValueError("no plan")


def die(progress: Report) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def report_pid_and_wait(progress: Report) -> None:
    progress(0.0, str(os.getpid()))
    signal.pause()


async def test_progress_and_the_result_come_from_the_process() -> None:
    steps: list[tuple[float, str]] = []
    result = await run_with_progress(double, lambda *step: steps.append(step), 21)
    assert (result, steps) == (42, [(0.5, "halfway")])


async def test_errors_are_raised_here() -> None:
    with pytest.raises(ValueError, match="no plan"):
        await run_with_progress(fail, ignore)


async def test_a_killed_process_is_an_error() -> None:
    with pytest.raises(BackgroundProcessDiedError):
        await run_with_progress(die, ignore)


async def test_cancelling_ends_the_process() -> None:
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(
        run_with_progress(report_pid_and_wait, lambda _, pid: started.set_result(int(pid)))
    )
    pid = await started
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
