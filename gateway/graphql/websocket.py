"""WebSockets: the protocol graphql-transport-ws, in which clients run any number of operations.

https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import ExitStack, aclosing, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson
from graphql import GraphQLError
from msgspec import structs
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from gateway.authentication import API_KEY_HEADER, FLAGS_HEADER
from gateway.cors import CorsPolicy
from gateway.exchange import (
    SCOPE_AUTHENTICATED_KEY,
    SCOPE_KEY_ID,
    get_client_address,
    log_scope,
    new_request_id,
)
from gateway.graphql.request import (
    DocumentSource,
    GraphQLRequest,
    format_errors,
    note_operation,
    parse_members,
)
from gateway.graphql.streams import Stream, StreamEnd, StreamEndedError, StreamServices
from gateway.metrics import OTHER, SUBSCRIPTION
from gateway.server.admission import Permit, Rejection
from resolvers.request.caller import Caller
from rest.bodies import parse_json
from rest.errors import (
    HttpError,
    note_errors,
    origin_error,
    server_error,
    service_unavailable_error,
)
from rest.scope_members import (
    SCOPE_COUNTED_AS,
    SCOPE_ERROR_CODES,
    SCOPE_ROUTE,
)
from schema.execution import InvalidOperationError, Operation
from storage.errors import UnavailableCause

MAX_ID_CHARACTERS = 100
"""The longest id that a client may give an operation."""
MAX_REASON_BYTES = 123
"""The longest reason in the frame that closes a WebSocket (RFC 6455, 5.5)."""
_TYPES_WITH_ID = frozenset({"subscribe", "complete"})
_TYPES = _TYPES_WITH_ID | {"connection_init", "ping", "pong"}
_KEY_PLACE = "apiKey in the payload of connection_init"
_FLAGS_PLACE = "experimentalFlags in the payload of connection_init"


class CloseError(Exception):
    """A reason to close a WebSocket, with its code.

    Clients connect again after 1012 and 1013 (IANA's registry: service restart, try again later).
    """

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code

    @property
    def reason(self) -> str:
        """The reason, short enough to be sent."""
        return str(self).encode()[:MAX_REASON_BYTES].decode(errors="ignore")

    @classmethod
    def from_end(cls, end: StreamEnd) -> "CloseError":
        """Return what ends a WebSocket from outside."""
        return cls(1012 if end is StreamEnd.RESTART else 4403, end.value)

    @classmethod
    def from_http_error(cls, error: HttpError) -> "CloseError":
        """Return what rejects a client: for now, or because of its key."""
        hint = f": send it as {_KEY_PLACE}" if error.code == "UNAUTHENTICATED" else ""
        return cls(1013 if error.status in (429, 503) else 4403, error.message + hint)


class ClientMessage(NamedTuple):
    type: str
    id: str
    """The id of an operation; empty in other messages."""
    payload: Any


def read_message(text: str | None) -> ClientMessage:
    """Return a message. Raises CloseError 4400.

    >>> read_message('{"id": "1", "type": "complete"}')
    ClientMessage(type='complete', id='1', payload=None)
    """
    if text is None:
        raise CloseError(4400, "Messages must be text, not binary")
    try:
        message = parse_json(text.encode(), "message")
    except HttpError as error:
        raise CloseError(4400, error.message) from error
    if not isinstance(message, dict):
        raise CloseError(4400, "A message must be a JSON object")
    kind, operation_id, payload = message.get("type"), message.get("id"), message.get("payload")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise CloseError(4400, f"The type of a message must be one of {', '.join(sorted(_TYPES))}")
    if kind not in _TYPES_WITH_ID:
        operation_id = ""
    elif not (isinstance(operation_id, str) and 0 < len(operation_id) <= MAX_ID_CHARACTERS):
        raise CloseError(4400, f"An id must be a string of 1 to {MAX_ID_CHARACTERS} characters")
    if payload is not None and not isinstance(payload, dict):
        raise CloseError(4400, "The payload of a message must be an object")
    return ClientMessage(kind, operation_id or "", payload)


MAX_OPERATIONS = 100
"""Operations that one WebSocket may have in progress."""
_KEY_CODES = ("UNAUTHENTICATED", "FORBIDDEN", "ORIGIN_NOT_ALLOWED")
OPERATION_METHOD = "WEBSOCKET"
"""The method in the log line of an operation, which has no request of its own."""


class SocketOperations:
    """All operations in progress, by the id that the client gave them."""

    def __init__(self, endpoint: "WebSocketEndpoint", socket: "Socket") -> None:
        self._services = endpoint.services
        self._documents = endpoint.documents
        self._socket = socket
        self._scope: Scope = {}
        """The scope of a request that the client could send instead; set by `initialise`."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._writes: set[asyncio.Task[None]] = set()
        """Mutations, which run to their end even if the client leaves."""

    async def initialise(self, payload: dict[str, Any]) -> None:
        """Authenticate the client, as for each operation later. Raises HttpError and CloseError.

        Browsers cannot send headers with a WebSocket: what the payload has goes before these.
        """
        scope = self._socket.scope
        replaced = _read_headers(payload)
        names = {name for name, _ in replaced}
        kept = [
            header
            for header in scope["headers"]
            if header[0] in (b"host", b"origin", API_KEY_HEADER, FLAGS_HEADER)
            and header[0] not in names
        ]
        self._scope = {
            **scope,
            "type": "http",
            "method": "POST",
            SCOPE_COUNTED_AS: OTHER,
            "scheme": "https" if scope["scheme"] == "wss" else "http",
            "query_string": b"" if API_KEY_HEADER in names else scope["query_string"],
            "headers": kept + replaced,
        }
        request = self._create_request()
        await self._services.service.authenticate(request)
        for name in (SCOPE_AUTHENTICATED_KEY, SCOPE_KEY_ID):
            scope[name] = request.scope[name]

    async def start(self, operation_id: str, payload: dict[str, Any]) -> None:
        """Start an operation. Raises CloseError for one that no client may send."""
        if operation_id in self._tasks:
            raise CloseError(4409, f"Subscriber for {operation_id} already exists")
        try:
            client_request = parse_members(payload)
        except HttpError as error:
            raise CloseError(4400, error.message) from error
        if len(self._tasks) >= MAX_OPERATIONS:
            message = f"At most {MAX_OPERATIONS} operations may be in progress on one WebSocket"
            refusal = HttpError(422, message, "LIMIT_EXCEEDED")
            await self._send_errors(operation_id, [refusal], self._socket.scope)
            return
        task = asyncio.create_task(self._run(operation_id, client_request))
        self._tasks[operation_id] = task
        task.add_done_callback(self._writes.discard)

    def stop(self, operation_id: str) -> None:
        """Stop an operation that the client no longer wants; nothing more is sent about it."""
        task = self._tasks.pop(operation_id, None)
        if task is not None and task not in self._writes:
            task.cancel()

    async def cancel(self) -> None:
        """Stop all operations, and wait until they have ended."""
        tasks = {*self._tasks.values(), *self._writes}
        for operation_id in [*self._tasks]:
            self.stop(operation_id)
        if tasks:
            await asyncio.wait(tasks)

    async def _run(self, operation_id: str, client_request: GraphQLRequest) -> None:
        request = self._create_request()
        started = time.perf_counter()
        spans = self._services.spans
        root = None if spans is None else spans.begin(request.scope)
        failure: Exception | None = None
        try:
            await self._execute(operation_id, client_request, request)
        except InvalidOperationError as invalid:
            note_errors(request.scope, invalid.errors)
            await self._send_errors(operation_id, invalid.errors, request.scope)
        except StreamEndedError as error:
            self._socket.end_stream(error.end)
        except HttpError as error:
            note_errors(request.scope, [error])
            if error.code in _KEY_CODES:
                self._socket.close(CloseError.from_http_error(error))
            else:
                await self._send_errors(operation_id, [error], request.scope)
        except Exception as error:
            failure = error
            await self._send_errors(operation_id, [server_error()], request.scope)
        finally:
            if self._is_wanted(operation_id):
                del self._tasks[operation_id]
            status = 500 if failure else 200
            codes = ["SERVER_ERROR"] if failure else request.scope.get(SCOPE_ERROR_CODES, ())
            if spans is not None and root is not None:
                seconds = time.perf_counter() - started
                spans.end(request.scope, root, status, codes, seconds)
            request.scope["method"] = OPERATION_METHOD
            log_scope(request.scope, started, status, error_codes=codes, error=failure)

    async def _execute(
        self, operation_id: str, client_request: GraphQLRequest, request: Request
    ) -> None:
        """Run an operation and send its results. Raises HttpError and InvalidOperationError."""
        services, variables = self._services, client_request.variables
        caller = await services.service.authenticate(request)
        caller = structs.replace(caller, flags_place=_FLAGS_PLACE)
        document = await self._documents.find(client_request, caller.key_id)
        operation = await services.service.executor.load_client_operation(
            document.text, client_request.operation_name, variables
        )
        self._documents.keep(document, caller.key_id)
        note_operation(request.scope, operation, document)
        if operation.is_subscription:
            await self._follow(operation_id, operation, variables, caller, request)
        else:
            if operation.is_mutation and (task := asyncio.current_task()):
                self._writes.add(task)
            permit = self._take_permit(request.scope)
            try:
                content = await services.run_once(operation, variables, caller, request)
            finally:
                permit.release()
            await self._send_result(operation_id, content)
        if self._is_wanted(operation_id):
            await self._socket.send({"id": operation_id, "type": "complete"})

    async def _follow(
        self,
        operation_id: str,
        operation: Operation,
        variables: dict[str, Any],
        caller: Caller,
        request: Request,
    ) -> None:
        services = self._services
        stream = Stream(request.scope[SCOPE_AUTHENTICATED_KEY], self._socket.end_stream)
        results = services.follow(operation, variables, caller, request)
        with services.streams.subscriptions.hold(stream):
            async with aclosing(results):
                async for content in results:
                    await self._send_result(operation_id, content)

    def _take_permit(self, scope: Scope) -> Permit:
        """Take a slot of `requests_in_flight`. Raises HttpError 503 or 429."""
        decision = self._services.admission.admit(scope)
        if isinstance(decision, Rejection):
            self._services.admission.count_rejection(decision, get_client_address(scope))
            raise decision.error
        assert decision is not None
        return decision

    def _create_request(self) -> Request:
        return Request({**self._scope, "state": {"request_id": new_request_id()}})

    def _is_wanted(self, operation_id: str) -> bool:
        return self._tasks.get(operation_id) is asyncio.current_task()

    async def _send_result(self, operation_id: str, content: bytes) -> None:
        if self._is_wanted(operation_id):
            await self._socket.send({"id": operation_id, "type": "next"}, content)

    async def _send_errors(
        self, operation_id: str, errors: Sequence[GraphQLError | HttpError], scope: Scope
    ) -> None:
        payload = format_errors(errors, scope["state"]["request_id"])
        await self._socket.send({"id": operation_id, "type": "error", "payload": payload})


def _read_headers(payload: dict[str, Any]) -> list[tuple[bytes, bytes]]:
    """Return the headers that the payload of `connection_init` stands for. Raises CloseError."""
    headers = []
    key, flags = payload.get("apiKey"), payload.get("experimentalFlags")
    if key is not None:
        if not isinstance(key, str):
            raise CloseError(4400, "apiKey must be a string")
        headers.append((API_KEY_HEADER, key.encode("latin-1", "replace")))
    if flags is not None:
        names = flags.split(",") if isinstance(flags, str) else flags
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise CloseError(4400, "experimentalFlags must be a list of strings")
        headers.append((FLAGS_HEADER, ",".join(names).encode("latin-1", "replace")))
    return headers


SUBPROTOCOL = "graphql-transport-ws"
INIT_SECONDS = 10.0
"""The time that a client has from the handshake to `connection_init`."""


@dataclass(frozen=True, slots=True)
class WebSocketEndpoint:
    """Accept WebSockets at one path; their pages must be of an allowed origin."""

    services: StreamServices
    documents: DocumentSource
    cors: CorsPolicy
    path: str

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one WebSocket until it is closed."""
        await receive()  # websocket.connect
        scope.update({"method": "GET", SCOPE_ROUTE: self.path, SCOPE_COUNTED_AS: SUBSCRIPTION})
        scheme = scope["scheme"].replace("ws", "http")
        if error := self._find_rejection(scope):
            await error({**scope, "scheme": scheme}, receive, send)
            return
        await Socket(self, scope, receive, send).serve()

    def _find_rejection(self, scope: Scope) -> HttpError | None:
        if self.services.streams.sockets.is_closed:
            return service_unavailable_error(UnavailableCause.RESTARTING)
        # Browsers send no preflight request for WebSockets, so nothing else keeps other pages out.
        refused = self.cors.find_refused_origin(scope, self.cors.is_allowed_origin)
        return None if refused is None else origin_error(refused)


class Socket:
    def __init__(
        self, endpoint: WebSocketEndpoint, scope: Scope, receive: Receive, send: Send
    ) -> None:
        self._services = endpoint.services
        self.scope = scope
        self._receive = receive
        self._send = send
        self._sending = asyncio.Lock()
        self._sent_bytes = 0
        self._slot = ExitStack()
        self._task = asyncio.current_task()
        self._end: CloseError | None = None
        self._is_initialised = False
        self._operations = SocketOperations(endpoint, self)

    async def serve(self) -> None:
        """Serve it until it is closed, by either side, and log it."""
        started = time.perf_counter()
        closed: CloseError | None = None
        refused: CloseError | None = None
        new_sockets = self._services.streams.new_sockets
        new_sockets.add(self.end_stream)
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
            new_sockets.discard(self.end_stream)
            await self._operations.cancel()
            self._slot.close()
        if closed is not None:
            with suppress(OSError):
                await self._send(
                    {"type": "websocket.close", "code": closed.code, "reason": closed.reason}
                )
        ended = closed or refused
        reason = None if ended is None else f"{ended.code} {ended.reason}"
        log_scope(self.scope, started, 101, sent_bytes=self._sent_bytes, reason=reason)

    async def _converse(self, timer: asyncio.TimerHandle) -> CloseError | None:
        """Read messages until the client closes the WebSocket. Raises CloseError.

        Return why the protocol has closed it, if it has.
        """
        accepted = SUBPROTOCOL if SUBPROTOCOL in self.scope["subprotocols"] else None
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
                if SCOPE_AUTHENTICATED_KEY not in self.scope:
                    raise CloseError(4401, "Unauthorized: send connection_init first")
                await self._operations.start(message.id, message.payload or {})
            elif message.type == "complete":
                self._operations.stop(message.id)
        return CloseError(event["code"], event["reason"]) if event.get("by_server") else None

    async def _initialise(self, payload: dict[str, object]) -> None:
        """Authenticate the client, by its headers or what it sends in their place."""
        try:
            await self._operations.initialise(payload)
            stream = Stream(self.scope[SCOPE_AUTHENTICATED_KEY], self.end_stream)
            self._slot.enter_context(self._services.streams.sockets.hold(stream))
        except HttpError as error:
            raise CloseError.from_http_error(error) from error
        self._services.streams.new_sockets.discard(self.end_stream)
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

    def end_stream(self, end: StreamEnd) -> None:
        self.close(CloseError.from_end(end))

    def close(self, reason: CloseError) -> None:
        """End the WebSocket, from anywhere."""
        if self._end is None and self._task is not None:
            self._end = reason
            self._task.cancel()
