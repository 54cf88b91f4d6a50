"""One serving process: uvicorn on sockets already bound, drained on SIGTERM or SIGINT."""

import asyncio
import contextlib
import dataclasses
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
from typing import Any, NamedTuple

import uvicorn
import uvloop
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.errors import StartError, TlsError
from gateway.limits.arrival_table import ArrivalTables
from gateway.server import logs, tls
from gateway.server.config import (
    AppWithFastPath,
    ConnectionLimits,
    ServerConfig,
    SharedMemory,
)
from gateway.server.connection_table import ConnectionTable
from gateway.server.listener import Listener
from gateway.server.protocol import build_http_protocol
from storage.cache.write_counter import CounterSlot, WriteCounter

READY_MESSAGE = b"\0"
"""Written by a worker to its channel once it serves. Anything else is its start-up error."""
EXIT_START_FAILED = 3
"""Exit status of a worker process if its application did not start."""
EXIT_FORCED = 128 + signal.SIGINT
"""Exit status after a second SIGINT."""
_RESERVED_FILES = 256
_GRACE_SECONDS = 5  # for the application's own shutdown, after draining

_logger = logging.getLogger("floorgate.server")


class WorkerOrders(NamedTuple):
    """The data that the supervisor pickles to a worker's standard input.

    The numbers are file descriptors that the worker inherits. Not sent as command-line arguments,
    which every user of the machine can read: the settings may hold a database password.
    """

    server_config: ServerConfig
    listeners: list[int]
    channel: int
    slot: CounterSlot
    arrivals: int


class EventLoop(uvloop.Loop):
    """An event loop that accepts connections within limits, and bounds TLS handshakes.

    `headers` are sent with the 503 to connections beyond the limits.
    """

    handshake_seconds = 10.0

    def __init__(
        self,
        limits: ConnectionLimits | None = None,
        headers: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__()
        self.connections = ConnectionTable(limits or ConnectionLimits())
        self._headers = headers

    async def create_server(self, *args: Any, **options: Any) -> Any:
        """Accept the connections of the socket `sock`, as uvicorn asks for."""
        [create_protocol] = args
        tls_options = {}
        if options.get("ssl") is not None:
            tls_options = {
                "ssl": options["ssl"],
                "ssl_handshake_timeout": self.handshake_seconds,
                # A slow reader may need that long for what is left; the table closes slower ones.
                "ssl_shutdown_timeout": self.connections.limits.body_seconds,
            }
        return Listener(
            create_protocol, options["sock"], self.connections, self._headers, **tls_options
        )


class UvicornServer(uvicorn.Server):
    """uvicorn's server that reports when it serves, and returns after a signal."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._serve_task: asyncio.Task[Any] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._serve_task = asyncio.current_task()
        if self.should_exit:
            return
        await super().startup(sockets)
        if self.started and not self.should_exit:
            gc.collect()
            gc.freeze()  # modules and schema live for ever: keep them out of later collections
            self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            async with asyncio.timeout(
                (self.config.timeout_graceful_shutdown or 0) + _GRACE_SECONDS
            ):
                await super().shutdown(sockets)
        except TimeoutError:
            _logger.error("The application did not stop in time")

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Handle signals as uvicorn does, without raising them again: draining exits with 0."""
        signals = (signal.SIGINT, signal.SIGTERM)
        previous = {number: signal.signal(number, self.handle_exit) for number in signals}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        if self._serve_task is not None and not self.started:  # do not wait for the start
            self._serve_task.get_loop().call_soon_threadsafe(self._serve_task.cancel)


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
) -> int:
    """Serve until SIGTERM or SIGINT, drain, and return 0, or `EXIT_FORCED` on a second SIGINT.

    Must run in the main thread. Raises StartError if the application cannot start.
    """
    limits = bound_by_open_files(server_config.limits, _raise_open_file_limit())
    try:
        application = server_config.create_application(shared)
        guard = _LifespanGuard(application.asgi_app)
        config = build_uvicorn_config(server_config, application._replace(asgi_app=guard))
        server = UvicornServer(config, on_ready)
    except Exception as error:
        raise _to_start_error(error) from error
    try:
        with asyncio.Runner(
            loop_factory=lambda: EventLoop(limits, server_config.headers)
        ) as runner:
            runner.run(server.serve(list(listeners)))
    except asyncio.CancelledError:
        return 0  # stopped while it was starting
    except SystemExit:
        raise _to_start_error(guard.error) from guard.error
    return EXIT_FORCED if server.force_exit else 0


def build_uvicorn_config(
    server_config: ServerConfig, application: AppWithFastPath
) -> uvicorn.Config:
    """Configure uvicorn: our protocol and log, no WebSockets, no headers added by uvicorn."""
    certificate = server_config.certificate
    secure: dict[str, Any] = {}
    if certificate is not None:
        context = tls.create_ssl_context(Path(certificate[0]), Path(certificate[1]))
        secure["ssl_context_factory"] = lambda config, default: context
    return uvicorn.Config(
        application.asgi_app,
        http=build_http_protocol(
            server_config.limits,
            application.fast_path,
            application.admission,
            server_config.proxy_hops,
        ),
        ws="none",
        lifespan="on",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        headers=list(server_config.headers),
        timeout_keep_alive=server_config.limits.keep_alive_seconds,
        timeout_graceful_shutdown=server_config.drain_seconds,
        **secure,
    )


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
    time.sleep(server_config.drain_seconds + 2 * _GRACE_SECONDS)
    os._exit(1)


def main() -> None:
    """Run a worker process that the supervisor has started."""
    # Safe: only the supervisor, the parent of this process, can write to the pipe.
    orders: WorkerOrders = pickle.load(sys.stdin.buffer)  # noqa: S301
    server_config = orders.server_config
    channel = socket.socket(fileno=orders.channel)
    channel.set_inheritable(False)
    logs.configure_logging(server_config.log_level, server_config.log_format)
    threading.Thread(target=_exit_with_parent, args=(channel, server_config), daemon=True).start()
    listeners = [socket.socket(fileno=descriptor) for descriptor in orders.listeners]
    shared = SharedMemory(WriteCounter.attach(orders.slot), ArrivalTables.attach(orders.arrivals))
    try:
        run_worker(server_config, listeners, shared, lambda: channel.sendall(READY_MESSAGE))
    except StartError as error:
        channel.sendall(str(error).encode())
        sys.exit(EXIT_START_FAILED)
