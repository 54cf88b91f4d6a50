"""Work in reusable processes, which end at its deadline or are replaced when they are killed."""

import os
import signal
from pathlib import Path

import anyio
import pytest

from resolvers.request.process_pool import run_in_process_pool

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

TIMEOUT_SECONDS = 60.0
SHORT_SECONDS = 0.2


def divide(dividend: int, divisor: int) -> float:
    return dividend / divisor


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def write_pid_and_wait(path: Path) -> None:
    path.write_text(str(os.getpid()))
    signal.pause()


async def pool_pid() -> int:
    return await run_in_process_pool(os.getpid, TIMEOUT_SECONDS)


async def test_work_is_done_in_another_process_that_is_used_again() -> None:
    pid = await pool_pid()
    assert pid != os.getpid()
    assert await pool_pid() == pid


async def test_results_and_errors_come_from_the_process() -> None:
    assert await run_in_process_pool(divide, TIMEOUT_SECONDS, 7, 2) == 3.5
    with pytest.raises(ZeroDivisionError):
        await run_in_process_pool(divide, TIMEOUT_SECONDS, 7, 0)


async def test_the_process_is_killed_at_the_deadline(tmp_path: Path) -> None:
    pid = await pool_pid()
    with pytest.raises(TimeoutError):
        await run_in_process_pool(write_pid_and_wait, SHORT_SECONDS, tmp_path / "pid")
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert await pool_pid() != pid


async def test_cancelling_kills_the_process(tmp_path: Path) -> None:
    path = tmp_path / "pid"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run_in_process_pool, write_pid_and_wait, TIMEOUT_SECONDS, path)
        while not path.exists() or not path.read_text():
            await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    with pytest.raises(ProcessLookupError):
        os.kill(int(path.read_text()), 0)


async def test_an_idle_process_that_was_killed_is_replaced() -> None:
    pid = await pool_pid()
    os.kill(pid, signal.SIGKILL)
    assert await pool_pid() != pid


async def test_work_that_kills_its_process_is_an_error() -> None:
    with pytest.raises(anyio.BrokenWorkerProcess):
        await run_in_process_pool(die, TIMEOUT_SECONDS)
    assert await run_in_process_pool(divide, TIMEOUT_SECONDS, 4, 2) == 2
