"""Work in reusable processes: limited by its CPU time and memory."""

import multiprocessing
import os
import signal
import threading
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

from resolvers.processes import process_pool, worker_process
from resolvers.processes.cpu_limit import CpuTimeExceededError
from resolvers.processes.memory_limit import (
    MAX_TASK_BYTES,
    MemoryExceededError,
)
from resolvers.processes.process_pool import ProcessPool
from resolvers.processes.worker_process import (
    NICENESS,
    WorkerDiedError,
    WorkerProcess,
    report_progress,
)
from resolvers.request.errors import ServiceBusyError
from tests.resolvers.processes.pool_work import (
    CPU_SECONDS,
    divide,
    pid_in,
    pool_pid,
    wait_for_end_of,
)

pytestmark = pytest.mark.anyio


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def compute_forever() -> None:
    while True:
        pass


def write_pid_and_wait(path: Path) -> None:
    path.write_text(str(os.getpid()))
    signal.pause()


def repeat_x(count: int) -> str:
    return "x" * count


def get_niceness() -> int:
    return os.nice(0)


def double(number: int) -> int:
    report_progress(0.5, "halfway")
    return 2 * number


async def test_work_reports_its_progress_and_its_errors_from_a_nice_process(
    pool: ProcessPool,
) -> None:
    steps: list[tuple[float, str]] = []

    def progress(*step: Any) -> None:
        steps.append(step)

    assert await pool.run(double, 21, cpu_seconds=CPU_SECONDS, progress=progress) == 42
    assert steps == [(0.5, "halfway")]
    with pytest.raises(ZeroDivisionError):
        await pool.run(divide, 7, 0, cpu_seconds=CPU_SECONDS)
    assert await pool.run(get_niceness, cpu_seconds=CPU_SECONDS) == min(19, os.nice(0) + NICENESS)


@pytest.mark.slow
async def test_a_process_whose_call_is_cancelled_while_it_starts_ends(
    pool: ProcessPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    cancelled = threading.Event()
    others = {*multiprocessing.active_children()}
    started: list[Any] = []

    def start() -> WorkerProcess:
        worker = WorkerProcess()
        started.extend({*multiprocessing.active_children()} - others)
        assert cancelled.wait(CPU_SECONDS)
        return worker

    monkeypatch.setattr(process_pool, "WorkerProcess", start)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pool_pid, pool)
        while not started:
            await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    cancelled.set()
    while {*multiprocessing.active_children()} & {*started}:
        await anyio.sleep(0.01)


async def test_work_is_stopped_after_its_cpu_time_and_the_process_goes_on(
    pool: ProcessPool,
) -> None:
    pid = await pool_pid(pool)
    with pytest.raises(CpuTimeExceededError, match=r"over 0\.5 seconds of CPU time"):
        await pool.run(compute_forever, cpu_seconds=0.5)
    assert await pool_pid(pool) == pid


@pytest.mark.slow
async def test_waiting_takes_no_cpu_time_and_is_not_blamed_on_the_work(
    pool: ProcessPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = await pool_pid(pool)
    monkeypatch.setattr(process_pool, "WALL_SECONDS_PER_CPU_SECOND", 0.01)
    with pytest.raises(ServiceBusyError):
        await pool.run(write_pid_and_wait, tmp_path / "pid", cpu_seconds=20.0)
    await wait_for_end_of(pid)
    monkeypatch.undo()
    assert await pool_pid(pool) != pid


async def test_cancelling_kills_the_process(pool: ProcessPool, tmp_path: Path) -> None:
    path = tmp_path / "pid"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(pool.run, write_pid_and_wait, path, cpu_seconds=CPU_SECONDS))
        pid = await pid_in(path)
        tasks.cancel_scope.cancel()
    await wait_for_end_of(pid)
    assert await pool_pid(pool) != pid


@pytest.mark.slow
async def test_an_idle_process_that_was_killed_is_replaced(pool: ProcessPool) -> None:
    pid = await pool_pid(pool)
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert await pool_pid(pool) != pid


async def test_work_that_kills_its_process_is_an_error_and_not_done_again(
    pool: ProcessPool,
) -> None:
    with pytest.raises(WorkerDiedError):
        await pool.run(die, cpu_seconds=CPU_SECONDS)
    assert await pool.run(divide, 4, 2, cpu_seconds=CPU_SECONDS) == 2


@pytest.mark.slow
async def test_a_process_that_keeps_much_memory_is_replaced(pool: ProcessPool) -> None:
    pid = await pool_pid(pool)
    size = worker_process.MAX_IDLE_BYTES
    assert len(await pool.run(repeat_x, size, cpu_seconds=CPU_SECONDS)) == size
    await wait_for_end_of(pid)
    assert await pool_pid(pool) != pid


@pytest.mark.slow
async def test_processes_end_with_the_pool(tmp_path: Path) -> None:
    path = tmp_path / "pid"

    async def run(pool: ProcessPool) -> None:
        with pytest.raises(WorkerDiedError):
            await pool.run(write_pid_and_wait, path, cpu_seconds=CPU_SECONDS)

    async with anyio.create_task_group() as tasks, ProcessPool(2) as pool:
        tasks.start_soon(run, pool)
        pids = [await pid_in(path), await pool.run(os.getpid, cpu_seconds=CPU_SECONDS, owner="b")]
    for pid in pids:
        await wait_for_end_of(pid)


def take_memory() -> int:
    return np.zeros(MAX_TASK_BYTES // 4).nbytes


def compute_in_c() -> None:
    """Take minutes in one call, which no signal handler of Python interrupts."""
    sum(range(10**11))


async def test_work_that_takes_too_much_memory_ends_with_an_error(pool: ProcessPool) -> None:
    with pytest.raises(MemoryExceededError, match=r"needs more than 4,294,967,296 bytes of memory"):
        await pool.run(take_memory, cpu_seconds=CPU_SECONDS)
    assert await pool.run(divide, 8, 4, cpu_seconds=CPU_SECONDS) == 2


@pytest.mark.slow
async def test_work_within_c_ends_after_its_cpu_time_too(pool: ProcessPool) -> None:
    with pytest.raises(CpuTimeExceededError, match=r"takes over 0\.5 seconds of CPU time"):
        await pool.run(compute_in_c, cpu_seconds=0.5)
    assert await pool.run(divide, 8, 4, cpu_seconds=CPU_SECONDS) == 2
