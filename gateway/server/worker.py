"""One serving process: on sockets already bound, drained on SIGTERM or SIGINT."""

import asyncio
import contextlib
import dataclasses
import functools
import gc
import logging
import os
import pickle
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from email.utils import formatdate
from pathlib import Path
from types import FrameType
from typing import Any, cast

import uvloop

from gateway import metrics
from gateway.errors import StartError, TlsError
from gateway.exchange import serialize_headers
from gateway.rate_limits import ArrivalTables
from gateway.server import logs, tls
from gateway.server.config import (
    EXIT_FORCED,
    EXIT_START_FAILED,
    GRACE_SECONDS,
    LONG_TASKS_MESSAGE,
    MAX_LONG_TASK_SECONDS,
    READY_MESSAGE,
    RETIRE_SIGNAL,
    Application,
    ConnectionLimits,
    ServerConfig,
    SharedMemory,
    WorkerOrders,
    max_stop_seconds,
)
from gateway.server.connections import ConnectionTable, Listener
from gateway.server.http_connection import HttpConnection, ServerState
from gateway.server.websocket_connection import build_websocket_config
from storage.mongo.shared_memory import WriteCounter

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, RETIRE_SIGNAL)
_YOUNG_OBJECTS = 10_000
"""New objects after which the youngest are collected: a millisecond of work at most."""
_TICK_SECONDS = 0.1
"""The time in which a signal is noticed, and between two looks at the date."""
_POLL_SECONDS = 0.05
_IDLE_SECONDS = 1.0
"""The time for requests that are on their way on idle connections when the service stops."""
_HANDSHAKE_SECONDS = 0.02
"""The time for connections that have begun when the supervisor lets no more begin."""
_RETIRED_IDLE_SHARE = 0.8
"""The share of the drain seconds in which a worker that was replaced closes no idle connection."""

_logger = logging.getLogger("floorgate.server")


class WorkerServer:
    """Serve an application: start it, accept connections, and drain after a signal."""

    def __init__(
        self,
        server_config: ServerConfig,
        application: Application,
        table: ConnectionTable,
        on_ready: Callable[[], None],
        on_long_tasks: Callable[[], None] = lambda: None,
    ) -> None:
        """Call `on_ready` when the server serves.

        Call `on_long_tasks` if it has to wait for long tasks when it has drained.
        """
        self._server_config = server_config
        self._application = application
        self._app = application.build_app()
        certificate = server_config.certificate
        self._tls_context = certificate and tls.create_ssl_context(*map(Path, certificate))
        self._websocket_config = build_websocket_config(self._app)
        self._table = table
        self._on_ready = on_ready
        self._on_long_tasks = on_long_tasks
        self._state = ServerState()
        self._listeners: list[Listener] = []
        self._headers = [(name.encode(), value.encode()) for name, value in server_config.headers]
        self._serve_task: asyncio.Task[Any] | None = None
        self._is_started = False
        self._must_stop = False
        self.is_forced = False
        """True if a second SIGINT has ended the draining."""
        self._accept_until = 0.0
        """When to stop accepting connections, once a signal has come."""
        self._idle_seconds = 0.0
        """How long idle connections stay open then."""
        self._long_tasks_until = 0.0
        """When to cancel long tasks too: only a reload waits for them after draining."""

    async def serve(self, sockets: Sequence[socket.socket]) -> None:
        """Serve until a signal, and drain. Raises StartError."""
        self._serve_task = asyncio.current_task()
        with self._capture_signals():
            await self.serve_until_stopped(sockets)

    async def serve_until_stopped(self, sockets: Sequence[socket.socket]) -> None:
        """Serve until `stop` is called, and drain. Raises StartError."""
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(self._application.run())
            except Exception as error:
                raise _to_start_error(error) from error
            self._is_started = True
            self._renew_headers()
            try:
                self._listeners = [self._listen(sock) for sock in sockets]
            except OSError as error:  # another gateway has bound the port at the same time
                message = f"Cannot listen: {error.strerror}. Choose another --port"
                raise StartError(message) from error
            self._on_ready()
            warming_up = asyncio.create_task(self._warm_up())
            while not self._must_stop or time.monotonic() < self._accept_until:
                due = time.monotonic() + _TICK_SECONDS
                await asyncio.sleep(_TICK_SECONDS)
                metrics.counters.count_tick(max(0.0, time.monotonic() - due))
                self._renew_headers()
                if self.is_forced:
                    break
            warming_up.cancel()
            for listener, sock in zip(self._listeners, sockets, strict=True):
                listener.close()
                sock.close()  # at once: if it is the last one, it resets what waits
            await self._shut_down()
            try:
                async with asyncio.timeout(GRACE_SECONDS):
                    await stack.aclose()
            except TimeoutError:
                _logger.error("The application did not stop in time")
            except Exception as error:
                _logger.error("The application did not stop cleanly", exc_info=error)

    def read_metrics(self) -> metrics.Snapshot:
        """Return all metrics of this process, from any thread."""
        own: metrics.Snapshot = {"connections": {(): len(self._table)}}
        return own | metrics.counters.read() | self._application.read_metrics()

    def _listen(self, sock: socket.socket) -> Listener:
        create_protocol = functools.partial(
            HttpConnection,
            self._application,
            self._app,
            self._state,
            self._websocket_config,
            self._server_config.proxy_hops,
        )
        headers = self._server_config.headers
        return Listener(create_protocol, sock, self._table, headers, self._tls_context)

    def _renew_headers(self) -> None:
        """Have responses tell the date."""
        date = (b"date", formatdate(usegmt=True).encode())
        self._state.default_headers = [date, *self._headers]
        self._state.header_lines = serialize_headers(self._state.default_headers)

    async def _warm_up(self) -> None:
        """Prepare what was left out to be ready early."""
        try:
            await self._application.warm_up()
        except Exception:  # requests prepare what they need, and report why they cannot
            _logger.exception("What later requests need could not be prepared")
        finally:
            gc.freeze()  # that, too, is there for ever

    async def _shut_down(self) -> None:
        self._application.end_streams()
        await self._drain(self._server_config.drain_seconds)
        if long_tasks := self._get_spared_tasks():
            await self._wait_for_long_tasks(long_tasks)
            has_ended = long_tasks.isdisjoint(self._state.tasks)
            await self._drain(GRACE_SECONDS if has_ended else 0)

    async def _drain(self, seconds: float) -> None:
        """Wait for all connections to end; cancel the requests that take too long."""
        try:
            async with asyncio.timeout(seconds):
                await self._wait_for_connections()
        except TimeoutError:
            await self._cancel_requests()

    async def _wait_for_connections(self) -> None:
        """Wait for all connections to end, and close idle ones after a while."""
        accepted_until = time.monotonic()
        while (len(self._table) or self._state.tasks) and not self.is_forced:
            self._renew_headers()
            if time.monotonic() >= accepted_until + self._idle_seconds:
                for listener in self._listeners:
                    listener.close_silent_connections()
                for connection in cast(list[HttpConnection], list(self._state.connections)):
                    connection.close_if_idle()
            await asyncio.sleep(_POLL_SECONDS)

    def _get_spared_tasks(self) -> frozenset[asyncio.Task[Any]]:
        return self._application.get_long_tasks() if self._waits_for_long_tasks() else frozenset()

    def _waits_for_long_tasks(self) -> bool:
        return time.monotonic() < self._long_tasks_until and not self.is_forced

    async def _wait_for_long_tasks(self, tasks: frozenset[asyncio.Task[Any]]) -> None:
        """Wait until they have ended, responses included, or it is too late."""
        self._on_long_tasks()
        _logger.info("Waiting for imports and maps in progress, which the reload does not end")
        while self._waits_for_long_tasks() and not tasks.isdisjoint(self._state.tasks):
            await asyncio.sleep(_POLL_SECONDS)

    async def _cancel_requests(self) -> None:
        """Let the application answer 503 to the requests that take too long."""
        if tasks := list(self._state.tasks - self._get_spared_tasks()):
            _logger.error("%d requests did not end in time", len(tasks))
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=GRACE_SECONDS)

    @contextlib.contextmanager
    def _capture_signals(self) -> Generator[None, None, None]:
        """Drain on a signal.

        Ignore signals afterwards. A service that stops may signal a worker that a reload has
        retired while that one ends, and it would be killed before its last log lines are written.
        """
        for number in STOP_SIGNALS:
            signal.signal(number, self.stop)
        try:
            yield
        finally:
            for number in STOP_SIGNALS:
                signal.signal(number, signal.SIG_IGN)

    def stop(self, number: int, _: FrameType | None = None) -> None:
        """Stop as this signal asks for; a second SIGINT ends the draining."""
        is_first = not self._must_stop
        self.is_forced |= self._must_stop and number == signal.SIGINT
        self._must_stop = self._table.is_draining = True
        drain_seconds = self._server_config.drain_seconds
        now = time.monotonic()
        if number == RETIRE_SIGNAL:
            self._long_tasks_until = now + MAX_LONG_TASK_SECONDS
            self._idle_seconds = _RETIRED_IDLE_SHARE * drain_seconds
        else:
            self._long_tasks_until = min(self._long_tasks_until, now + drain_seconds)
            self._idle_seconds = min(_IDLE_SECONDS, drain_seconds / 2)
            self._application.announce_stop()
            if is_first and number == signal.SIGTERM:  # Ctrl-C involves no balancer
                notice_seconds = self._server_config.drain_notice_seconds
                self._accept_until = now + notice_seconds + _HANDSHAKE_SECONDS
        if self._serve_task is not None and not self._is_started:  # do not wait for the start
            self._serve_task.get_loop().call_soon_threadsafe(self._serve_task.cancel)


def set_up_garbage_collection() -> None:
    """Keep what lives for ever out of collections, and collect less often than Python does.

    Requests leave next to nothing that only a collection frees. By default there is one for every
    700 new objects: several while a long list is read, and each a traversal of what it has so far.
    Collections begin here, before the first request: a worker starts without.
    """
    gc.freeze()  # modules and schema; a collection of what they have left behind takes 0.1 s
    gc.set_threshold(_YOUNG_OBJECTS)
    gc.enable()


_RESERVED_FILES = 256


def run_worker(
    server_config: ServerConfig,
    listeners: Sequence[socket.socket],
    shared: SharedMemory,
    on_ready: Callable[[], None],
    on_long_tasks: Callable[[], None] = lambda: None,
    publish: Callable[[Callable[[], metrics.Snapshot]], AbstractContextManager[Any]] = nullcontext,
) -> int:
    """Serve until SIGTERM, SIGINT or `RETIRE_SIGNAL`, drain, and return 0.

    `publish` returns what shows the metrics to the supervisor meanwhile.
    After `RETIRE_SIGNAL`, long tasks may take longer than draining: `on_long_tasks` is called then.
    Returns `EXIT_FORCED` on a second SIGINT. Must run in the main thread. Raises StartError if the
    application cannot start.
    """
    limits = bound_by_open_files(server_config.limits, _raise_open_file_limit())

    def begin_to_serve() -> None:
        set_up_garbage_collection()
        on_ready()

    try:
        server = WorkerServer(
            server_config,
            server_config.create_application(shared),
            ConnectionTable(limits),
            begin_to_serve,
            on_long_tasks,
        )
    except Exception as error:
        raise _to_start_error(error) from error
    try:
        with (
            publish(server.read_metrics),
            asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
        ):
            runner.run(server.serve(listeners))
    except asyncio.CancelledError:
        return 0  # stopped while it was starting
    return EXIT_FORCED if server.is_forced else 0


def _to_start_error(error: Exception) -> StartError:
    if isinstance(error, (StartError, TlsError)):
        _logger.error("The service cannot start: %s", error)  # for a log file: no error goes there
        return StartError(str(error))
    _logger.critical("The service cannot start", exc_info=error)
    return StartError(f"The service cannot start: {type(error).__name__}: {error}")


def _raise_open_file_limit() -> int:
    """Raise the soft limit on open files, often 1,024, to the hard limit. Return what holds."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def bound_by_open_files(limits: ConnectionLimits, open_files: int) -> ConnectionLimits:
    """Leave descriptors for MongoDB, pipes and files: 256 of them, or half of a lower limit."""
    room = open_files - min(_RESERVED_FILES, open_files // 2)
    if room >= limits.max_connections:
        return limits
    _logger.warning(
        "Fewer connections are accepted than --max-connections says: raise the limit on open files",
        extra={"fields": {"max_connections": room, "open_files": open_files}},
    )
    return dataclasses.replace(limits, max_connections=room)


def _exit_with_parent(channel: socket.socket, server_config: ServerConfig) -> None:
    """Drain this process when the supervisor's end of the channel closes, even by a crash."""
    with contextlib.suppress(OSError):
        channel.recv(1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(max_stop_seconds(server_config))
    os._exit(1)


def main() -> None:
    """Run a worker process that the supervisor has started."""
    # Safe: only the supervisor, the parent of this process, can write to the pipe.
    orders: WorkerOrders = pickle.load(sys.stdin.buffer)  # noqa: S301
    server_config = orders.server_config
    channel = socket.socket(fileno=orders.channel)
    channel.set_inheritable(False)
    threading.Thread(target=_exit_with_parent, args=(channel, server_config), daemon=True).start()
    listeners = [socket.socket(fileno=descriptor) for descriptor in orders.listeners]
    publish: Any = nullcontext
    if orders.metrics is not None:
        memory = metrics.SnapshotMemory(orders.metrics)
        publish = functools.partial(metrics.publishing, memory, orders.slot.number)
    shared = SharedMemory(WriteCounter.attach(orders.slot), ArrivalTables.attach(orders.arrivals))
    try:
        logs.configure_logging(
            server_config.log_level, server_config.log_format, server_config.log_file
        )
        run_worker(
            server_config,
            listeners,
            shared,
            lambda: channel.sendall(READY_MESSAGE),
            lambda: channel.sendall(LONG_TASKS_MESSAGE),
            publish,
        )
    except StartError as error:
        channel.sendall(str(error).encode())
        sys.exit(EXIT_START_FAILED)
