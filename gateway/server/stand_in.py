"""Answer 503 while no worker serves, in a thread of the supervisor.

Imports little, because the supervisor needs it early and short of memory: the response is written
here anew, and not by what workers use. See docs/decisions/server/restarts.md.
"""

import asyncio
import contextlib
import logging
import os
import socket
import ssl
import threading
from collections.abc import Sequence
from email.utils import formatdate
from pathlib import Path

import msgspec

from gateway.errors import TlsError
from gateway.server import tls
from gateway.server.config import ServerConfig
from storage.errors import UnavailableCause

MAX_CONNECTIONS = 100
"""Further ones wait in the kernel's queue."""
_RETRY_SECONDS = 1.0
_PIECE_BYTES = 1 << 16
_logger = logging.getLogger("floorgate.server")
_access_log = logging.getLogger("floorgate.access")


class StandIn:
    """Accepts connections until it is stopped, and answers the first request of each."""

    def __init__(self, server_config: ServerConfig, listeners: Sequence[socket.socket]) -> None:
        self._server_config = server_config
        self._listeners = [listener.dup() for listener in listeners]
        self._tls_context: ssl.SSLContext | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Accept no more connections; those that were accepted are answered."""
        with contextlib.suppress(RuntimeError):  # it has ended, for lack of a certificate
            self._loop.call_soon_threadsafe(self._stopped.set)

    def wait(self) -> None:
        """Wait until all connections have ended, which are all bounded in time."""
        self._thread.join()

    def _run(self) -> None:
        _logger.error("No worker is left: requests are answered 503 until one serves")
        try:
            if certificate := self._server_config.certificate:
                self._tls_context = tls.create_ssl_context(*map(Path, certificate))
            self._loop.run_until_complete(self._serve())
        except TlsError as error:
            _logger.error("Requests cannot be answered: %s", error)
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        self._accept_again()
        await self._stopped.wait()
        self._pause()
        for listener in self._listeners:
            listener.close()
        if self._connections:
            await asyncio.wait(self._connections)

    def _pause(self) -> None:
        for listener in self._listeners:
            self._loop.remove_reader(listener)

    def _accept_again(self) -> None:
        if not self._stopped.is_set():
            for listener in self._listeners:
                self._loop.add_reader(listener, self._accept, listener)

    def _accept(self, listener: socket.socket) -> None:
        try:
            sock, _ = listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError:  # no descriptor is free
            self._pause()
            self._loop.call_later(_RETRY_SECONDS, self._accept_again)
            return
        connection = self._loop.create_task(self._answer(sock))
        self._connections.add(connection)
        connection.add_done_callback(self._forget)
        if len(self._connections) >= MAX_CONNECTIONS:
            self._pause()

    def _forget(self, connection: asyncio.Task[None]) -> None:
        self._connections.discard(connection)
        self._accept_again()

    async def _answer(self, sock: socket.socket) -> None:
        """Answer one request, whatever it is, and close the connection."""
        limits, context = self._server_config.limits, self._tls_context
        reader = asyncio.StreamReader(limits.max_url_bytes + limits.max_header_bytes)
        transport: asyncio.Transport | None = None
        with contextlib.suppress(OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            transport, _ = await self._loop.connect_accepted_socket(
                lambda: asyncio.StreamReaderProtocol(reader),
                sock,
                ssl=context,
                ssl_handshake_timeout=limits.handshake_seconds if context else None,
            )
            async with asyncio.timeout(limits.header_seconds):
                head = await reader.readuntil(b"\r\n\r\n")
            request_id = os.urandom(16).hex()
            transport.write(self._build_response(head, request_id))
            fields = {"request_id": request_id, "status": 503, "errors": [_CODE]}
            _access_log.warning("request", extra={"fields": fields})
            async with asyncio.timeout(limits.linger_seconds):
                while await reader.read(_PIECE_BYTES):
                    pass
        if transport is None:
            sock.close()
        else:
            transport.abort()

    def _build_response(self, head: bytes, request_id: str) -> bytes:
        """Return the response in the form that all errors have (`rest.errors`)."""
        body = build_body(request_id)
        headers = [
            ("date", formatdate(usegmt=True)),
            *self._server_config.headers,
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            ("retry-after", "1"),
            ("x-request-id", request_id),
            ("connection", "close"),
        ]
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
        start = f"HTTP/1.1 503 Service Unavailable\r\n{lines}\r\n".encode("latin-1")
        return start if head.startswith(b"HEAD ") else start + body


_CODE = UnavailableCause.RESTARTING.value


def build_body(request_id: str) -> bytes:
    """Return the body of `service_unavailable_error`, whose module takes long to import."""
    body = {
        "message": "Service unavailable",
        "code": _CODE,
        "request_id": request_id,
        "docs": f"/v1/errors#{_CODE}",
    }
    return msgspec.json.encode(body)
