"""One serving process: uvicorn on sockets that are already bound, drained by SIGTERM or SIGINT."""

import asyncio
import contextlib
import gc
import logging
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import orjson
import uvicorn
import uvloop
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.importer import import_from_string

from gateway.errors import StartError, TlsError
from gateway.server import logs, tls
from gateway.server.protocol import ConnectionLimits, build_http_protocol

READY_MESSAGE = b"\0"
"""What a worker writes to its channel once it serves; anything else is why it cannot."""
WRITE_COUNTER_VARIABLE = "FLOORGATE_TALLY"
"""The variable that tells a worker which memory it counts its writes in, and at which place."""
EXIT_START_FAILED = 3
"""Exit status of a worker process whose application did not start."""
EXIT_FORCED = 128 + signal.SIGINT
"""Exit status after a second SIGINT."""
_GRACE_SECONDS = 5  # for the application's own shutdown, after the time to drain

_logger = logging.getLogger("floorgate.server")


@dataclass(frozen=True)
class GatewayService:
    """What is served and how. It travels to worker processes as JSON."""

    application: str
    """Import string `module:factory` of a function without arguments that returns an ASGI app."""
    certificate: tuple[str, str] | None = None
    """Paths of certificate and key; None serves plain HTTP."""
    limits: ConnectionLimits = field(default_factory=ConnectionLimits)
    drain_seconds: int = 10
    headers: tuple[tuple[str, str], ...] = ()
    """Sent with every response, those that the protocol makes itself included."""
    log_level: str = "info"
    log_format: logs.LogFormat = "json"


class EventLoop(uvloop.Loop):
    """An event loop whose TLS handshakes have a deadline (the default is a minute)."""

    handshake_seconds = 10.0

    async def create_server(self, *args: Any, **options: Any) -> Any:
        if options.get("ssl") is not None:
            options.setdefault("ssl_handshake_timeout", self.handshake_seconds)
            options.setdefault("ssl_shutdown_timeout", self.handshake_seconds)
        return await super().create_server(*args, **options)


class UvicornServer(uvicorn.Server):
    """uvicorn's server that says when it serves, and whose signals end in a plain return."""

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
            gc.freeze()  # what is here by now stays: no later collection need look at it
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
        """As uvicorn's, but without raising the signals again: a drained service exits with 0."""
        signals = (signal.SIGINT, signal.SIGTERM)
        previous = {each: signal.signal(each, self.handle_exit) for each in signals}
        try:
            yield
        finally:
            for each, handler in previous.items():
                signal.signal(each, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        if self._serve_task is not None and not self.started:  # no use in waiting for the start
            self._serve_task.get_loop().call_soon_threadsafe(self._serve_task.cancel)


class _LifespanGuard:
    """The application, and the exception that kept it from starting."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.error: Exception | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._run_lifespan(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _run_lifespan(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Keeps tracebacks, which frameworks put into their messages, away from the user."""
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
    service: GatewayService, listeners: Sequence[socket.socket], on_ready: Callable[[], None]
) -> int:
    """Serves until SIGTERM or SIGINT, drains and returns 0, or `FORCED` after a second SIGINT.

    Raises `StartError` when the application cannot start. Must run in the main thread.
    """
    _raise_open_file_limit()
    try:
        app = _LifespanGuard(import_from_string(service.application)())
        server = UvicornServer(_uvicorn_config(service, app), on_ready)
    except Exception as error:
        raise _to_start_error(error) from error
    try:
        with asyncio.Runner(loop_factory=EventLoop) as runner:
            runner.run(server.serve(list(listeners)))
    except asyncio.CancelledError:
        return 0  # stopped while it was starting
    except SystemExit:
        raise _to_start_error(app.error) from app.error
    return EXIT_FORCED if server.force_exit else 0


def _uvicorn_config(service: GatewayService, app: _LifespanGuard) -> uvicorn.Config:
    certificate = service.certificate
    secure: dict[str, Any] = {}
    if certificate is not None:
        context = tls.create_ssl_context(Path(certificate[0]), Path(certificate[1]))
        secure["ssl_context_factory"] = lambda config, default: context
    return uvicorn.Config(
        app,
        http=build_http_protocol(service.limits, getattr(app.app, "fast_path", None)),
        ws="none",
        lifespan="on",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        headers=list(service.headers),
        timeout_keep_alive=service.limits.keep_alive_seconds,
        timeout_graceful_shutdown=service.drain_seconds,
        **secure,
    )


def _to_start_error(error: BaseException | None) -> StartError:
    if isinstance(error, (StartError, TlsError)):
        return StartError(str(error))
    _logger.critical("The service cannot start", exc_info=error)
    return StartError(f"The service cannot start: {type(error).__name__}: {error}")


def _raise_open_file_limit() -> None:
    """Raises the soft limit on open files, often 1,024, to the hard one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _exit_with_parent(channel: socket.socket, service: GatewayService) -> None:
    """Drains this process once the supervisor's end of the channel is gone, however it went."""
    with contextlib.suppress(OSError):
        channel.recv(1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(service.drain_seconds + 2 * _GRACE_SECONDS)
    os._exit(1)


def main() -> None:
    """The worker process, started by the supervisor with its orders as JSON."""
    given = orjson.loads(sys.argv[1])
    limits = ConnectionLimits(**given["service"].pop("limits"))
    service = GatewayService(**given["service"], limits=limits)
    channel = socket.socket(fileno=given["channel"])
    channel.set_inheritable(False)
    logs.configure_logging(service.log_level, service.log_format)
    threading.Thread(target=_exit_with_parent, args=(channel, service), daemon=True).start()
    listeners = [socket.socket(fileno=descriptor) for descriptor in given["listeners"]]
    try:
        run_worker(service, listeners, on_ready=lambda: channel.sendall(READY_MESSAGE))
    except StartError as error:
        channel.sendall(str(error).encode())
        sys.exit(EXIT_START_FAILED)
