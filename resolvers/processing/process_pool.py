"""Run CPU-heavy work in a pool of processes with a bounded, fair queue.

docs/decisions/server/drawing-processes.md has the reasons.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Self, TypeVar, TypeVarTuple

from parsing.errors import DocumentRejectedError, ParsingError
from resolvers.processing.task_process import (
    MAX_PARSE_CPU_SECONDS,
    PARSE_MESSAGE,
    Outcome,
    Task,
    TaskProcess,
)
from resolvers.request.errors import MalformedDocumentError, RefusedDocumentError, ServiceBusyError
from routing.values import ignore_progress
from storage.mongo.spans import Span, name_of

A = TypeVarTuple("A")
T = TypeVar("T")

MAX_WAITING = 32
MAX_WAITING_BYTES = 128 << 20
MAX_WAIT_SECONDS = 60.0
WALL_SECONDS_PER_CPU_SECOND = 10.0
"""Bounds work that waits for a CPU, or hangs without using one."""


def max_seconds(cpu_seconds: float) -> float:
    """Return the wall time within which `ProcessPool.run` ends, waiting included."""
    return MAX_WAIT_SECONDS + cpu_seconds * WALL_SECONDS_PER_CPU_SECOND


class _Waiter(NamedTuple):
    turn: asyncio.Future[None]
    size_bytes: int


class PoolState(NamedTuple):
    """The work of a pool at one moment."""

    busy: int
    idle: int
    waiting: int
    pids: Sequence[int]
    """The processes, busy and idle."""


class ProcessPool:
    """At most `max_processes` processes, each started when it is first needed.

    Everything is done on behalf of an owner, such as an API key. One owner has at most half of the
    queue, and never the last process of several: at most `max_of_owner`, by default all others.
    Processes take turns between owners.
    """

    def __init__(self, max_processes: int, max_of_owner: int | None = None) -> None:
        self._max_processes = max_processes
        self._max_of_owner = max_of_owner or max(1, max_processes - 1)
        self._running: Counter[str] = Counter()
        self._waiting: dict[str, deque[_Waiter]] = {}
        """Waiters by owner; the owner with the next turn is first."""
        self._idle: list[TaskProcess] = []
        self._busy: set[TaskProcess] = set()
        self._threads = ThreadPoolExecutor(max_processes, "process-pool")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Kill all processes."""
        for worker in self._busy:
            worker.kill()
        while self._idle:
            self._idle.pop().close()
        self._threads.shutdown(wait=False)

    @property
    def state(self) -> PoolState:
        """Return what the pool does now; any thread may ask."""
        busy, idle = [*self._busy], [*self._idle]
        pids = [worker.pid for worker in busy + idle if worker.pid]
        return PoolState(len(busy), len(idle), sum(map(len, [*self._waiting.values()])), pids)

    async def run(
        self,
        function: Callable[[*A], T],
        *arguments: *A,
        cpu_seconds: float,
        cpu_message: str = PARSE_MESSAGE,
        owner: str = "",
        size_bytes: int = 0,
        progress: Callable[[float, str], None] = ignore_progress,
    ) -> T:
        """Return or raise what `function` returns or raises in another process.

        `size_bytes` is what the call holds in memory while it waits. What `function` reports with
        `report_progress` goes to `progress`, in a thread. Raises ServiceBusyError if the queue is
        full or the call waited too long, CpuTimeExceededError, WorkerDiedError.
        """
        with Span("wait process"):
            await self._wait_for_turn(owner, size_bytes)
        try:
            with Span(f"process {name_of(function)}"):
                outcome = await self._run_task(
                    Task(function, arguments, cpu_seconds, cpu_message), progress
                )
        except TimeoutError as error:
            raise ServiceBusyError from error
        finally:
            self._end_turn(owner)
        if outcome.error is not None:
            raise outcome.error
        result: T = outcome.result
        return result

    async def _run_task(self, task: Task, progress: Callable[[float, str], None]) -> Outcome:
        loop = asyncio.get_running_loop()
        worker = await self._take_worker()
        self._busy.add(worker)
        wall_seconds = task.cpu_seconds * WALL_SECONDS_PER_CPU_SECOND
        try:
            outcome = await loop.run_in_executor(
                self._threads, worker.run, task, wall_seconds, progress
            )
        except asyncio.CancelledError:
            worker.kill()  # the thread ends with the process
            raise
        finally:
            self._busy.discard(worker)
        if outcome.is_reusable:
            self._idle.append(worker)
        return outcome

    async def _take_worker(self) -> TaskProcess:
        while self._idle:
            worker = self._idle.pop()
            if worker.is_alive():
                return worker
            worker.close()
        # If this is cancelled, nothing refers to the process that was started, so it ends.
        return await asyncio.get_running_loop().run_in_executor(self._threads, TaskProcess)

    async def _wait_for_turn(self, owner: str, size_bytes: int) -> None:
        if self._has_process_for(owner):  # then none waits that could have it
            self._running[owner] += 1
            return
        own = self._waiting.get(owner, ())
        everyones = [waiter for waiters in self._waiting.values() for waiter in waiters]
        for waiters, share in ((everyones, 1), (own, 2)):
            waiting_bytes = sum(waiter.size_bytes for waiter in waiters) + size_bytes
            if len(waiters) >= MAX_WAITING // share or waiting_bytes > MAX_WAITING_BYTES // share:
                raise ServiceBusyError
        waiter = _Waiter(asyncio.get_running_loop().create_future(), size_bytes)
        self._waiting.setdefault(owner, deque()).append(waiter)
        try:
            async with asyncio.timeout(MAX_WAIT_SECONDS):
                await waiter.turn
        except BaseException as error:
            if waiter.turn.done() and not waiter.turn.cancelled():
                self._end_turn(owner)  # which just came
            elif waiter in (waiters := self._waiting.get(owner, deque())):
                waiters.remove(waiter)
                if not waiters:
                    del self._waiting[owner]
            if isinstance(error, TimeoutError):
                raise ServiceBusyError from error
            raise

    def _end_turn(self, owner: str) -> None:
        self._running[owner] -= 1
        if not self._running[owner]:
            del self._running[owner]
        self._start_next()

    def _has_process_for(self, owner: str) -> bool:
        return (
            self._running.total() < self._max_processes
            and self._running[owner] < self._max_of_owner
        )

    def _start_next(self) -> None:
        """Give free processes to the next owners."""
        while (owner := next(filter(self._has_process_for, self._waiting), None)) is not None:
            waiters = self._waiting.pop(owner)
            waiter = waiters.popleft()
            if waiters:
                self._waiting[owner] = waiters  # its next turn comes after those of the others
            if not waiter.turn.done():  # else it was cancelled
                self._running[owner] += 1
                waiter.turn.set_result(None)


async def run_on_drawing(
    pool: ProcessPool, function: Callable[[bytes], T], svg: bytes, owner: str = ""
) -> T:
    """Return what `function` makes of a drawing in a process of the pool.

    Raises MalformedDocumentError, RefusedDocumentError and ServiceBusyError.
    """
    try:
        return await pool.run(
            function, svg, cpu_seconds=MAX_PARSE_CPU_SECONDS, owner=owner, size_bytes=len(svg)
        )
    except DocumentRejectedError as error:
        raise RefusedDocumentError(str(error)) from error
    except ParsingError as error:
        raise MalformedDocumentError(str(error), line=error.line, column=error.column) from error
