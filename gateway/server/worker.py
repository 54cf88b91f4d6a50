"""One serving process: uvicorn on sockets already bound, drained on SIGTERM or SIGINT."""

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
from pathlib import Path
from types import FrameType
from typing import Any, cast

import uvicorn
import uvloop
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.errors import StartError, TlsError
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
from gateway.server.http_connection import HttpConnection
from gateway.server.websocket_connection import (
    MAX_MESSAGE_BYTES,
    PING_SECONDS,
    WebSocketProtocol,
)
from storage.mongo.shared_memory import WriteCounter

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, RETIRE_SIGNAL)
_YOUNG_OBJECTS = 10_000
"""New objects after which the youngest are collected: a millisecond of work at most."""
_POLL_SECONDS = 0.05
_IDLE_SECONDS = 1.0
"""The time for requests that are on their way on idle connections when the service stops."""
_RETIRED_IDLE_SHARE = 0.8
"""The share of the drain seconds in which a worker that was replaced closes no idle connection."""

_logger = logging.getLogger("floorgate.server")


class UvicornServer(uvicorn.Server):
    """uvicorn's server that reports when it serves, and returns after a signal.

    `guard` wraps the ASGI application that is served.
    """

    def __init__(
        self,
        server_config: ServerConfig,
        application: Application,
        guard: "LifespanGuard",
        table: ConnectionTable,
        on_ready: Callable[[], None],
    ) -> None:
        super().__init__(build_uvicorn_config(server_config, application, guard))
        self._server_config = server_config
        self._application = application
        self._warming_up: asyncio.Task[None] | None = None
        self.on_long_tasks: Callable[[], None] = lambda: None
        """Called if the server has to wait for long tasks when it has drained."""
        self._table = table
        self._on_ready = on_ready
        self._serve_task: asyncio.Task[Any] | None = None
        self._accept_until = 0.0
        """When to stop accepting connections, once a signal has come."""
        self._idle_seconds = 0.0
        """How long idle connections stay open then."""
        self._long_tasks_until = 0.0
        """When to cancel long tasks too: only a reload waits for them after draining."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._serve_task = asyncio.current_task()
        if self.should_exit:
            return
        await super().startup(sockets)
        if self.started and not self.should_exit:
            set_up_garbage_collection()
            self._on_ready()
            self._warming_up = asyncio.create_task(self._complete_start())

    async def _complete_start(self) -> None:
        """Prepare what was left out to be ready early."""
        try:
            await self._application.warm_up()
        except Exception:  # requests prepare what they need, and report why they cannot
            _logger.exception("What later requests need could not be prepared")
        finally:
            gc.freeze()  # that, too, is there for ever

    async def on_tick(self, counter: int) -> bool:
        should_exit = await super().on_tick(counter)
        return should_exit and (self.force_exit or time.monotonic() >= self._accept_until)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._warming_up is not None:
            self._warming_up.cancel()
        for server in self.servers:
            server.close()
        for listener in sockets or ():
            listener.close()
        self._application.end_streams()
        await self._drain(self._server_config.drain_seconds)
        if long_tasks := self._get_spared_tasks():
            await self._wait_for_long_tasks(long_tasks)
            has_ended = long_tasks.isdisjoint(self.server_state.tasks)
            await self._drain(GRACE_SECONDS if has_ended else 0)
        try:
            async with asyncio.timeout(GRACE_SECONDS):
                if not self.force_exit:
                    await self.lifespan.shutdown()
        except TimeoutError:
            _logger.error("The application did not stop in time")

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
        while (len(self._table) or self.server_state.tasks) and not self.force_exit:
            await super().on_tick(0)  # responses have the current date
            if time.monotonic() >= accepted_until + self._idle_seconds:
                for listener in cast(list[Listener], self.servers):
                    listener.close_silent_connections()
                for connection in cast(list[HttpConnection], list(self.server_state.connections)):
                    connection.close_if_idle()
            await asyncio.sleep(_POLL_SECONDS)

    def _get_spared_tasks(self) -> frozenset[asyncio.Task[Any]]:
        return self._application.get_long_tasks() if self._waits_for_long_tasks() else frozenset()

    def _waits_for_long_tasks(self) -> bool:
        return time.monotonic() < self._long_tasks_until and not self.force_exit

    async def _wait_for_long_tasks(self, tasks: frozenset[asyncio.Task[Any]]) -> None:
        """Wait until they have ended, responses included, or it is too late."""
        self.on_long_tasks()
        _logger.info("Waiting for imports and maps in progress, which the reload does not end")
        while self._waits_for_long_tasks() and not tasks.isdisjoint(self.server_state.tasks):
            await asyncio.sleep(_POLL_SECONDS)

    async def _cancel_requests(self) -> None:
        """Let the application answer 503 to the requests that take too long."""
        if tasks := list(self.server_state.tasks - self._get_spared_tasks()):
            _logger.error("%d requests did not end in time", len(tasks))
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks, timeout=GRACE_SECONDS)

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Handle signals as uvicorn does, without raising them again: draining exits with 0.

        Ignore them afterwards. A service that stops may signal a worker that a reload has retired
        while that one ends, and it would be killed before its last log lines are written.
        """
        for number in STOP_SIGNALS:
            signal.signal(number, self.handle_exit)
        try:
            yield
        finally:
            for number in STOP_SIGNALS:
                signal.signal(number, signal.SIG_IGN)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        is_first = not self.should_exit
        super().handle_exit(sig, frame)
        self._table.is_draining = True
        drain_seconds = self._server_config.drain_seconds
        now = time.monotonic()
        if sig == RETIRE_SIGNAL:
            self._long_tasks_until = now + MAX_LONG_TASK_SECONDS
            self._idle_seconds = _RETIRED_IDLE_SHARE * drain_seconds
        else:
            self._long_tasks_until = min(self._long_tasks_until, now + drain_seconds)
            self._idle_seconds = min(_IDLE_SECONDS, drain_seconds / 2)
            self._application.announce_stop()
            if is_first and sig == signal.SIGTERM:  # Ctrl-C involves no balancer
                self._accept_until = now + self._server_config.drain_notice_seconds
        if self._serve_task is not None and not self.started:  # do not wait for the start
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


def build_uvicorn_config(
    server_config: ServerConfig, application: Application, guard: "LifespanGuard"
) -> uvicorn.Config:
    """Configure uvicorn: our protocol and log, and no headers added by uvicorn."""
    certificate = server_config.certificate
    secure: dict[str, Any] = {}
    if certificate is not None:
        context = tls.create_ssl_context(Path(certificate[0]), Path(certificate[1]))
        secure["ssl_context_factory"] = lambda config, default: context
    return uvicorn.Config(
        guard,
        http=cast(
            Any,
            functools.partial(HttpConnection, application, guard.app, server_config.proxy_hops),
        ),
        ws=WebSocketProtocol,
        ws_max_size=MAX_MESSAGE_BYTES,
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PING_SECONDS,
        ws_per_message_deflate=False,  # its state takes more memory than all else of a WebSocket
        lifespan="on",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        headers=list(server_config.headers),
        **secure,
    )


_RESERVED_FILES = 256


class EventLoop(uvloop.Loop):
    """An event loop that accepts connections within limits, and bounds TLS handshakes.

    `headers` are sent with the 503 to connections beyond the limits.
    """

    def __init__(
        self,
        table: ConnectionTable | None = None,
        headers: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__()
        self.connections = ConnectionTable(ConnectionLimits()) if table is None else table
        self._headers = headers

    async def create_server(self, *args: Any, **options: Any) -> Any:
        """Accept the connections of the socket `sock`, as uvicorn asks for."""
        [create_protocol] = args
        tls_options = {}
        if options.get("ssl") is not None:
            tls_options = {
                "ssl": options["ssl"],
                "ssl_handshake_timeout": self.connections.limits.handshake_seconds,
                # A slow reader may need that long for what is left; the table closes slower ones.
                "ssl_shutdown_timeout": self.connections.limits.body_seconds,
            }
        return Listener(
            create_protocol, options["sock"], self.connections, self._headers, **tls_options
        )


class LifespanGuard:
    """Wrap an application and record the exception that prevented its start.

    HTTP requests go to the application itself.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.error: Exception | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._run_lifespan(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _run_lifespan(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the lifespan. Frameworks put tracebacks into its messages: do not pass these on."""
        started = False
        failure: Exception | None = None

        async def watch(message: Message) -> None:
            nonlocal started, failure
            if message["type"].endswith(".failed"):
                failure = StartError(message.get("message", ""))
                return
            started = started or message["type"] == "lifespan.startup.complete"
            await send(message)

        try:
            await self.app(scope, receive, watch)
        except asyncio.CancelledError:
            return
        except Exception as error:
            failure = error
        if failure is not None and started:
            _logger.error("The application did not stop cleanly", exc_info=failure)
        elif failure is not None:
            self.error = failure
            await send({"type": "lifespan.startup.failed"})


def run_worker(
    server_config: ServerConfig,
    listeners: Sequence[socket.socket],
    shared: SharedMemory,
    on_ready: Callable[[], None],
    on_long_tasks: Callable[[], None] = lambda: None,
) -> int:
    """Serve until SIGTERM, SIGINT or `RETIRE_SIGNAL`, drain, and return 0.

    After `RETIRE_SIGNAL`, long tasks may take longer than draining: `on_long_tasks` is called then.
    Returns `EXIT_FORCED` on a second SIGINT. Must run in the main thread. Raises StartError if the
    application cannot start.
    """
    limits = bound_by_open_files(server_config.limits, _raise_open_file_limit())
    try:
        application = server_config.create_application(shared)
        guard = LifespanGuard(application.build_app())
        table = ConnectionTable(limits)
        server = UvicornServer(server_config, application, guard, table, on_ready)
        server.on_long_tasks = on_long_tasks
    except Exception as error:
        raise _to_start_error(error) from error
    try:
        with asyncio.Runner(loop_factory=lambda: EventLoop(table, server_config.headers)) as runner:
            runner.run(server.serve(list(listeners)))
    except asyncio.CancelledError:
        return 0  # stopped while it was starting
    except SystemExit:
        raise _to_start_error(guard.error) from guard.error
    return EXIT_FORCED if server.force_exit else 0


def _to_start_error(error: BaseException | None) -> StartError:
    if isinstance(error, (StartError, TlsError)):
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
        )
    except StartError as error:
        channel.sendall(str(error).encode())
        sys.exit(EXIT_START_FAILED)
