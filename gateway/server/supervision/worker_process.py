"""A worker process as the supervisor sees it."""

import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence

from gateway.server.config import ServerConfig
from gateway.server.supervision.orders import LONG_TASKS_MESSAGE, READY_MESSAGE, WorkerOrders
from storage.mongo.shared_memory import CounterSlot

# With -m the module would exist twice, as __main__ and under its name. Until a worker is ready, it
# makes hundreds of thousands of objects that stay: looking through them takes a tenth of its start.
# PyMongo would import pyOpenSSL, which we do not install, and cryptography before it, which takes a
# thirtieth.
WORKER_PROGRAM = """
import gc, sys
gc.disable()
sys.modules["pymongo.pyopenssl_context"] = None
from gateway.server.worker import main
main()
"""


class AdoptedProcess:
    """A child that the previous program of this process started; see `subprocess.Popen`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self, options: int = os.WNOHANG) -> int | None:
        """Return the exit status, or None while it runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, options)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self) -> None:
        """Wait until it has ended."""
        self.poll(options=0)

    def send_signal(self, number: int) -> None:
        """Send a signal unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)


class WorkerProcess:
    """A worker process and the channel on which it reports that it serves, or why it cannot.

    The channel is a socket pair. The worker drains itself when our end closes, so that no
    worker outlives a supervisor that was killed.
    """

    def __init__(
        self,
        process: "subprocess.Popen[bytes] | AdoptedProcess",
        channel: socket.socket,
        slot_number: int,
        message: bytes = b"",
    ) -> None:
        self.process = process
        self.channel = channel
        self.slot_number = slot_number
        self.message = message
        channel.setblocking(False)

    @classmethod
    def start(
        cls,
        server_config: ServerConfig,
        listeners: Sequence[socket.socket],
        slot: CounterSlot,
        arrivals_fd: int,
    ) -> "WorkerProcess":
        """Start a worker in a session of its own, which the terminal's Ctrl-C does not reach."""
        channel, worker_end = socket.socketpair()
        descriptors = [listener.fileno() for listener in listeners]
        with worker_end:
            orders = WorkerOrders(
                server_config, descriptors, worker_end.fileno(), slot, arrivals_fd
            )
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", WORKER_PROGRAM],
                stdin=subprocess.PIPE,
                stdout=sys.stderr.fileno(),  # standard output carries only the `ready` line
                pass_fds=[*descriptors, worker_end.fileno(), slot.descriptor, arrivals_fd],
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
        assert process.stdin is not None
        # This never blocks: the pipe's buffer is large enough. A worker that has died already
        # is reaped like any other.
        with contextlib.suppress(BrokenPipeError), process.stdin as pipe:
            pipe.write(pickle.dumps(orders))
        return cls(process, channel, slot.number)

    @classmethod
    def adopt(cls, pid: int, channel: int, slot_number: int) -> "WorkerProcess":
        """Return a worker that serves, and was started by the previous program."""
        return cls(AdoptedProcess(pid), socket.socket(fileno=channel), slot_number, READY_MESSAGE)

    @property
    def is_ready(self) -> bool:
        """Whether it serves."""
        return self.message == READY_MESSAGE

    @property
    def has_long_tasks(self) -> bool:
        """Whether it has drained, but for imports or processing of maps."""
        return self.message == READY_MESSAGE + LONG_TASKS_MESSAGE

    @property
    def has_exited(self) -> bool:
        """Whether the process has ended."""
        return self.process.poll() is not None

    def read_channel(self) -> None:
        """Read what the worker has reported since the last call."""
        with contextlib.suppress(BlockingIOError, ConnectionResetError):
            while received := self.channel.recv(4096):
                self.message += received

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended; after SIGKILL, wait for its end."""
        self.process.send_signal(number)
        if number == signal.SIGKILL:
            self.process.wait()

    def failure_reason(self) -> str:
        """Return why a worker exited before it served."""
        self.read_channel()
        if self.message:
            return self.message.decode(errors="replace")
        return f"A worker exited with status {self.process.returncode} before it served"
