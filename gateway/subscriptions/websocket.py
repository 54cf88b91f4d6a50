"""WebSockets: the protocol graphql-transport-ws, in which clients run any number of operations.

https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import orjson
from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from gateway.documents.document_source import DocumentSource
from gateway.exchange import (
    SCOPE_AUTHENTICATED_KEY,
    SCOPE_KEY_ID,
    get_client_address,
    log_request,
)
from gateway.subscriptions.messages import CloseError, read_message
from gateway.subscriptions.operations import StreamServices
from gateway.subscriptions.socket_operations import SocketOperations
from gateway.subscriptions.streams import Stream, StreamEnd
from rest.errors import HttpError, service_unavailable_error
from rest.scope_members import SCOPE_ROUTE
from storage.errors import Cause

SUBPROTOCOL = "graphql-transport-ws"
INIT_SECONDS = 10.0
"""From the handshake to `connection_init`."""


@dataclass(frozen=True, slots=True)
class WebSocketEndpoint:
    """Accept WebSockets at one path; their pages must be of an allowed origin."""

    services: StreamServices
    documents: DocumentSource
    allowed_origins: Sequence[str]
    path: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one WebSocket until it is closed."""
        await receive()  # websocket.connect
        scope[SCOPE_ROUTE] = self.path
        scheme = scope["scheme"].replace("ws", "http")
        if error := self._find_rejection(Headers(scope=scope), scheme):
            await error.to_response()({**scope, "scheme": scheme}, receive, send)
            return
        await _Socket(self, scope, receive, send).serve()

    def _find_rejection(self, headers: Headers, scheme: str) -> HttpError | None:
        if self.services.streams.sockets.is_closed:
            return service_unavailable_error(Cause.RESTART)
        own = f"{scheme}://{headers.get('host', '')}"
        if not self._is_allowed_origin(headers.get("origin"), own):
            message = "Web pages of this origin may not connect"
            return HttpError(400, message, "ORIGIN_NOT_ALLOWED")
        return None

    def _is_allowed_origin(self, origin: str | None, own: str) -> bool:
        """Return whether the page that connects may: browsers always say which one it is.

        They send no preflight request for WebSockets, so nothing else keeps other pages out.
        """
        if origin is None or "*" in self.allowed_origins or origin in self.allowed_origins:
            return True
        try:
            return _split_origin(origin) == _split_origin(own)
        except ValueError:
            return False


def _split_origin(url: str) -> tuple[str, str | None, int | None]:
    """Return scheme, host and port. Raises ValueError.

    >>> _split_origin("https://A.example:443") == _split_origin("https://a.example")
    True
    """
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


class _Socket:
    """One WebSocket."""

    def __init__(
        self, endpoint: WebSocketEndpoint, scope: Scope, receive: Receive, send: Send
    ) -> None:
        self._services = endpoint.services
        self._scope = scope
        self._receive = receive
        self._send = send
        self._sending = asyncio.Lock()
        self._sent_bytes = 0
        self._slot = ExitStack()
        self._task = asyncio.current_task()
        self._end: CloseError | None = None
        self._is_initialised = False
        self._operations = SocketOperations(
            endpoint.services, endpoint.documents, scope, self.send, self.close
        )

    async def serve(self) -> None:
        """Serve it until it is closed, by either side, and log it."""
        started = time.perf_counter()
        closed: CloseError | None = None
        refused: CloseError | None = None
        new_sockets = self._services.streams.new_sockets
        new_sockets.add(self._end_stream)
        timer = asyncio.get_running_loop().call_later(
            INIT_SECONDS, self.close, CloseError(4408, "Connection initialisation timeout")
        )
        try:
            refused = await self._converse(timer)
        except CloseError as error:
            closed = error
        except OSError:  # the client has left while something was sent
            pass
        except asyncio.CancelledError:
            if self._end is None:  # the graceful shutdown timed out
                self._end = CloseError.from_end(StreamEnd.RESTART)
            elif self._task is not None:
                self._task.uncancel()
            closed = self._end
        finally:
            self._task = None  # nothing else may cancel what follows
            timer.cancel()
            new_sockets.discard(self._end_stream)
            await self._operations.cancel()
            self._slot.close()
        if closed is not None:
            await self._send_close(closed)
        self._log(started, closed or refused)

    async def _converse(self, timer: asyncio.TimerHandle) -> CloseError | None:
        """Read messages until the client closes the WebSocket. Raises CloseError.

        Return why the protocol has closed it, if it has.
        """
        accepted = SUBPROTOCOL if SUBPROTOCOL in self._scope["subprotocols"] else None
        await self._send({"type": "websocket.accept", "subprotocol": accepted})
        if accepted is None:
            raise CloseError(4406, f"Subprotocol not acceptable: it must be {SUBPROTOCOL}")
        while (event := await self._receive())["type"] == "websocket.receive":
            message = read_message(event.get("text"))
            if message.type == "connection_init":
                if self._is_initialised:
                    raise CloseError(4429, "Too many initialisation requests")
                self._is_initialised = True
                timer.cancel()
                await self._initialise(message.payload or {})
            elif message.type == "ping":
                await self.send({"type": "pong"})
            elif message.type == "subscribe":
                if SCOPE_AUTHENTICATED_KEY not in self._scope:
                    raise CloseError(4401, "Unauthorized: send connection_init first")
                await self._operations.start(message.id, message.payload or {})
            elif message.type == "complete":
                self._operations.stop(message.id)
        return CloseError(event["code"], event["reason"]) if event.get("by_server") else None

    async def _initialise(self, payload: dict[str, object]) -> None:
        """Authenticate the client, by its headers or what it sends in their place."""
        try:
            await self._operations.initialise(payload)
            stream = Stream(self._scope[SCOPE_AUTHENTICATED_KEY], self._end_stream)
            self._slot.enter_context(self._services.streams.sockets.hold(stream))
        except HttpError as error:
            raise CloseError.from_http_error(error) from error
        self._services.streams.new_sockets.discard(self._end_stream)
        await self.send({"type": "connection_ack"})

    async def send(self, message: dict[str, object], payload: bytes | None = None) -> None:
        """Send a message, with a payload that is JSON already. Wait until the client reads."""
        text = orjson.dumps(message)
        if payload is not None:
            text = b'%b,"payload":%b}' % (text[:-1], payload)
        with suppress(OSError):  # the client has left, which the reader notices as well
            async with self._sending:
                await self._send({"type": "websocket.send", "text": text.decode()})
        self._sent_bytes += len(text)

    def _end_stream(self, end: StreamEnd) -> None:
        self.close(CloseError.from_end(end))

    def close(self, reason: CloseError) -> None:
        """End the WebSocket, from anywhere."""
        if self._end is None and self._task is not None:
            self._end = reason
            self._task.cancel()

    async def _send_close(self, reason: CloseError) -> None:
        with suppress(OSError):
            await self._send(
                {"type": "websocket.close", "code": reason.code, "reason": reason.reason}
            )

    def _log(self, started: float, closed: CloseError | None) -> None:
        log_request(
            self._scope["state"]["request_id"],
            method="GET",
            route=self._scope[SCOPE_ROUTE],
            status=101,
            duration_ms=(time.perf_counter() - started) * 1000,
            sent_bytes=self._sent_bytes,
            client=get_client_address(self._scope),
            key_id=self._scope.get(SCOPE_KEY_ID),
            reason=None if closed is None else f"{closed.code} {closed.reason}",
        )
