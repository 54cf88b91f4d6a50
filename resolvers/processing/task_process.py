"""A process that runs one piece of work after another, within limits of CPU time and memory."""

import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, Self

from parsing.errors import DocumentRejectedError
from routing.values import ignore_progress

MAX_PARSE_CPU_SECONDS = 20.0
REPEAT_SECONDS = 0.05
"""An exception in a finalizer is lost: after so much more CPU time it is raised again."""
MAX_CPU_OVERRUN = 1.1
"""A process that has used so many times its CPU time ends: it may be in C, which runs on."""
PARSE_MESSAGE = "the drawing takes over {:g} seconds of CPU time to parse; simplify it"


class CpuTimeExceededError(DocumentRejectedError):
    """A document that takes too much CPU time; where it is stopped says nothing about it."""

    def with_position(self, position: tuple[int, int]) -> Self:
        return self


@contextmanager
def limit_cpu_time(
    seconds: float = MAX_PARSE_CPU_SECONDS, message: str = PARSE_MESSAGE
) -> Iterator[None]:
    """Raise CpuTimeExceededError inside the block once the process has used so much CPU time.

    Only for the main thread; only Python code is interrupted: see `kill_after_cpu_time` for the
    rest.
    """

    has_ended = False

    def stop(_: int, __: FrameType | None) -> None:
        if not has_ended:
            raise CpuTimeExceededError(message.format(seconds))

    previous = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds, REPEAT_SECONDS)
    try:
        yield
    finally:
        has_ended = True
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def kill_after_cpu_time(seconds: float) -> None:
    """Let SIGVTALRM kill this process once it has used so much CPU time outside the kernel.

    Unlike RLIMIT_CPU this counts from now, and leaves no core dump.

    >>> kill_after_cpu_time(60)
    >>> kill_after_cpu_time(0)  # never
    """
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)


MAX_TASK_BYTES = 4 << 30
"""Six storeys of 500 rooms take 0.7 GB."""
MEMORY_MESSAGE = (
    "the work needs more than {:,} bytes of memory; simplify the plan or drawing, or divide it"
    " into several"
)
SIGNS_OF_NO_MEMORY = ("bad_alloc", "out of memory")
"""Messages of GEOS and igraph, which raise errors of their own, have one of these."""


class MemoryExceededError(DocumentRejectedError):
    """A document that takes too much memory."""


@contextmanager
def limit_memory(max_bytes: int) -> Iterator[None]:
    """Raise MemoryExceededError if the block takes so much more memory than the process has.

    C code that does not expect this may end the process instead. There is no limit where the system
    does not have Linux's /proc.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if data_bytes := _read_memory(5):
        # Not RLIMIT_AS: threads reserve much address space that they never use.
        limit = data_bytes + max_bytes
        within = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (within, hard))
    try:
        yield
    except Exception as error:
        text = str(error).lower()
        if isinstance(error, MemoryError) or any(sign in text for sign in SIGNS_OF_NO_MEMORY):
            raise MemoryExceededError(MEMORY_MESSAGE.format(max_bytes)) from error
        raise
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _read_memory(column: int) -> int:
    """Return the memory of this process in bytes; 0 where the system does not have Linux's /proc.

    Column 1 is what is resident, and 5 what RLIMIT_DATA limits: what is private and writable.
    """
    # Not `getrusage`: its maximum starts with that of the parent.
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[column]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


NICENESS = 10
"""Lets the serving processes run first when all cores are busy."""
MAX_IDLE_BYTES = 128 << 20
"""A process that keeps more memory than this ends after its work."""
MAX_END_SECONDS = 10.0
"""A process that has closed its connection ends within this time."""
NO_MEMORY_EXIT_CODES = (127, -signal.SIGABRT)
"""The dynamic linker and C++ end a process that gets no memory with these."""

Progress = tuple[float, str]
_parent: ContextVar[Connection] = ContextVar("parent")
"""A process that runs tasks sends their outcomes there."""


class WorkerDiedError(Exception):
    """The process ended in the middle of its work; it was killed, perhaps for lack of memory."""


class Task(NamedTuple):
    """A function of a module with its arguments; all must pickle."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    cpu_seconds: float
    cpu_message: str = PARSE_MESSAGE


class Outcome(NamedTuple):
    """The result or the error of a task, and whether its process takes another."""

    result: Any
    error: Exception | None
    is_reusable: bool


class TaskProcess:
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

    @property
    def pid(self) -> int | None:
        """The id of the process."""
        return self._process.pid

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
    return Outcome(result, raised, is_reusable=_read_memory(1) <= MAX_IDLE_BYTES)
