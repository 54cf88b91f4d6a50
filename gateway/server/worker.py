"""One serving process: uvicorn on sockets already bound, drained on SIGTERM or SIGINT."""

import asyncio
import contextlib
import dataclasses
import logging
import os
import pickle
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import uvloop
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.errors import StartError, TlsError
from gateway.limits.arrival_table import ArrivalTables
from gateway.server import logs
from gateway.server.config import (
    ConnectionLimits,
    ServerConfig,
    SharedMemory,
)
from gateway.server.connections.connection_table import ConnectionTable
from gateway.server.connections.listener import Listener
from gateway.server.supervision.orders import (
    EXIT_FORCED,
    EXIT_START_FAILED,
    LONG_TASKS_MESSAGE,
    READY_MESSAGE,
    WorkerOrders,
    max_stop_seconds,
)
from gateway.server.uvicorn_server import UvicornServer
from storage.mongo.shared_memory import WriteCounter

_RESERVED_FILES = 256
_logger = logging.getLogger("floorgate.server")


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


class _LifespanGuard:
    """Wrap an application and record the exception that prevented its start."""

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
        guard = _LifespanGuard(application.asgi_app)
        table = ConnectionTable(limits)
        server = UvicornServer(server_config, application._replace(asgi_app=guard), table, on_ready)
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
