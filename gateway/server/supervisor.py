"""The supervisor starts worker processes, replaces dead ones, reloads and drains all."""

import contextlib
import functools
import logging
import os
import pickle
import selectors
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from gateway import metrics, rate_limits
from gateway.errors import StartError
from gateway.server import logs
from gateway.server.config import (
    EXIT_FORCED,
    LONG_TASKS_MESSAGE,
    MAX_LONG_TASK_SECONDS,
    READY_MESSAGE,
    RETIRE_SIGNAL,
    ServerConfig,
    WorkerOrders,
    max_stop_seconds,
)
from storage.mongo import shared_memory
from storage.mongo.shared_memory import CounterSlot

if TYPE_CHECKING:
    from gateway.server.metrics_server import MetricsServer
    from gateway.server.plain_server import PlainServer

# What systemd passes to a service, and what a service tells it (sd_listen_fds, sd_notify).


_FIRST_DESCRIPTOR = 3


def has_systemd_listeners() -> bool:
    """Return whether systemd has opened the listening sockets, and keeps them."""
    return os.environ.get("LISTEN_PID") == str(os.getpid())


def take_listeners() -> list[socket.socket]:
    """Return the listening sockets that systemd opened for this process, if any."""
    if not has_systemd_listeners():
        return []
    count = int(os.environ.get("LISTEN_FDS", "0"))
    listeners = [socket.socket(fileno=_FIRST_DESCRIPTOR + number) for number in range(count)]
    for listener in listeners:
        listener.set_inheritable(False)
    return listeners


def notify_systemd(state: str) -> None:
    """Tell systemd the state of the service, if that has started it."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):  # an abstract address
        address = "\0" + address[1:]
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
        channel.sendto(state.encode(), address)


_SO_ATTACH_FILTER = 26
_PASS_UNLESS_SYN = struct.pack(
    "=" + 4 * "HBBI",
    *(0x30, 0, 0, 13),  # load the byte of the TCP header that has the flags
    *(0x45, 0, 1, 0x02),  # unless SYN is set, skip the next line
    *(0x06, 0, 0, 0),  # drop the packet
    *(0x06, 0, 0, 0xFFFF_FFFF),  # take it
)


def stop_handshakes(listener: socket.socket) -> None:
    """Let no more connections begin; those that have begun can still be accepted (Linux).

    The kernel resets what waits when a listening socket is closed, and a client cannot know whether
    a request was processed. A client whose SYN is dropped sends it again a second later, and is
    refused then, so it knows. The filter is a program for BPF, see filter(7).
    """
    if sys.platform == "linux":
        import ctypes

        program = ctypes.create_string_buffer(_PASS_UNLESS_SYN, len(_PASS_UNLESS_SYN))
        with contextlib.suppress(OSError):
            listener.setsockopt(
                socket.SOL_SOCKET,
                _SO_ATTACH_FILTER,
                struct.pack("HP", len(program) // 8, ctypes.addressof(program)),
            )


# SIGHUP: the supervisor replaces its program by a new one in place, with the same process id.
#
# Sockets, shared memory and workers pass from one program to the next as open descriptors, whose
# numbers are in an environment variable. Both programs may be of adjacent releases. First another
# process checks whether the new program would start. See docs/decisions/server/restarts.md.


_HANDOVER_VARIABLE = "FLOORGATE_HANDOVER"
_HANDLED_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)


class WorkerState(msgspec.Struct):
    """A running worker. Descriptors are those of the process that replaces its program."""

    pid: int
    channel: int
    slot: int


class Handover(msgspec.Struct):
    """What a program leaves to the next one of the same process."""

    fixed_options: dict[str, str]
    """Options that the new program must have too."""
    listeners: list[int]
    workers: list[WorkerState]
    stop_seconds: int
    """How long these workers may take to stop."""
    slots: int
    """The number of slots of the write counter."""
    write_counter: int
    arrivals: int
    memory_bytes: tuple[int, int]
    """The sizes of the write counter and of the arrival tables."""
    metrics_listeners: list[int] = []
    metrics: int | None = None
    """The memory of metrics, if they are served."""
    is_check: bool = False
    """True if to check only if this program could take over."""

    @property
    def descriptors(self) -> list[int]:
        """All that stay open from one program to the next."""
        channels = [worker.channel for worker in self.workers]
        memory = filter(None, [self.write_counter, self.arrivals, self.metrics])
        return [*self.listeners, *self.metrics_listeners, *channels, *memory]

    def check(
        self, fixed_options: Mapping[str, str], workers: int, memory_bytes: tuple[int, int]
    ) -> None:
        """Raise StartError if a program with these options, sharing so much, cannot take over."""
        for option, value in fixed_options.items():
            before = self.fixed_options.get(option, "none")
            if value != before:
                raise StartError(
                    f"{option} cannot change from {before} to {value} while the service runs:"
                    " restart it"
                )
        if workers > (room := self.slots - len(self.workers)):
            raise StartError(
                f"--workers can be {room} at most while the service runs: restart it for more"
            )
        if memory_bytes != self.memory_bytes:
            raise StartError(_OTHER_RELEASE)


_OTHER_RELEASE = "This release cannot take over from the one that runs: restart the service"


@functools.cache
def receive_handover() -> Handover | None:
    """Return what the previous program of this process has left, None if there was none.

    Signals wait until the supervisor handles them: all of them in a program that takes over, which
    begins so, and SIGHUP in any, since it would end the process. Raises StartError.
    """
    encoded = os.environ.pop(_HANDOVER_VARIABLE, None)
    if encoded is None:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGHUP])
        return None
    try:
        handover = msgspec.json.decode(encoded, type=Handover)
    except msgspec.MsgspecError as error:
        raise StartError(_OTHER_RELEASE) from error
    if not handover.is_check:
        for descriptor in handover.descriptors:
            os.set_inheritable(descriptor, False)
    return handover


def replace_program(handover: Handover, signals: socket.socket) -> None:
    """Replace the program of this process. Returns only if that fails, by raising OSError.

    Signals wait until the new program handles them: before, they would end the process. Those that
    were not handled yet are raised again, to wait with them.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _HANDLED_SIGNALS)
    for number in {*_read_signals(signals)}.intersection(_HANDLED_SIGNALS):
        signal.raise_signal(number)
    for descriptor in handover.descriptors:
        os.set_inheritable(descriptor, True)
    environment = {**os.environ, _HANDOVER_VARIABLE: msgspec.json.encode(handover).decode()}
    try:
        os.execve(sys.executable, _build_command(), environment)  # noqa: S606, the same program again
    finally:
        for descriptor in handover.descriptors:
            os.set_inheritable(descriptor, False)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED_SIGNALS)


def _build_command() -> list[str]:
    return [sys.executable, *sys.orig_argv[1:]]


_CHECK_SECONDS = 60.0


class ProgramCheck:
    """A process that checks whether the new program could take over."""

    def __init__(self, handover: Handover) -> None:
        self.ends_at = time.monotonic() + _CHECK_SECONDS
        to_check = msgspec.structs.replace(handover, is_check=True)
        with tempfile.TemporaryFile() as errors:
            self._errors = os.dup(errors.fileno())
            self._process = subprocess.Popen(
                _build_command(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
                env={**os.environ, _HANDOVER_VARIABLE: msgspec.json.encode(to_check).decode()},
            )

    @property
    def has_finished(self) -> bool:
        """True if the result is known, or has taken too long."""
        return self._process.poll() is not None or time.monotonic() >= self.ends_at

    def finish(self) -> str | None:
        """End the check, and return what is wrong with the new program; None if nothing is."""
        took_too_long = self._process.poll() is None
        self._process.kill()
        status = self._process.wait()
        with os.fdopen(self._errors, "rb") as errors:
            errors.seek(0)
            lines = errors.read().decode(errors="replace").strip().splitlines()
        if status == 0:
            return None
        if took_too_long:
            return f"The new program was not checked within {_CHECK_SECONDS:.0f} seconds"
        reason = lines[-1].removeprefix("Error: ") if lines else ""
        return reason or f"The new program ended with status {status}"


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
        self.poll(options=0)

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


class SupervisedWorker:
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
        metrics_fd: int | None,
    ) -> "SupervisedWorker":
        """Start a worker in a session of its own, which the terminal's Ctrl-C does not reach."""
        channel, worker_end = socket.socketpair()
        descriptors = [listener.fileno() for listener in listeners]
        with worker_end:
            end = worker_end.fileno()
            orders = WorkerOrders(server_config, descriptors, end, slot, arrivals_fd, metrics_fd)
            memory = filter(None, [slot.descriptor, arrivals_fd, metrics_fd])
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", WORKER_PROGRAM],
                stdin=subprocess.PIPE,
                stdout=sys.stderr.fileno(),  # standard output carries only the `ready` line
                pass_fds=[*descriptors, end, *memory],
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
        assert process.stdin is not None
        # This never blocks: the pipe's buffer is large enough. A worker that has died already
        # is reaped like any other.
        with contextlib.suppress(BrokenPipeError), process.stdin as pipe:
            pipe.write(pickle.dumps(orders))
        return cls(process, channel, slot.number)

    @property
    def is_ready(self) -> bool:
        return self.message == READY_MESSAGE

    @property
    def has_long_tasks(self) -> bool:
        """True if it has drained, but for imports or processing of maps."""
        return self.message == READY_MESSAGE + LONG_TASKS_MESSAGE

    @property
    def has_exited(self) -> bool:
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
        self.read_channel()
        if self.message:
            return self.message.decode(errors="replace")
        return f"A worker exited with status {self.process.returncode} before it served"


MIN_SLOTS = 32
"""The fewest slots of the write counter: two generations of workers, even more of them, fit."""
_RESPAWN_SECONDS = 1.0

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
        metrics_listeners: Sequence[socket.socket] = (),
    ) -> None:
        self._server_config = server_config
        self._listeners = listeners
        self._metrics_listeners = metrics_listeners
        self._on_ready = on_ready
        self._fixed_options = dict(fixed_options or {})
        self._predecessor = predecessor
        self._selector = selectors.DefaultSelector()
        self._exit_times: list[float] = []
        self._worker_count = workers
        self._is_complete = False
        """True if all workers have served since the start or the reload."""
        self._workers: list[SupervisedWorker] = []
        self._previous: list[SupervisedWorker] = []
        """Workers of the previous program, which serve until the new ones do."""
        self._retired: list[SupervisedWorker] = []
        """Workers that drain, because others have taken their place."""
        self._retired_at = 0.0
        self._reload_requested = False
        self._check: ProgramCheck | None = None
        self._stand_in: PlainServer | None = None
        self._metrics_server: MetricsServer | None = None
        if predecessor is None:
            self._slots = max(MIN_SLOTS, 2 * workers)
            self._write_counter_fd = shared_memory.create_shared_memory(self._slots)
            self._arrivals_fd = rate_limits.create_shared_memory()
            has_metrics = bool(metrics_listeners)
            self._metrics_fd = metrics.create_shared_memory(self._slots) if has_metrics else None
        else:
            self._slots = predecessor.slots
            self._write_counter_fd = predecessor.write_counter
            self._arrivals_fd = predecessor.arrivals
            self._metrics_fd = predecessor.metrics
            for state in predecessor.workers:
                process, channel = AdoptedProcess(state.pid), socket.socket(fileno=state.channel)
                worker = SupervisedWorker(process, channel, state.slot, READY_MESSAGE)
                self._previous.append(worker)
                self._selector.register(channel, selectors.EVENT_READ)
        if self._metrics_fd is not None:
            from gateway.server import metrics_server  # only here: it takes memory

            memory = metrics.SnapshotMemory(self._metrics_fd)
            self._metrics_server = metrics_server.MetricsServer(
                metrics_listeners, memory, self._slots, self._count_workers
            )

    @property
    def _all_workers(self) -> list[SupervisedWorker]:
        return [*self._workers, *self._previous, *self._retired]

    def _count_workers(self) -> dict[str, int]:
        """Return how many workers do what. Called in the thread of the metrics."""
        serving = [each.is_ready for each in self._workers + self._previous]
        counts = {"starting": serving.count(False), "serving": serving.count(True)}
        return {**counts, "draining": len(self._retired)}

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
                self._reload_requested = True
                if self._retired:
                    _logger.info("Another reload begins when the workers from before have ended")
            for worker in self._workers + self._retired:
                worker.read_channel()
            self._reap_workers()
            serving = sum(worker.is_ready for worker in self._workers)
            if not self._is_complete and serving == self._worker_count == len(self._workers):
                self._complete_start()
            self._answer_without_workers()
            self._continue_reload(signals)
            while self._exit_times and self._exit_times[0] + _RESPAWN_SECONDS <= time.monotonic():
                self._exit_times.pop(0)
                self._respawn_worker()
            self._selector.select(self._seconds_until_due())

    def _answer_without_workers(self) -> None:
        """Have requests answered 503 while no worker serves, unless the service never has."""
        serves = any(worker.is_ready for worker in self._workers + self._previous)
        if self._stand_in is not None and serves:
            self._stand_in.stop()
            self._stand_in = None
            _logger.warning("A worker serves again")
        elif self._stand_in is None and not serves and (self._is_complete or self._predecessor):
            try:
                from gateway.server.stand_in import start_stand_in  # only here: it takes memory

                self._stand_in = start_stand_in(self._server_config, self._listeners)
            except Exception as error:  # as for lack of memory: workers matter more
                _logger.error("Requests cannot be answered: %s", error)

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
        worker = SupervisedWorker.start(
            self._server_config, self._listeners, slot, self._arrivals_fd, self._metrics_fd
        )
        self._workers.append(worker)
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
            if self._metrics_server is not None:
                self._metrics_server.remove(worker.slot_number, self._find_exit_reason(worker))
            if worker in self._retired:
                self._retired.remove(worker)
            elif worker in self._previous:
                self._previous.remove(worker)
                _log_death(worker, "A worker of the previous program died")
            else:
                self._replace_worker(worker)
            worker.channel.close()

    def _find_exit_reason(self, worker: SupervisedWorker) -> str:
        if worker in self._retired:
            return "reload"
        if not worker.is_ready:
            return "start_failed"
        return "killed" if (worker.process.returncode or 0) < 0 else "exited"

    def _replace_worker(self, worker: SupervisedWorker) -> None:
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
        notify_systemd("READY=1")

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
        notify_systemd("READY=1")

    def _retire(self, workers: Sequence[SupervisedWorker]) -> None:
        for worker in workers:
            worker.send_signal(RETIRE_SIGNAL)
        self._retired.extend(workers)
        self._retired_at = time.monotonic()

    def _kill_time(self, retired: SupervisedWorker) -> float:
        """Return when a retired worker has had enough time to stop."""
        assert self._predecessor is not None
        seconds = max(self._predecessor.stop_seconds, max_stop_seconds(self._server_config))
        return self._retired_at + seconds + MAX_LONG_TASK_SECONDS * retired.has_long_tasks

    def _continue_reload(self, signals: socket.socket) -> None:
        """Check the new program and start it. A reload that is in progress ends first."""
        if self._check is not None and self._check.has_finished:
            reason = self._check.finish()
            self._check = None
            if reason is not None:
                _log_failed_reload(reason)
                notify_systemd("READY=1")
            elif not self._reload_requested:  # else something has changed since: check again
                self._replace_program(signals)
        is_settled = self._is_complete and not self._retired and self._check is None
        if self._reload_requested and is_settled:
            self._reload_requested = False
            _logger.info("Reloading")
            notify_systemd(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")
            try:
                self._check = ProgramCheck(self._build_handover())
            except OSError as error:
                _log_failed_reload(f"The new program could not be checked: {error}")
                notify_systemd("READY=1")

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
            metrics_listeners=[listener.fileno() for listener in self._metrics_listeners],
            metrics=self._metrics_fd,
        )

    def _replace_program(self, signals: socket.socket) -> None:
        """Become the new program, or log why not."""
        for worker in self._workers:
            if not worker.is_ready:  # the new program would not know it
                worker.send_signal(signal.SIGKILL)
        self._stop_stand_in()
        handover = self._build_handover()
        if self._metrics_server is not None:
            self._metrics_server.save()
        logging.shutdown()  # write the waiting lines
        try:
            replace_program(handover, signals)
        except OSError as error:
            config = self._server_config
            logs.configure_logging(config.log_level, config.log_format, config.log_file)
            _log_failed_reload(f"{error.filename}: {error.strerror}")

    # Stopping

    def _drain(self, signals: socket.socket, number: int) -> int:
        """Stop the workers gracefully, or at once on another SIGINT. Return the exit status."""
        notify_systemd("STOPPING=1")
        gives_notice = number == signal.SIGTERM and self._server_config.drain_notice_seconds
        notice_ends = time.monotonic() + self._server_config.drain_notice_seconds
        if not gives_notice:
            self._close_listeners()
        for worker in self._all_workers:  # a second SIGINT would end a retired one at once
            worker.send_signal(signal.SIGTERM if worker in self._retired else number)
        deadline = time.monotonic() + max_stop_seconds(self._server_config)
        while not all([worker.has_exited for worker in self._all_workers]):
            if time.monotonic() > deadline:
                _logger.error("Killing workers that did not stop in time")
                return 0
            if signal.SIGINT in _read_signals(signals):
                return EXIT_FORCED
            if time.monotonic() >= notice_ends:
                self._close_listeners()
            time.sleep(0.02)
        self._stop_stand_in()
        return 0

    def _close_listeners(self) -> None:
        """Let go of the sockets: those of workers go on for a moment."""
        for listener in self._listeners:
            if not has_systemd_listeners():
                stop_handshakes(listener)
            listener.close()
        self._listeners = ()

    def _stop_stand_in(self) -> None:
        if self._stand_in is not None:
            self._stand_in.stop()
            self._stand_in.wait()
            self._stand_in = None

    @contextlib.contextmanager
    def _catch_signals(self) -> Generator[socket.socket, None, None]:
        """Yield a socket, watched by the selector, that receives each signal's number as a byte."""
        reading, writing = socket.socketpair()
        reading.setblocking(False)
        writing.setblocking(False)
        self._selector.register(reading, selectors.EVENT_READ)
        # First, so that no signal is handled by a function that does nothing alone.
        previous_descriptor = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        previous = {
            number: signal.signal(number, lambda *_: None)
            for number in (*_HANDLED_SIGNALS, signal.SIGCHLD)
        }
        before = signal.pthread_sigmask(signal.SIG_UNBLOCK, _HANDLED_SIGNALS)
        try:
            yield reading
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            signal.set_wakeup_fd(previous_descriptor)
            for number, handler in previous.items():
                signal.signal(number, handler)
            self._selector.close()
            reading.close()
            writing.close()


def measure_shared_memory(write_counter_fd: int, arrivals_fd: int) -> tuple[int, int]:
    return os.fstat(write_counter_fd).st_size, os.fstat(arrivals_fd).st_size


def _log_death(worker: SupervisedWorker, message: str) -> None:
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
