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

from gateway import logs, tls
from gateway.errors import StartError, TlsError
from gateway.protocol import ProtocolLimits, http_protocol

READY = b"\0"
"""What a worker writes to its channel once it serves; anything else is why it cannot."""
TALLY = "FLOORGATE_TALLY"
"""The variable that tells a worker which memory it counts its writes in, and at which place."""
START_FAILED = 3
"""Exit status of a worker process whose application did not start."""
FORCED = 128 + signal.SIGINT
"""Exit status after a second SIGINT."""
_GRACE_SECONDS = 5  # for the application's own shutdown, after the time to drain

_logger = logging.getLogger("floorgate.server")


@dataclass(frozen=True)
class Service:
    """What is served and how. It travels to worker processes as JSON."""

    application: str
    """Import string `module:factory` of a function without arguments that returns an ASGI app."""
    certificate: tuple[str, str] | None = None
    """Paths of certificate and key; None serves plain HTTP."""
    limits: ProtocolLimits = field(default_factory=ProtocolLimits)
    drain_seconds: int = 10
    headers: tuple[tuple[str, str], ...] = ()
    """Sent with every response, those that the protocol makes itself included."""
    log_level: str = "info"
    log_format: logs.Format = "json"


class Loop(uvloop.Loop):
    """An event loop whose TLS handshakes have a deadline (the default is a minute)."""

    handshake_seconds = 10.0

    async def create_server(self, *args: Any, **options: Any) -> Any:
        if options.get("ssl") is not None:
            options.setdefault("ssl_handshake_timeout", self.handshake_seconds)
            options.setdefault("ssl_shutdown_timeout", self.handshake_seconds)
        return await super().create_server(*args, **options)


class Server(uvicorn.Server):
    """uvicorn's server that says when it serves, and whose signals end in a plain return."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._serving: asyncio.Task[Any] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._serving = asyncio.current_task()
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
        if self._serving is not None and not self.started:  # no use in waiting for the start
            self._serving.get_loop().call_soon_threadsafe(self._serving.cancel)


class _Watched:
    """The application, and the exception that kept it from starting."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.error: Exception | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
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


def run(service: Service, listeners: Sequence[socket.socket], on_ready: Callable[[], None]) -> int:
    """Serves until SIGTERM or SIGINT, drains and returns 0, or `FORCED` after a second SIGINT.

    Raises `StartError` when the application cannot start. Must run in the main thread.
    """
    _allow_many_connections()
    try:
        app = _Watched(import_from_string(service.application)())
        server = Server(_configuration(service, app), on_ready)
    except Exception as error:
        raise _start_error(error) from error
    try:
        with asyncio.Runner(loop_factory=Loop) as runner:
            runner.run(server.serve(list(listeners)))
    except asyncio.CancelledError:
        return 0  # stopped while it was starting
    except SystemExit:
        raise _start_error(app.error) from app.error
    return FORCED if server.force_exit else 0


def _configuration(service: Service, app: _Watched) -> uvicorn.Config:
    certificate = service.certificate
    secure: dict[str, Any] = {}
    if certificate is not None:
        context = tls.context(Path(certificate[0]), Path(certificate[1]))
        secure["ssl_context_factory"] = lambda config, default: context
    return uvicorn.Config(
        app,
        http=http_protocol(service.limits, getattr(app.app, "shortcut", None)),
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


def _start_error(error: BaseException | None) -> StartError:
    if isinstance(error, (StartError, TlsError)):
        return StartError(str(error))
    _logger.critical("The service cannot start", exc_info=error)
    return StartError(f"The service cannot start: {type(error).__name__}: {error}")


def _allow_many_connections() -> None:
    """Raises the soft limit on open files, often 1,024, to the hard one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _follow_parent(channel: socket.socket, service: Service) -> None:
    """Drains this process once the supervisor's end of the channel is gone, however it went."""
    with contextlib.suppress(OSError):
        channel.recv(1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(service.drain_seconds + 2 * _GRACE_SECONDS)
    os._exit(1)


def main() -> None:
    """The worker process, started by the supervisor with its orders as JSON."""
    given = orjson.loads(sys.argv[1])
    limits = ProtocolLimits(**given["service"].pop("limits"))
    service = Service(**given["service"], limits=limits)
    channel = socket.socket(fileno=given["channel"])
    channel.set_inheritable(False)
    logs.configure(service.log_level, service.log_format)
    threading.Thread(target=_follow_parent, args=(channel, service), daemon=True).start()
    listeners = [socket.socket(fileno=descriptor) for descriptor in given["listeners"]]
    try:
        run(service, listeners, on_ready=lambda: channel.sendall(READY))
    except StartError as error:
        channel.sendall(str(error).encode())
        sys.exit(START_FAILED)
