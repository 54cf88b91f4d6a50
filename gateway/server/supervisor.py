"""Start worker processes on the same listening sockets, replace dead ones, drain all together."""

import contextlib
import logging
import os
import pickle
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence

from gateway.errors import StartError
from gateway.limits import arrival_table
from gateway.server.config import ServerConfig
from gateway.server.worker import EXIT_FORCED, READY_MESSAGE, WorkerOrders
from storage.cache import write_counter

# With -m the module would exist twice, as __main__ and under its name.
_WORKER_PROGRAM = "from gateway.server.worker import main; main()"
_RESPAWN_SECONDS = 1.0
_GRACE_SECONDS = 5
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)

_logger = logging.getLogger("floorgate.server")


class WorkerProcess:
    """A worker process and the channel on which it reports that it serves, or why it cannot.

    The channel is a socket pair. The worker drains itself when our end closes, so that no
    worker outlives a supervisor that was killed. The worker runs in its own session, which the
    terminal's Ctrl-C does not reach: only the supervisor signals it.
    """

    def __init__(
        self,
        server_config: ServerConfig,
        listeners: Sequence[socket.socket],
        slot: write_counter.CounterSlot,
        arrivals_fd: int,
    ) -> None:
        self.slot_number = slot.number
        self.channel, worker_end = socket.socketpair()
        self.channel.setblocking(False)
        self.message = b""
        descriptors = [listener.fileno() for listener in listeners]
        with worker_end:
            orders = WorkerOrders(
                server_config, descriptors, worker_end.fileno(), slot, arrivals_fd
            )
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", _WORKER_PROGRAM],
                stdin=subprocess.PIPE,
                stdout=sys.stderr.fileno(),  # standard output carries only the `ready` line
                pass_fds=[*descriptors, worker_end.fileno(), slot.descriptor, arrivals_fd],
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
        assert self.process.stdin is not None
        # This never blocks: the pipe's buffer is large enough. A worker that has died already
        # is reaped like any other.
        with contextlib.suppress(BrokenPipeError), self.process.stdin as pipe:
            pipe.write(pickle.dumps(orders))

    @property
    def is_ready(self) -> bool:
        return self.message == READY_MESSAGE

    def read_channel(self) -> None:
        """Read what the worker has reported since the last call."""
        with contextlib.suppress(BlockingIOError):
            while received := self.channel.recv(4096):
                self.message += received

    def failure_reason(self) -> str:
        """Return why a worker exited before it served."""
        self.read_channel()
        if self.message:
            return self.message.decode(errors="replace")
        return f"A worker exited with status {self.process.returncode} before it served"


class Supervisor:
    """Run the workers until a signal arrives. Must run in the main thread."""

    def __init__(
        self,
        server_config: ServerConfig,
        listeners: Sequence[socket.socket],
        *,
        workers: int,
        on_ready: Callable[[], None],
    ) -> None:
        self._server_config = server_config
        self._listeners = listeners
        self._on_ready = on_ready
        self._selector = selectors.DefaultSelector()
        self._ready_announced = False
        self._exit_times: list[float] = []
        self._workers: list[WorkerProcess] = []
        self._worker_count = workers
        self._write_counter_fd = write_counter.create_shared_memory(workers)
        self._arrivals_fd = arrival_table.create_shared_memory()

    def run(self) -> int:
        """Run until a signal and return the exit status, 0 when drained. Raises StartError."""
        with self._catch_signals() as signals:
            try:
                for _ in range(self._worker_count):
                    self._start_worker()
                self._watch_workers(signals)
                return self._drain(signals)
            finally:
                self._signal_workers(signal.SIGKILL)

    def _watch_workers(self, signals: socket.socket) -> None:
        """Replace workers that exit, until a signal asks to stop."""
        while not _stop_requested(signals):
            self._selector.select(self._seconds_until_respawn())
            for worker in self._workers:
                worker.read_channel()
            self._reap_workers()
            if not self._ready_announced and all(worker.is_ready for worker in self._workers):
                self._ready_announced = True
                self._on_ready()
            while self._exit_times and self._seconds_until_respawn() == 0:
                self._exit_times.pop(0)
                self._start_worker()

    def _start_worker(self) -> None:
        taken = {worker.slot_number for worker in self._workers}
        number = next(number for number in range(self._worker_count) if number not in taken)
        slot = write_counter.CounterSlot(self._write_counter_fd, number)
        worker = WorkerProcess(self._server_config, self._listeners, slot, self._arrivals_fd)
        self._workers.append(worker)
        self._selector.register(worker.channel, selectors.EVENT_READ)

    def _seconds_until_respawn(self) -> float | None:
        """Return the delay before a dead worker is replaced, so that a crash loop stays slow."""
        if not self._exit_times:
            return None
        return max(0.0, self._exit_times[0] + _RESPAWN_SECONDS - time.monotonic())

    def _reap_workers(self) -> None:
        """Remove the workers that exited. Raises StartError if one failed to start and the
        service never served before, or no other worker serves now."""
        for worker in self._list_exited():
            self._selector.unregister(worker.channel)
            self._workers.remove(worker)
            others_serve = self._ready_announced and any(other.is_ready for other in self._workers)
            if not worker.is_ready and not others_serve:
                raise StartError(worker.failure_reason())
            fields = {"worker_pid": worker.process.pid, "exit_status": worker.process.returncode}
            _logger.error("A worker died and is replaced", extra={"fields": fields})
            worker.channel.close()
            self._exit_times.append(time.monotonic())

    def _list_exited(self) -> list[WorkerProcess]:
        return [worker for worker in self._workers if worker.process.poll() is not None]

    def _drain(self, signals: socket.socket) -> int:
        """Stop the workers gracefully, or at once on another SIGINT. Return the exit status."""
        for listener in self._listeners:
            listener.close()
        self._signal_workers(signal.SIGTERM)
        deadline = time.monotonic() + self._server_config.drain_seconds + 2 * _GRACE_SECONDS
        while len(self._list_exited()) < len(self._workers):
            if time.monotonic() > deadline:
                _logger.error("Killing workers that did not stop in time")
                return 0
            if signal.SIGINT in _read_signals(signals):
                return EXIT_FORCED
            time.sleep(0.02)
        return 0

    def _signal_workers(self, number: int) -> None:
        for worker in self._workers:
            if worker.process.poll() is None:
                worker.process.send_signal(number)
                if number == signal.SIGKILL:
                    worker.process.wait()

    @contextlib.contextmanager
    def _catch_signals(self) -> Generator[socket.socket, None, None]:
        """Yield a socket, watched by the selector, that receives each signal's number as a byte."""
        reading, writing = socket.socketpair()
        reading.setblocking(False)
        writing.setblocking(False)
        self._selector.register(reading, selectors.EVENT_READ)
        previous = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
        previous_descriptor = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        try:
            yield reading
        finally:
            signal.set_wakeup_fd(previous_descriptor)
            for number, handler in previous.items():
                signal.signal(number, handler)
            self._selector.close()
            reading.close()
            writing.close()


def _read_signals(signals: socket.socket) -> bytes:
    try:
        return signals.recv(4096)
    except BlockingIOError:
        return b""


def _stop_requested(signals: socket.socket) -> bool:
    return any(number in (signal.SIGINT, signal.SIGTERM) for number in _read_signals(signals))
