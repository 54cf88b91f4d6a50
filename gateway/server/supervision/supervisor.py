"""Start worker processes on the same listening sockets, replace dead ones, reload and drain all."""

import contextlib
import logging
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable, Generator, Mapping, Sequence

from gateway.errors import StartError
from gateway.limits import arrival_table
from gateway.server import logs
from gateway.server.config import ServerConfig
from gateway.server.supervision import handover, systemd
from gateway.server.supervision.handover import Handover, ProgramCheck, WorkerState
from gateway.server.supervision.orders import (
    EXIT_FORCED,
    MAX_LONG_TASK_SECONDS,
    RETIRE_SIGNAL,
    max_stop_seconds,
)
from gateway.server.supervision.worker_process import WorkerProcess
from storage.mongo import shared_memory

MIN_SLOTS = 32
"""Of the write counter: two generations of workers have one each, also if there will be more."""
_RESPAWN_SECONDS = 1.0
_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)

_logger = logging.getLogger("floorgate.server")


class Supervisor:
    """Run the workers until a signal asks to stop. Must run in the main thread.

    SIGHUP replaces the program of this process. The new program starts its own workers, and lets
    the `previous` ones drain when all of these serve.
    """

    def __init__(
        self,
        server_config: ServerConfig,
        listeners: Sequence[socket.socket],
        *,
        workers: int,
        on_ready: Callable[[], None],
        fixed_options: Mapping[str, str] | None = None,
        predecessor: Handover | None = None,
    ) -> None:
        self._server_config = server_config
        self._listeners = listeners
        self._on_ready = on_ready
        self._fixed_options = dict(fixed_options or {})
        self._predecessor = predecessor
        self._selector = selectors.DefaultSelector()
        self._exit_times: list[float] = []
        self._worker_count = workers
        self._is_complete = False
        """Whether all workers have served since the start or the reload."""
        self._workers: list[WorkerProcess] = []
        self._previous: list[WorkerProcess] = []
        """Workers of the previous program, which serve until the new ones do."""
        self._retired: list[WorkerProcess] = []
        """Workers that drain, because others have taken their place."""
        self._retired_at = 0.0
        self._reload_requested = False
        self._check: ProgramCheck | None = None
        if predecessor is None:
            self._slots = max(MIN_SLOTS, 2 * workers)
            self._write_counter_fd = shared_memory.create_shared_memory(self._slots)
            self._arrivals_fd = arrival_table.create_shared_memory()
        else:
            self._slots = predecessor.slots
            self._write_counter_fd = predecessor.write_counter
            self._arrivals_fd = predecessor.arrivals
            for state in predecessor.workers:
                self._previous.append(WorkerProcess.adopt(state.pid, state.channel, state.slot))
                self._watch_channel(self._previous[-1])

    @property
    def _all_workers(self) -> list[WorkerProcess]:
        return [*self._workers, *self._previous, *self._retired]

    def run(self) -> int:
        """Run until a signal and return the exit status, 0 when drained. Raises StartError."""
        with self._catch_signals() as signals:
            try:
                for _ in range(self._worker_count):
                    self._start_worker()
                return self._drain(signals, self._supervise(signals))
            finally:
                if self._check is not None:
                    self._check.finish()
                for worker in self._all_workers:
                    worker.send_signal(signal.SIGKILL)

    def _supervise(self, signals: socket.socket) -> int:
        """Replace dead workers and reload on SIGHUP. Return the signal that asks to stop."""
        while True:
            received = _read_signals(signals)
            if stop_signals := {signal.SIGTERM, signal.SIGINT}.intersection(received):
                return max(stop_signals)
            if signal.SIGHUP in received:
                self._request_reload()
            for worker in self._workers + self._retired:
                worker.read_channel()
            self._reap_workers()
            if not self._is_complete and self._all_are_ready():
                self._complete_start()
            self._continue_reload(signals)
            while self._exit_times and self._exit_times[0] + _RESPAWN_SECONDS <= time.monotonic():
                self._exit_times.pop(0)
                self._respawn_worker()
            self._selector.select(self._seconds_until_due())

    def _all_are_ready(self) -> bool:
        is_whole = len(self._workers) == self._worker_count
        return is_whole and all(worker.is_ready for worker in self._workers)

    def _respawn_worker(self) -> None:
        """Start a worker in the place of a dead one; later if the machine has no room for it."""
        try:
            self._start_worker()
        except OSError as error:
            _log_failed_worker(str(error))
            self._exit_times.append(time.monotonic())

    def _start_worker(self) -> None:
        taken = {worker.slot_number for worker in self._all_workers}
        number = next(number for number in range(self._slots) if number not in taken)
        slot = shared_memory.CounterSlot(self._write_counter_fd, number)
        worker = WorkerProcess.start(self._server_config, self._listeners, slot, self._arrivals_fd)
        self._workers.append(worker)
        self._watch_channel(worker)

    def _watch_channel(self, worker: WorkerProcess) -> None:
        self._selector.register(worker.channel, selectors.EVENT_READ)

    def _seconds_until_due(self) -> float | None:
        """Return the time until a dead worker is replaced, or a retired one or a check is killed.

        The first is later than its death, so that a crash loop stays slow.
        """
        due = [exited + _RESPAWN_SECONDS for exited in self._exit_times[:1]]
        if self._retired:
            due.append(min(map(self._kill_time, self._retired)))
        if self._check is not None:
            due.append(self._check.ends_at)
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _reap_workers(self) -> None:
        """Remove the workers that exited. Raises StartError if one failed to start and the
        service has never served.
        """
        for worker in self._retired:
            if time.monotonic() >= self._kill_time(worker):
                _logger.error("Killing a worker that did not stop in time")
                worker.send_signal(signal.SIGKILL)
        for worker in [each for each in self._all_workers if each.has_exited]:
            self._selector.unregister(worker.channel)
            if worker in self._retired:
                self._retired.remove(worker)
            elif worker in self._previous:
                self._previous.remove(worker)
                _log_death(worker, "A worker of the previous program died")
            else:
                self._replace_worker(worker)
            worker.channel.close()

    def _replace_worker(self, worker: WorkerProcess) -> None:
        """Have a worker replaced, unless it shows that this program cannot start."""
        self._workers.remove(worker)
        if worker.is_ready:
            _log_death(worker, "A worker died and is replaced")
        elif self._previous:
            self._return_to_previous(worker.failure_reason())
            return
        elif self._is_complete or self._predecessor is not None:
            # It has served: what is wrong now, such as no primary, may pass.
            _log_failed_worker(worker.failure_reason())
        else:
            raise StartError(worker.failure_reason())
        self._exit_times.append(time.monotonic())

    # Reloading

    def _complete_start(self) -> None:
        """Announce that the service is there; after a reload, let the previous workers drain."""
        self._is_complete = True
        if self._predecessor is None:
            self._on_ready()
        else:
            self._retire(self._previous)
            self._previous = []
            _logger.info("Reloaded: new workers serve, and the previous ones finish their requests")
        systemd.notify_ready()

    def _return_to_previous(self, reason: str) -> None:
        """Go on with the workers of the previous program, because the new ones cannot start."""
        assert self._predecessor is not None
        _log_failed_reload(reason)
        self._retire(self._workers)
        self._workers, self._previous = self._previous, []
        self._worker_count = len(self._predecessor.workers)
        missing = self._worker_count - len(self._workers)
        self._exit_times = [time.monotonic()] * missing
        self._is_complete = True
        systemd.notify_ready()

    def _retire(self, workers: Sequence[WorkerProcess]) -> None:
        for worker in workers:
            worker.send_signal(RETIRE_SIGNAL)
        self._retired.extend(workers)
        self._retired_at = time.monotonic()

    def _kill_time(self, retired: WorkerProcess) -> float:
        """Return when a retired worker has had enough time to stop."""
        assert self._predecessor is not None
        seconds = max(self._predecessor.stop_seconds, max_stop_seconds(self._server_config))
        return self._retired_at + seconds + MAX_LONG_TASK_SECONDS * retired.has_long_tasks

    def _request_reload(self) -> None:
        self._reload_requested = True
        if self._retired:
            _logger.info("Another reload begins when the workers from before have ended")

    def _continue_reload(self, signals: socket.socket) -> None:
        """Check the new program and start it. A reload that is in progress ends first."""
        if self._check is not None and self._check.has_finished:
            reason = self._check.finish()
            self._check = None
            if reason is not None:
                _log_failed_reload(reason)
                systemd.notify_ready()
            elif not self._reload_requested:  # else something has changed since: check again
                self._replace_program(signals)
        is_settled = self._is_complete and not self._retired and self._check is None
        if self._reload_requested and is_settled:
            self._reload_requested = False
            _logger.info("Reloading")
            systemd.notify_reloading()
            try:
                self._check = ProgramCheck(self._build_handover())
            except OSError as error:
                _log_failed_reload(f"The new program could not be checked: {error}")
                systemd.notify_ready()

    def _build_handover(self) -> Handover:
        return Handover(
            fixed_options=self._fixed_options,
            listeners=[listener.fileno() for listener in self._listeners],
            workers=[
                WorkerState(worker.process.pid, worker.channel.fileno(), worker.slot_number)
                for worker in self._workers
                if worker.is_ready
            ],
            stop_seconds=max_stop_seconds(self._server_config),
            slots=self._slots,
            write_counter=self._write_counter_fd,
            arrivals=self._arrivals_fd,
            memory_bytes=measure_shared_memory(self._write_counter_fd, self._arrivals_fd),
        )

    def _replace_program(self, signals: socket.socket) -> None:
        """Become the new program, or log why not."""
        for worker in self._workers:
            if not worker.is_ready:  # it would be nobody's
                worker.send_signal(signal.SIGKILL)
        logging.shutdown()  # write the waiting lines
        try:
            handover.replace_program(self._build_handover(), lambda: _read_signals(signals))
        except OSError as error:
            config = self._server_config
            logs.configure_logging(config.log_level, config.log_format, config.log_file)
            _log_failed_reload(f"{error.filename}: {error.strerror}")

    # Stopping

    def _drain(self, signals: socket.socket, number: int) -> int:
        """Stop the workers gracefully, or at once on another SIGINT. Return the exit status."""
        systemd.notify_stopping()
        for listener in self._listeners:
            listener.close()
        for worker in self._all_workers:  # a second SIGINT would end a retired one at once
            worker.send_signal(signal.SIGTERM if worker in self._retired else number)
        deadline = time.monotonic() + max_stop_seconds(self._server_config)
        while not all([worker.has_exited for worker in self._all_workers]):
            if time.monotonic() > deadline:
                _logger.error("Killing workers that did not stop in time")
                return 0
            if signal.SIGINT in _read_signals(signals):
                return EXIT_FORCED
            time.sleep(0.02)
        return 0

    @contextlib.contextmanager
    def _catch_signals(self) -> Generator[socket.socket, None, None]:
        """Yield a socket, watched by the selector, that receives each signal's number as a byte."""
        reading, writing = socket.socketpair()
        reading.setblocking(False)
        writing.setblocking(False)
        self._selector.register(reading, selectors.EVENT_READ)
        # First, so that no signal is handled by a function that does nothing alone.
        previous_descriptor = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        previous = {number: signal.signal(number, lambda *_: None) for number in _SIGNALS}
        writing.send(handover.take_held_signals())
        try:
            yield reading
        finally:
            signal.set_wakeup_fd(previous_descriptor)
            for number, handler in previous.items():
                signal.signal(number, handler)
            self._selector.close()
            reading.close()
            writing.close()


def measure_shared_memory(write_counter_fd: int, arrivals_fd: int) -> tuple[int, int]:
    """Return the sizes of both kinds of memory that workers share."""
    return os.fstat(write_counter_fd).st_size, os.fstat(arrivals_fd).st_size


def _log_death(worker: WorkerProcess, message: str) -> None:
    fields = {"worker_pid": worker.process.pid, "exit_status": worker.process.returncode}
    _logger.error(message, extra={"fields": fields})


def _log_failed_worker(reason: str) -> None:
    message = "A worker could not be started"
    _logger.error(message, extra={"fields": {"reason": reason}})


def _log_failed_reload(reason: str) -> None:
    message = "The reload failed, and the service goes on as before"
    _logger.error(message, extra={"fields": {"reason": reason}})


def _read_signals(signals: socket.socket) -> bytes:
    try:
        return signals.recv(4096)
    except BlockingIOError:
        return b""
