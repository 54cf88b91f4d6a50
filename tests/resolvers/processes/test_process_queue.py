"""The queue of a pool is bounded, and fair to owners.

Work waits for a pipe here, so that a test decides when it ends.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.abc import TaskGroup

from resolvers.processes import process_pool
from resolvers.processes.process_pool import ProcessPool
from resolvers.request.errors import ServiceBusyError
from tests.resolvers.processes.pool_work import CPU_SECONDS, pool_pid

pytestmark = pytest.mark.anyio


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
