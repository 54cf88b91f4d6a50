"""Several worker processes on the same listening sockets: started, replaced, drained together."""

import contextlib
import logging
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence

import orjson

from gateway.errors import StartError
from gateway.server.worker import EXIT_FORCED, READY_MESSAGE, WRITE_COUNTER_VARIABLE, GatewayService
from storage.cache import write_counter

_WORKER_PROGRAM = (
    "from gateway.server.worker import main; main()"  # with -m the module would exist twice
)
_RESPAWN_SECONDS = 1.0
_GRACE_SECONDS = 5
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)

_logger = logging.getLogger("floorgate.server")


class WorkerProcess:
    """A worker process and the channel on which it says that it serves, or why it cannot.

    The channel is a socket pair: the worker drains itself when our end closes, so that no
    worker outlives a supervisor that was killed. A session of its own keeps the terminal's
    Ctrl-C away from it; the supervisor alone decides.
    """

    def __init__(
        self,
        service: GatewayService,
        listeners: Sequence[socket.socket],
        environment: Mapping[str, str],
        slot: write_counter.Slot,
    ) -> None:
        self.slot_number = slot.number
        self.channel, theirs = socket.socketpair()
        self.channel.setblocking(False)
        self.message = b""
        descriptors = [listener.fileno() for listener in listeners]
        given = {"service": service, "listeners": descriptors, "channel": theirs.fileno()}
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", _WORKER_PROGRAM, orjson.dumps(given).decode()],
                stdin=subprocess.DEVNULL,
                stdout=sys.stderr.fileno(),  # standard output belongs to the `ready` line
                pass_fds=[*descriptors, theirs.fileno(), slot.descriptor],
                start_new_session=True,
                env={
                    **os.environ,
                    **environment,
                    WRITE_COUNTER_VARIABLE: f"{slot.descriptor} {slot.number}",
                    "PYTHONPATH": os.pathsep.join(sys.path),
                },
            )

    @property
    def is_ready(self) -> bool:
        return self.message == READY_MESSAGE

    def read_channel(self) -> None:
        """Takes in what the worker has said since."""
        with contextlib.suppress(BlockingIOError):
            while heard := self.channel.recv(4096):
                self.message += heard

    def failure_reason(self) -> str:
        """Why a worker that never served ended."""
        self.read_channel()
        if self.message:
            return self.message.decode(errors="replace")
        return f"A worker ended with status {self.process.returncode} before it served"


class Supervisor:
    """Runs the workers until a signal ends them. Must run in the main thread."""

    def __init__(
        self,
        service: GatewayService,
        listeners: Sequence[socket.socket],
        *,
        workers: int,
        environment: Mapping[str, str],
        on_ready: Callable[[], None],
    ) -> None:
        self._service = service
        self._listeners = listeners
        self._environment = environment
        self._on_ready = on_ready
        self._selector = selectors.DefaultSelector()
        self._ready_announced = False
        self._exit_times: list[float] = []
        self._workers: list[WorkerProcess] = []
        self._worker_count = workers
        self._write_counter_fd = write_counter.create_shared_memory(workers)

    def run(self) -> int:
        """The exit status: 0 when drained; `StartError` when the workers cannot serve."""
        with self._catch_signals() as signals:
            try:
                for _ in range(self._worker_count):
                    self._start_worker()
                self._watch_workers(signals)
                return self._drain(signals)
            finally:
                self._signal_workers(signal.SIGKILL)

    def _watch_workers(self, signals: socket.socket) -> None:
        """Keeps the workers at their number, until a signal asks for the end."""
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
        place = write_counter.Slot(self._write_counter_fd, number)
        worker = WorkerProcess(self._service, self._listeners, self._environment, place)
        self._workers.append(worker)
        self._selector.register(worker.channel, selectors.EVENT_READ)

    def _seconds_until_respawn(self) -> float | None:
        """Seconds until a missing worker is replaced: not at once, lest a fault spin."""
        if not self._exit_times:
            return None
        return max(0.0, self._exit_times[0] + _RESPAWN_SECONDS - time.monotonic())

    def _reap_workers(self) -> None:
        """Notes the workers that died. A first start that fails ends the service, and so does a
        replacement that cannot start when no other worker serves."""
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
        """Ends the workers after what they are answering; a further Ctrl-C ends them at once."""
        for listener in self._listeners:
            listener.close()
        self._signal_workers(signal.SIGTERM)
        deadline = time.monotonic() + self._service.drain_seconds + 2 * _GRACE_SECONDS
        while len(self._list_exited()) < len(self._workers):
            if time.monotonic() > deadline:
                _logger.error("Workers that did not stop in time are killed")
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
        """A socket on which the numbers of signals arrive as bytes, watched by the selector."""
        reading, writing = socket.socketpair()
        reading.setblocking(False)
        writing.setblocking(False)
        self._selector.register(reading, selectors.EVENT_READ)
        previous = {each: signal.signal(each, lambda number, frame: None) for each in _SIGNALS}
        previous_descriptor = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        try:
            yield reading
        finally:
            signal.set_wakeup_fd(previous_descriptor)
            for each, handler in previous.items():
                signal.signal(each, handler)
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
