"""The one layer around the routes: ids, HTTPS at a proxy, CORS, admission, log and headers."""

import asyncio
import time
from collections.abc import Callable

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.cors import ALLOW_ALL, CorsPolicy
from gateway.exchange import (
    MAX_WRITE_BYTES,
    SCOPE_EARLY_STATUS,
    SCOPE_RATE_LIMIT_HEADERS,
    SCOPE_TRACE_RESPONSE,
    TRACE_RESPONSE_HEADER,
    fields_of,
    get_request_id,
    log_scope,
    wants_explanation,
)
from gateway.request_spans import RequestSpans
from gateway.responses import finish_response
from gateway.server.admission import (
    HEALTH_PATHS,
    SCOPE_ADMISSION,
    Permit,
    Rejection,
)
from rest.errors import (
    HttpError,
    server_error,
    service_unavailable_error,
)
from rest.scope_members import (
    IGNORED_HEADER,
    SCOPE_DEPRECATION,
    SCOPE_ERROR_CODES,
    SCOPE_IGNORED_PARAMETERS,
    ClientDisconnectedError,
)
from storage.errors import UnavailableCause

CLIENT_CLOSED_REQUEST = 499
"""Logged, never sent: nginx's status for a client that left before the response."""


class RequestMiddleware:
    """Admit each request to the routes, finish its response, and log it.

    A request gets an id, in `scope["state"]["request_id"]` and in the response's `X-Request-Id`. It
    passes the check for HTTPS at a proxy, CORS and admission; its response gets an entity tag and a
    content coding, the headers of CORS, and those of the request. All of this is one layer, because
    each layer costs calls for every request and for every message.

    Behind a proxy, only its `X-Forwarded-Proto` is trusted here: the server takes the client's
    address from `X-Forwarded-For`.
    `explained_app` has the requests whose client asks how they are processed.
    `on_response` is called with the scope after each response. `spans` follows each request that is
    not a probe.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        explained_app: ASGIApp | None = None,
        cors: CorsPolicy | None = None,
        is_behind_proxy: bool = False,
        on_response: Callable[[Scope], None] | None = None,
        spans: RequestSpans | None = None,
    ) -> None:
        self._app = app
        self._explained_app = explained_app or app
        self._cors = cors or CorsPolicy()
        self._is_behind_proxy = is_behind_proxy
        self._on_response = on_response
        self._spans = spans

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        fields = fields_of(scope)
        request_id = get_request_id(fields)
        scope.setdefault("state", {})["request_id"] = request_id
        response = _Response(scope, receive, send, self._cors)
        if b"origin" in fields:
            response.origin = fields[b"origin"]
        root = None
        try:
            if scope["type"] == "websocket":  # logs itself, and each of its operations
                await self._run(self._app, receive, response.send_to_websocket, response)
                return
            if self._spans is not None and scope["path"] not in HEALTH_PATHS:
                root = self._spans.begin(scope)
            app = self._explained_app if wants_explanation(fields) else self._app
            error = await self._respond(app, receive, response)
        finally:
            response.end_work()
        if self._on_response is not None:
            self._on_response(scope)
        error_codes = ["SERVER_ERROR"] if error else scope.get(SCOPE_ERROR_CODES, ())
        if self._spans is not None and root is not None:
            began = response.began or time.perf_counter()
            seconds = began - started - response.receiving_seconds
            self._spans.end(scope, root, response.status, error_codes, seconds)
        if isinstance(scope.get(SCOPE_ADMISSION), Rejection) and error is None:
            return  # the protocol has counted it for a line about many
        log_scope(
            scope,
            started,
            response.status,
            sent_bytes=response.sent_bytes,
            error_codes=error_codes,
            error=error,
        )

    async def _respond(
        self, app: ASGIApp, receive: Receive, response: "_Response"
    ) -> BaseException | None:
        """Send the response, and return the exception to log, if any.

        Exceptions stop here: the server would only log them again. If a response was started
        and not completed, the server closes the connection, which tells the client.
        """
        try:
            await self._run(app, receive, response.send, response)
            if not response.status:  # the app sent nothing
                await response.send_unless_started(server_error())
        except (ClientDisconnectedError, ClientDisconnect):
            response.status = response.scope.get(SCOPE_EARLY_STATUS, CLIENT_CLOSED_REQUEST)
        except asyncio.CancelledError:  # the graceful shutdown timed out
            await response.send_unless_started(
                service_unavailable_error(UnavailableCause.RESTARTING)
            )
        except Exception as error:
            await response.send_unless_started(server_error())
            return error
        return None

    async def _run(self, app: ASGIApp, receive: Receive, send: Send, response: "_Response") -> None:
        """Run the application, or answer in its place."""
        scope = response.scope
        answer: ASGIApp | None = None
        if self._is_behind_proxy and not _pass_https(scope):
            answer = _HTTPS_REQUIRED
        elif response.origin is not None:
            await self._cors.refresh()
            answer = self._cors.answer_preflight(scope)
        decision = scope.get(SCOPE_ADMISSION)
        if answer is not None:
            response.origin = None
        elif isinstance(decision, Rejection):
            answer = decision.error
        else:
            try:
                await app(scope, response.receive if response.expects_body else receive, send)
                return
            except _RejectedError as error:
                answer = error.response
        # From here on, no exception references parts of the body.
        response.end_work()
        response.is_final = True
        await answer(scope, receive, send)


class _RejectedError(Exception):
    """There is no slot for a request any more, or no room for more of its body."""

    def __init__(self, response: HttpError) -> None:
        super().__init__(response.status)
        self.response = response


class _Response:
    """A response on its way to the client, and the slot that its request holds until it begins.

    Without a slot, a request is rejected at once: an overloaded event loop would make the database
    driver's timeouts fire, and all requests fail. One that waits for its client to send the rest of
    its body or to read the response holds none, or slow clients could hold all slots without
    causing any work.
    """

    status = 0
    sent_bytes = 0
    is_final = False
    """True if the response gets no entity tag and no content coding."""
    began: float | None = None
    """When the response began, by `time.perf_counter`."""
    receiving_seconds = 0.0
    """How long the request waited for its client to send the body."""
    _arrived_bytes = 0
    """Bytes received of an incomplete body."""
    origin: bytes | None = None
    """The origin of the page that gets the response, if CORS is to add its headers."""
    _start: Message | None = None
    """The start of the response, until its body begins."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, cors: CorsPolicy) -> None:
        self.scope = scope
        self._receive = receive
        self._send = send
        self._cors = cors
        decision = scope.get(SCOPE_ADMISSION)
        self._permit = decision if isinstance(decision, Permit) else None
        # Without a body, to receive is to wait for the client to leave, during the work.
        self.expects_body = self._permit is not None and _has_body(scope)
        """True until the body is complete, or the response begins without it."""

    # The work of the request

    async def receive(self) -> Message:
        """Receive without a slot until the body is complete, then take one again."""
        permit = self._permit
        if not self.expects_body or permit is None:
            return await self._receive()
        permit.release()
        waiting = time.perf_counter()
        message = await self._receive()
        self.receiving_seconds += time.perf_counter() - waiting
        rejection = None
        if message.get("more_body"):
            piece_bytes = len(message["body"])
            self._arrived_bytes += piece_bytes
            rejection = permit.count_arriving(piece_bytes)
        elif message["type"] == "http.request" and self.expects_body:
            self.expects_body = False
            self._forget_body()
            rejection = permit.acquire()
        if rejection is not None:
            permit.admission.rejected[rejection.limit] += 1
            raise _RejectedError(rejection.error)
        return message

    def _forget_body(self) -> None:
        """Stop counting the bytes received so far."""
        assert self._permit is not None
        self._permit.count_arriving(-self._arrived_bytes)
        self._arrived_bytes = 0

    def end_work(self) -> None:
        """Give everything back."""
        if self._permit is not None:
            self._permit.release()
        if self._arrived_bytes:
            self._forget_body()

    # The messages of the application

    async def send(self, message: Message) -> None:
        """Send a message: the start together with the body, on which its headers depend."""
        if message["type"] == "http.response.start":
            self._start = message
            return
        start, self._start = self._start, None
        if start is not None:
            if not (self.is_final or message.get("more_body")):
                start, message = await finish_response(self.scope, start, message)
            self._begin_response()
            await self._send_start(start)
        await self._send_body(message)

    async def send_to_websocket(self, message: Message) -> None:
        self._begin_response()
        await self._send(message)

    def _begin_response(self) -> None:
        """Hold no slot any more: the work is done when the response begins."""
        self.expects_body = False
        self.began = time.perf_counter()
        if self._permit is not None:
            self._permit.release()

    async def _send_start(self, start: Message) -> None:
        """Send the start with the headers of this request: other keys get cached responses too."""
        self.status, scope = start["status"], self.scope
        request_id: str = scope["state"]["request_id"]
        headers = [*start.get("headers", ()), (b"x-request-id", request_id.encode("latin-1"))]
        headers += scope.get(SCOPE_RATE_LIMIT_HEADERS, ())
        if self.origin is not None and ALLOW_ALL not in headers:
            headers += self._cors.get_headers(self.origin)
        if SCOPE_IGNORED_PARAMETERS in scope:
            ignored: str = scope[SCOPE_IGNORED_PARAMETERS]
            headers.append((IGNORED_HEADER.lower().encode(), ignored.encode()))
        if SCOPE_DEPRECATION in scope:
            headers += scope[SCOPE_DEPRECATION].headers
        if SCOPE_TRACE_RESPONSE in scope:
            headers.append((TRACE_RESPONSE_HEADER, scope[SCOPE_TRACE_RESPONSE]))
        await self._send({**start, "headers": headers})

    async def _send_body(self, message: Message) -> None:
        """Send a body; a large one piece by piece, as the server waits between them for readers."""
        body = message.get("body", b"")
        size_bytes = 0 if self.scope["method"] == "HEAD" else len(body)
        self.sent_bytes += size_bytes
        if size_bytes <= MAX_WRITE_BYTES:
            await self._send(message)
            return
        pieces = memoryview(body)
        for start in range(0, size_bytes, MAX_WRITE_BYTES):
            end = start + MAX_WRITE_BYTES
            more_body = end < size_bytes or message.get("more_body", False)
            await self._send({**message, "body": pieces[start:end], "more_body": more_body})

    async def send_unless_started(self, error: HttpError) -> None:
        if not self.status:
            self.is_final = True
            await error(self.scope, self._receive, self.send)


def _has_body(scope: Scope) -> bool:
    """Return whether the application waits for a body, even an empty one (RFC 9112, 6.3).

    No GET reads one: a body that is announced and never sent must not free the slot.
    """
    if scope["type"] == "websocket" or scope["method"] in ("GET", "HEAD"):
        return False
    fields = fields_of(scope)
    return b"content-length" in fields or b"transfer-encoding" in fields


_HTTPS_REQUIRED = HttpError(
    403,
    "HTTPS is required: the proxy must send X-Forwarded-Proto: https with each request",
    "HTTPS_REQUIRED",
)


def _pass_https(scope: Scope) -> bool:
    """Return whether every `X-Forwarded-Proto` value is `https`, or the path is exempt.

    Health probes are. Other requests have the scheme of the client from then on.
    """
    if scope["path"] in HEALTH_PATHS:
        return True
    schemes = [
        scheme.strip().lower()
        for name, value in scope["headers"]
        if name == b"x-forwarded-proto"
        for scheme in value.split(b",")
    ]
    # At least one proxy, and every one that adds a value, must have received HTTPS.
    if not schemes or any(scheme != b"https" for scheme in schemes):
        return False
    scope["scheme"] = "wss" if scope["type"] == "websocket" else "https"
    return True
