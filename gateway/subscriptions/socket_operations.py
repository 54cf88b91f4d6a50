"""The operations of one WebSocket: each runs in a task of its own, as a request does."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Any, Protocol

from graphql import GraphQLError
from starlette.requests import Request
from starlette.types import Scope

from gateway.authentication import API_KEY_HEADER, FLAGS_HEADER
from gateway.documents.document_source import DocumentSource
from gateway.documents.graphql_request import GraphQLRequest, parse_members
from gateway.exchange import (
    SCOPE_AUTHENTICATED_KEY,
    SCOPE_KEY_ID,
    get_client_address,
    log_request,
    new_request_id,
)
from gateway.graphql_errors import format_errors
from gateway.server.admission import Permit, Rejection
from gateway.subscriptions.messages import CloseError
from gateway.subscriptions.operations import StreamServices
from gateway.subscriptions.streams import Stream, StreamEndedError
from resolvers.request.caller import Caller
from rest.errors import HttpError, note_errors, server_error
from rest.scope_members import SCOPE_CAUSE, SCOPE_ERROR_CODES, SCOPE_OPERATION, SCOPE_ROUTE
from schema.execution import InvalidOperationError, Operation

MAX_OPERATIONS = 100
"""Operations that one WebSocket may have in progress."""
_KEY_CODES = ("UNAUTHENTICATED", "FORBIDDEN")
OPERATION_METHOD = "WEBSOCKET"
"""The method in the log line of an operation, which has no request of its own."""


class SendMessage(Protocol):
    """Sends a message, with a payload that is JSON already."""

    async def __call__(self, message: dict[str, object], payload: bytes | None = None) -> None:
        """Wait until the client reads."""


class SocketOperations:
    """All operations in progress, by the id that the client gave them."""

    def __init__(
        self,
        services: StreamServices,
        documents: DocumentSource,
        scope: Scope,
        send: SendMessage,
        close: Callable[[CloseError], None],
    ) -> None:
        self._services = services
        self._documents = documents
        self._socket_scope = scope
        self._scope: Scope = {}
        """Of a request like those that the client could send instead; set by `initialise`."""
        self._send = send
        self._close = close
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._writes: set[asyncio.Task[None]] = set()
        """Mutations, which run to their end even if the client leaves."""

    async def initialise(self, payload: dict[str, Any]) -> None:
        """Authenticate the client, as for each operation later. Raises HttpError and CloseError.

        Browsers cannot send headers with a WebSocket: what the payload has goes before these.
        """
        scope = self._socket_scope
        replaced = _read_headers(payload)
        names = {name for name, _ in replaced}
        kept = [
            header
            for header in scope["headers"]
            if header[0] in (b"host", API_KEY_HEADER, FLAGS_HEADER) and header[0] not in names
        ]
        self._scope = {
            **scope,
            "type": "http",
            "method": "POST",
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
            await self._send_errors(operation_id, [refusal], self._socket_scope)
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
        failure: Exception | None = None
        try:
            await self._execute(operation_id, client_request, request)
        except InvalidOperationError as invalid:
            note_errors(request.scope, invalid.errors)
            await self._send_errors(operation_id, invalid.errors, request.scope)
        except StreamEndedError as error:
            self._close(CloseError.from_end(error.end))
        except HttpError as error:
            note_errors(request.scope, [error])
            if error.code in _KEY_CODES:
                self._close(CloseError.from_http_error(error))
            else:
                await self._send_errors(operation_id, [error], request.scope)
        except Exception as error:
            failure = error
            await self._send_errors(operation_id, [server_error()], request.scope)
        finally:
            if self._is_wanted(operation_id):
                del self._tasks[operation_id]
            _log(request.scope, started, failure)

    async def _execute(
        self, operation_id: str, client_request: GraphQLRequest, request: Request
    ) -> None:
        """Run an operation and send its results. Raises HttpError and InvalidOperationError."""
        services, variables = self._services, client_request.variables
        caller = await services.service.authenticate(request)
        document = await self._documents.find(client_request, caller.key_id)
        operation = await services.service.executor.load_client_operation(
            document.text, client_request.operation_name, variables
        )
        self._documents.keep(document, caller.key_id)
        request.scope[SCOPE_OPERATION] = operation.name
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
            await self._send({"id": operation_id, "type": "complete"})

    async def _follow(
        self,
        operation_id: str,
        operation: Operation,
        variables: dict[str, Any],
        caller: Caller,
        request: Request,
    ) -> None:
        services = self._services
        stream = Stream(
            request.scope[SCOPE_AUTHENTICATED_KEY],
            lambda end: self._close(CloseError.from_end(end)),
        )
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
            await self._send({"id": operation_id, "type": "next"}, content)

    async def _send_errors(
        self, operation_id: str, errors: Sequence[GraphQLError | HttpError], scope: Scope
    ) -> None:
        payload = format_errors(errors, scope["state"]["request_id"])
        await self._send({"id": operation_id, "type": "error", "payload": payload})


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


def _log(scope: Scope, started: float, failure: Exception | None) -> None:
    log_request(
        scope["state"]["request_id"],
        method=OPERATION_METHOD,
        route=scope[SCOPE_ROUTE],
        status=500 if failure else 200,
        duration_ms=(time.perf_counter() - started) * 1000,
        sent_bytes=0,
        client=get_client_address(scope),
        key_id=scope.get(SCOPE_KEY_ID),
        operation=scope.get(SCOPE_OPERATION),
        error_codes=["SERVER_ERROR"] if failure else scope.get(SCOPE_ERROR_CODES, ()),
        error=failure,
        cause=scope.get(SCOPE_CAUSE),
    )
