"""uvicorn's server as a worker runs it: it reports that it serves, and drains on a signal."""

import asyncio
import contextlib
import gc
import logging
import signal
import socket
import time
from collections.abc import Callable, Generator
from pathlib import Path
from types import FrameType
from typing import Any, cast

import uvicorn

from gateway.server import tls
from gateway.server.config import AppWithFastPath, ServerConfig
from gateway.server.connections.connection_table import ConnectionTable
from gateway.server.connections.listener import Listener
from gateway.server.protocol import HttpProtocol, build_http_protocol
from gateway.server.supervision.orders import (
    GRACE_SECONDS,
    MAX_LONG_TASK_SECONDS,
    RETIRE_SIGNAL,
)
from gateway.server.websocket_protocol import (
    MAX_MESSAGE_BYTES,
    PING_SECONDS,
    WebSocketProtocol,
)

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, RETIRE_SIGNAL)
_YOUNG_OBJECTS = 10_000
"""New objects after which the youngest are collected: a millisecond of work at most."""
_POLL_SECONDS = 0.05
_IDLE_SECONDS = 1.0
"""For requests that are on their way on idle connections when the service stops."""
_RETIRED_IDLE_SHARE = 0.8
"""Of the drain seconds: a worker that was replaced closes no idle connection before."""

_logger = logging.getLogger("floorgate.server")


class UvicornServer(uvicorn.Server):
    """uvicorn's server that reports when it serves, and returns after a signal."""

    def __init__(
        self,
        server_config: ServerConfig,
        application: AppWithFastPath,
        table: ConnectionTable,
        on_ready: Callable[[], None],
    ) -> None:
        super().__init__(build_uvicorn_config(server_config, application))
        self._server_config = server_config
        self._on_stop = application.on_stop
        self._on_drain = application.on_drain
        self._warm_up = application.warm_up
        self._warming_up: asyncio.Task[None] | None = None
        self._get_long_tasks = application.get_long_tasks
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
            if self._warm_up is not None:
                await self._warm_up()
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
        self._on_drain()
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
                for protocol in cast(list[HttpProtocol], list(self.server_state.connections)):
                    protocol.close_if_idle()
            await asyncio.sleep(_POLL_SECONDS)

    def _get_spared_tasks(self) -> frozenset[asyncio.Task[Any]]:
        return self._get_long_tasks() if self._waits_for_long_tasks() else frozenset()

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
            self._on_stop()
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
    server_config: ServerConfig, application: AppWithFastPath
) -> uvicorn.Config:
    """Configure uvicorn: our protocol and log, and no headers added by uvicorn."""
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
            application.base_url,
            application.websocket_paths,
            application.fast_path_by_body,
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
        timeout_keep_alive=server_config.limits.keep_alive_seconds,
        **secure,
    )
