"""A process that runs one piece of work after another."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from contextvars import ContextVar
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from resolvers.processes.cpu_limit import (
    MAX_CPU_OVERRUN,
    PARSE_MESSAGE,
    CpuTimeExceededError,
    kill_after_cpu_time,
    limit_cpu_time,
)
from resolvers.processes.memory_limit import (
    MAX_TASK_BYTES,
    MEMORY_MESSAGE,
    MemoryExceededError,
    limit_memory,
    read_resident_bytes,
)

NICENESS = 10
"""Lets the serving processes run first when all cores are busy."""
MAX_IDLE_BYTES = 128 << 20
"""A process that keeps more memory than this ends after its work."""
MAX_END_SECONDS = 10.0
"""A process that has closed its connection ends within this time."""
NO_MEMORY_EXIT_CODES = (127, -signal.SIGABRT)
"""How the dynamic linker and C++ end a process that gets no memory."""

Progress = tuple[float, str]
_parent: ContextVar[Connection] = ContextVar("parent")
"""In a process that runs tasks: where their outcomes go."""


class WorkerDiedError(Exception):
    """The process ended in the middle of its work; it was killed, perhaps for lack of memory."""


class Task(NamedTuple):
    """A function of a module with its arguments; all must pickle."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    cpu_seconds: float
    cpu_message: str = PARSE_MESSAGE


class Outcome(NamedTuple):
    """What a task returned or raised, and whether its process takes another."""

    result: Any
    error: Exception | None
    is_reusable: bool


def ignore_progress(share: float, step: str) -> None:
    """Ignore what a task reports of its progress."""


class WorkerProcess:
    """Starts a process: in a thread, as this takes a while.

    It ends with its parent, no matter how that ends, and when nothing refers to this object.
    """

    def __init__(self) -> None:
        # "spawn": the gateway has threads, and a forked copy of one that holds a lock would
        # deadlock.
        spawn = multiprocessing.get_context("spawn")
        self._connection, other_end = spawn.Pipe()
        self._process = spawn.Process(target=_run_tasks, args=(other_end,), daemon=True)
        self._process.start()
        other_end.close()  # else this end would not see the end of the process

    def run(
        self,
        task: Task,
        max_seconds: float,
        progress: Callable[[float, str], None] = ignore_progress,
    ) -> Outcome:
        """Run a task and wait for its outcome, in a thread. Close the process if it was the last.

        Raises TimeoutError if there is none after `max_seconds` of wall time, and why the
        process ended: CpuTimeExceededError, MemoryExceededError or WorkerDiedError.
        """
        is_reusable = False
        deadline = time.monotonic() + max_seconds
        try:
            # A process that just starts does not read yet: this waits once the pipe is full.
            self._connection.send(task)
            while not isinstance(outcome := self._receive(deadline), Outcome):
                progress(*outcome)
            is_reusable = outcome.is_reusable
        except (EOFError, ConnectionError) as error:
            self._process.join(MAX_END_SECONDS)
            raise self._explain_death(task) from error
        finally:
            if not is_reusable:
                self.close()
        return outcome

    def _receive(self, deadline: float) -> Progress | Outcome:
        if not self._connection.poll(max(0.0, deadline - time.monotonic())):
            raise TimeoutError
        received: Progress | Outcome = self._connection.recv()
        return received

    def _explain_death(self, task: Task) -> Exception:
        self._process.join(MAX_END_SECONDS)
        if self._process.exitcode == -signal.SIGVTALRM:
            return CpuTimeExceededError(task.cpu_message.format(task.cpu_seconds))
        if self._process.exitcode in NO_MEMORY_EXIT_CODES:
            return MemoryExceededError(MEMORY_MESSAGE.format(MAX_TASK_BYTES))
        return WorkerDiedError(
            "The process was killed while it worked, perhaps for lack of memory."
        )

    def is_alive(self) -> bool:
        """Return whether the process runs."""
        return self._process.is_alive()

    def kill(self) -> None:
        """Kill the process; a thread in `run` gets a WorkerDiedError."""
        self._process.kill()

    def close(self) -> None:
        """Kill the process and wait for its end. Nothing may be in `run`."""
        self._process.kill()
        self._process.join()
        self._connection.close()


def report_progress(share: float, step: str) -> None:
    """Send the progress of a task to where its outcome goes, while it runs."""
    _parent.get().send((share, step))


def _run_tasks(connection: Connection) -> None:
    _parent.set(connection)
    os.nice(NICENESS)
    # Ctrl-C in a terminal reaches this process too, but its parent still needs it to drain.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    outcome = Outcome(None, None, is_reusable=True)
    while outcome.is_reusable:
        try:
            outcome = _run_task(connection.recv())
            connection.send(outcome)
        except (EOFError, ConnectionError):
            return  # the parent has ended


def _run_task(task: Task) -> Outcome:
    result, raised = None, None
    try:
        kill_after_cpu_time(MAX_CPU_OVERRUN * task.cpu_seconds)
        with limit_memory(MAX_TASK_BYTES), limit_cpu_time(task.cpu_seconds, task.cpu_message):
            result = task.function(*task.arguments)
    except Exception as error:
        raised = error
    finally:
        kill_after_cpu_time(0)
    return Outcome(result, raised, is_reusable=read_resident_bytes() <= MAX_IDLE_BYTES)
