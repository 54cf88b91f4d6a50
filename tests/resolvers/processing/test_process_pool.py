"""Work runs in processes, in turns between owners, with a limit of CPU time."""

import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest
from anyio.abc import TaskGroup

from parsing.svg.unit_map import parse_unit_map
from resolvers.processing import process_pool, task_process
from resolvers.processing.process_pool import ProcessPool
from resolvers.processing.task_process import (
    MAX_TASK_BYTES,
    NICENESS,
    CpuTimeExceededError,
    MemoryExceededError,
    TaskProcess,
    WorkerDiedError,
    limit_cpu_time,
    report_progress,
)
from resolvers.request.errors import ServiceBusyError

CPU_SECONDS = 60.0


def divide(dividend: int, divisor: int) -> float:
    return dividend / divisor


async def pool_pid(pool: ProcessPool) -> int:
    return await pool.run(os.getpid, cpu_seconds=CPU_SECONDS)


async def pid_in(path: Path) -> int:
    while not path.exists() or not path.read_text():
        await anyio.sleep(0.01)
    return int(path.read_text())


async def wait_for_end_of(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        with anyio.fail_after(CPU_SECONDS):
            while True:
                os.kill(pid, 0)
                await anyio.sleep(0.01)


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

    def start() -> TaskProcess:
        worker = TaskProcess()
        started.extend({*multiprocessing.active_children()} - others)
        assert cancelled.wait(CPU_SECONDS)
        return worker

    monkeypatch.setattr(process_pool, "TaskProcess", start)
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
    size = task_process.MAX_IDLE_BYTES
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


def open_when_there(path: Path) -> int:
    """Wait in `open` until somebody writes to the pipe."""
    path.read_bytes()
    return os.getpid()


class Calls:
    """Calls that wait in a pool until they are let go, and the order in which they ended."""

    def __init__(self, pool: ProcessPool, tasks: TaskGroup, folder: Path) -> None:
        self.pool = pool
        self.folder = folder
        self.tasks = tasks
        self.ended: list[str] = []

    async def start(self, name: str, owner: str, size_bytes: int = 0) -> None:
        """Start a call and wait until it runs or is in the queue."""
        os.mkfifo(self.folder / name)
        self.tasks.start_soon(self._run, name, owner, size_bytes)
        await anyio.wait_all_tasks_blocked()

    async def _run(self, name: str, owner: str, size_bytes: int) -> None:
        await self.pool.run(
            open_when_there,
            self.folder / name,
            cpu_seconds=CPU_SECONDS,
            owner=owner,
            size_bytes=size_bytes,
        )
        self.ended.append(name)

    async def end(self, name: str) -> None:
        """Let a call that runs end."""
        await anyio.to_thread.run_sync((self.folder / name).write_bytes, b"x")
        while name not in self.ended:
            await anyio.sleep(0.01)

    async def is_refused(self, owner: str, size_bytes: int = 0) -> bool:
        """Whether the pool refuses another call at once."""
        name = f"{owner}-{size_bytes}-refused"
        os.mkfifo(self.folder / name)
        call: Callable[..., Any] = partial(self._run, name, owner, size_bytes)
        try:
            with anyio.move_on_after(0.05):
                await call()
        except ServiceBusyError:
            return True
        return False


@pytest.fixture
def calls(tasks: TaskGroup, tmp_path: Path) -> Callable[[ProcessPool], Calls]:
    return lambda pool: Calls(pool, tasks, tmp_path)


async def test_owners_take_turns(pool: ProcessPool, calls: Callable[[ProcessPool], Calls]) -> None:
    waiting = calls(pool)
    for name in ("a1", "a2", "a3", "b1", "c1", "b2"):
        await waiting.start(name, owner=name[0])
    for name in ("a1", "a2", "b1", "c1", "a3", "b2"):
        await waiting.end(name)
    assert waiting.ended == ["a1", "a2", "b1", "c1", "a3", "b2"]


async def test_one_owner_leaves_a_process_to_the_others(
    calls: Callable[[ProcessPool], Calls],
) -> None:
    async with ProcessPool(2) as pool:
        waiting = calls(pool)
        await waiting.start("a1", owner="a")
        await waiting.start("a2", owner="a")
        await waiting.start("b1", owner="b")
        await waiting.end("b1")
        await waiting.end("a1")
        await waiting.end("a2")


@pytest.mark.slow
async def test_one_owner_has_as_many_processes_as_it_may(
    calls: Callable[[ProcessPool], Calls], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_pool, "MAX_WAITING", 2)
    async with ProcessPool(3, max_of_owner=1) as pool:
        waiting = calls(pool)
        for name in ("a1", "a2", "b1", "b2"):
            await waiting.start(name, owner=name[0])
        assert await waiting.is_refused("a")
        await waiting.start("c1", owner="c")  # the third process is for other owners
        for name in ("c1", "b1", "b2", "a1", "a2"):
            await waiting.end(name)


@pytest.mark.slow
async def test_the_queue_is_bounded_and_one_owner_has_half_of_it(
    pool: ProcessPool, calls: Callable[[ProcessPool], Calls], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_pool, "MAX_WAITING", 4)
    waiting = calls(pool)
    for name in ("a1", "a2", "a3"):
        await waiting.start(name, owner="a")
    assert await waiting.is_refused("a")
    assert not await waiting.is_refused("b")
    await waiting.start("b1", owner="b")
    await waiting.start("b2", owner="b")
    assert await waiting.is_refused("c")


async def test_the_bytes_of_the_queue_are_bounded_too(
    pool: ProcessPool, calls: Callable[[ProcessPool], Calls], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_pool, "MAX_WAITING_BYTES", 100)
    waiting = calls(pool)
    await waiting.start("a1", owner="a", size_bytes=1_000)
    await waiting.start("a2", owner="a", size_bytes=50)
    assert await waiting.is_refused("a", 1)
    assert await waiting.is_refused("b", 51)
    assert not await waiting.is_refused("b", 50)


@pytest.mark.slow
async def test_a_call_that_waits_too_long_is_refused_and_leaves_the_queue(
    pool: ProcessPool, calls: Callable[[ProcessPool], Calls], monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = calls(pool)
    await waiting.start("a1", owner="a")
    monkeypatch.setattr(process_pool, "MAX_WAIT_SECONDS", 0.0)
    with pytest.raises(ServiceBusyError):
        await pool.run(os.getpid, cpu_seconds=CPU_SECONDS, owner="b")
    monkeypatch.undo()
    await waiting.end("a1")
    assert await pool_pid(pool)


@pytest.mark.slow
async def test_a_call_cancelled_in_the_queue_leaves_it(
    pool: ProcessPool, calls: Callable[[ProcessPool], Calls]
) -> None:
    waiting = calls(pool)
    await waiting.start("a1", owner="a")
    async with anyio.create_task_group() as others:
        others.start_soon(partial(pool.run, os.getpid, cpu_seconds=CPU_SECONDS))
        await anyio.wait_all_tasks_blocked()
        others.cancel_scope.cancel()
    await waiting.end("a1")
    assert await pool_pid(pool)


MESSAGE = "the drawing takes over 0.01 seconds of CPU time to parse; simplify it"


def test_parsing_stops_after_its_cpu_time_without_a_position() -> None:
    large = f"<svg>{'<g><path/></g>' * 50_000}</svg>".encode()
    with pytest.raises(CpuTimeExceededError) as caught, limit_cpu_time(0.01):
        parse_unit_map(large)
    assert str(caught.value) == MESSAGE
    assert str(pickle.loads(pickle.dumps(caught.value))) == MESSAGE


def test_waiting_takes_no_cpu_time() -> None:
    with limit_cpu_time(0.05):
        time.sleep(0.2)


def test_the_limit_ends_with_the_block() -> None:
    handler = signal.getsignal(signal.SIGPROF)
    with limit_cpu_time(0.05):
        pass
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)
    assert signal.getsignal(signal.SIGPROF) == handler


def test_the_limit_holds_where_its_exception_is_lost() -> None:
    """As in a finalizer, where Python prints an exception and goes on."""
    with pytest.raises(CpuTimeExceededError), limit_cpu_time(0.05):
        with suppress(CpuTimeExceededError):
            compute(10.0)
        compute(10.0)


def compute(seconds: float) -> None:
    """Use CPU time."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
