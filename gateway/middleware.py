"""The middleware around the application: the access log, CORS, and HTTPS at a proxy."""

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.exchange import (
    MAX_WRITE_BYTES,
    SCOPE_EARLY_STATUS,
    SCOPE_KEY_ID,
    SCOPE_RATE_LIMIT_HEADERS,
    build_error_messages,
    get_client_address,
    get_request_id,
    log_request,
    serialize_headers,
)
from gateway.server.admission import HEALTH_PATHS, SCOPE_ADMISSION, Rejection
from rest.errors import (
    SCOPE_BASE_URL,
    ErrorSource,
    HttpError,
    note_errors,
    server_error,
    service_unavailable_error,
)
from rest.scope_members import (
    IGNORED_HEADER,
    SCOPE_CAUSE,
    SCOPE_DEPRECATION,
    SCOPE_ERROR_CODES,
    SCOPE_IGNORED_PARAMETERS,
    SCOPE_OPERATION,
    SCOPE_ROUTE,
    ClientDisconnectedError,
)
from storage.errors import UnavailableCause

CLIENT_CLOSED_REQUEST = 499
"""Logged, never sent: nginx's status for a client that left before the response."""


class AccessLogMiddleware:
    """Give each request an id, log it when it is over, and answer 500 to any exception.

    The id is in `scope["state"]["request_id"]` and in the response's `X-Request-Id`.
    `on_response` is called with the scope after each response. `base_url` is the configured one.
    """

    def __init__(
        self,
        app: ASGIApp,
        on_response: Callable[[Scope], None] | None = None,
        base_url: str | None = None,
    ) -> None:
        self.app = app
        self.on_response = on_response
        self.base_url = base_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        request_id = get_request_id(scope)
        scope.setdefault("state", {})["request_id"] = request_id
        if self.base_url is not None:
            scope[SCOPE_BASE_URL] = self.base_url
        if scope["type"] == "websocket":  # logs itself, and each of its operations
            await self.app(scope, receive, send)
            return
        recorder = _ResponseRecorder(scope, send, request_id)
        error = await self._run_app(scope, receive, recorder)
        if self.on_response is not None:
            self.on_response(scope)
        if isinstance(scope.get(SCOPE_ADMISSION), Rejection) and error is None:
            return  # the protocol has counted it for a line about many
        log_request(
            request_id,
            method=scope["method"],
            route=scope.get(SCOPE_ROUTE),
            status=recorder.status,
            duration_ms=(time.perf_counter() - started) * 1000,
            sent_bytes=recorder.sent_bytes,
            client=get_client_address(scope),
            key_id=scope.get(SCOPE_KEY_ID),
            operation=scope.get(SCOPE_OPERATION),
            error_codes=["SERVER_ERROR"] if error else scope.get(SCOPE_ERROR_CODES, ()),
            error=error,
            cause=scope.get(SCOPE_CAUSE),
        )

    async def _run_app(
        self, scope: Scope, receive: Receive, recorder: "_ResponseRecorder"
    ) -> BaseException | None:
        """Run the application and return the exception to log, if any.

        Exceptions stop here: the server would only log them again. If a response was started
        and not completed, the server closes the connection, which tells the client.
        """
        try:
            await self.app(scope, receive, recorder.send)
            if not recorder.status:  # the app sent nothing
                await recorder.send_unless_started(server_error())
        except (ClientDisconnectedError, ClientDisconnect):
            recorder.status = scope.get(SCOPE_EARLY_STATUS, CLIENT_CLOSED_REQUEST)
        except asyncio.CancelledError:  # the graceful shutdown timed out
            await recorder.send_unless_started(service_unavailable_error(UnavailableCause.RESTART))
        except Exception as error:
            await recorder.send_unless_started(server_error())
            return error
        return None


class _ResponseRecorder:
    """Record status and size of a response on its way to the client."""

    def __init__(self, scope: Scope, send: Send, request_id: str) -> None:
        self._scope = scope
        self._send = send
        self._request_id_header = (b"x-request-id", request_id.encode("latin-1"))
        self.status = 0
        self.sent_bytes = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            own_headers = message.get("headers", ())
            message = {**message, "headers": [*own_headers, *self._list_headers()]}
        elif self._scope["method"] != "HEAD":
            body = message.get("body", b"")
            self.sent_bytes += len(body)
            if len(body) > MAX_WRITE_BYTES:
                await self._send_in_pieces(message, memoryview(body))
                return
        await self._send(message)

    def _list_headers(self) -> list[tuple[bytes, bytes]]:
        """Return the headers of this request: cached responses are also sent to other keys."""
        scope = self._scope
        headers = [self._request_id_header, *scope.get(SCOPE_RATE_LIMIT_HEADERS, ())]
        if SCOPE_IGNORED_PARAMETERS in scope:
            ignored: str = scope[SCOPE_IGNORED_PARAMETERS]
            headers.append((IGNORED_HEADER.lower().encode(), ignored.encode()))
        if SCOPE_DEPRECATION in scope:
            headers += scope[SCOPE_DEPRECATION].headers
        return headers

    async def _send_in_pieces(self, message: Message, body: memoryview) -> None:
        """Send a large body piece by piece: the server waits between them for a slow reader."""
        for start in range(0, len(body), MAX_WRITE_BYTES):
            end = start + MAX_WRITE_BYTES
            more_body = end < len(body) or message.get("more_body", False)
            await self._send({**message, "body": body[start:end], "more_body": more_body})

    async def send_unless_started(self, error: HttpError) -> None:
        """Send this error unless a response was started."""
        if self.status:
            return
        note_errors(self._scope, [error])
        for message in build_error_messages(error, ErrorSource.from_scope(self._scope)):
            await self.send(message)


_HTTPS_REQUIRED = HttpError(
    403,
    "HTTPS is required: the proxy must send X-Forwarded-Proto: https with each request",
    "HTTPS_REQUIRED",
)


class ForwardedHttpsMiddleware:
    """Answer 403 unless every `X-Forwarded-Proto` value is `https`. Health probes are exempt.

    No other header of the proxy is trusted here: links in responses use the configured base URL.
    The server takes the client's address from `X-Forwarded-For`.
    """

    def __init__(self, app: ASGIApp, exempt_paths: Collection[str] = HEALTH_PATHS) -> None:
        self.app = app
        self.exempt_paths = exempt_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or scope["path"] in self.exempt_paths:
            await self.app(scope, receive, send)
        elif _is_forwarded_https(scope):
            scope["scheme"] = "wss" if scope["type"] == "websocket" else "https"
            await self.app(scope, receive, send)
        else:
            await _HTTPS_REQUIRED.to_response()(scope, receive, send)


def _is_forwarded_https(scope: Scope) -> bool:
    """Return whether at least one proxy, and every proxy that adds a value, received HTTPS."""
    schemes = [
        scheme.strip().lower()
        for name, value in scope["headers"]
        if name == b"x-forwarded-proto"
        for scheme in value.split(b",")
    ]
    return bool(schemes) and all(scheme == b"https" for scheme in schemes)


ALLOWED_METHODS = ("GET", "HEAD", "POST", "PUT")
ALLOWED_HEADERS = (
    "API-Key",
    "Experimental-Flags",
    "Floorgate-Explain",
    "Content-Type",
    "If-Match",
    "If-None-Match",
    "X-Request-Id",
)
EXPOSED_HEADERS = (
    "Deprecation",
    "ETag",
    "Floorgate-Cost",
    "Floorgate-Ignored-Parameters",
    "Floorgate-Total-Count",
    "Floorgate-Warnings",
    "Link",
    "RateLimit",
    "RateLimit-Policy",
    "Retry-After",
    "Sunset",
    "X-Request-Id",
)
PREFLIGHT_MAX_AGE_SECONDS = 3600


class CorsMiddleware(CORSMiddleware):
    """Starlette's CORS middleware with this service's methods and headers and its error shape."""

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        super().__init__(
            app,
            allow_origins=origins,
            allow_methods=ALLOWED_METHODS,
            allow_headers=ALLOWED_HEADERS,
            expose_headers=EXPOSED_HEADERS,
            max_age=PREFLIGHT_MAX_AGE_SECONDS,
        )

    def preflight_response(self, request_headers: Headers) -> Response:
        """Return Starlette's response as 204, or its rejection as `{"message": ...}`."""
        response = super().preflight_response(request_headers)
        headers = {
            name: value
            for name, value in response.headers.items()
            if not name.startswith("content-")
        }
        if response.status_code == 200:
            return Response(status_code=204, headers=headers)
        message = bytes(response.body).decode()
        error = HttpError(response.status_code, message, "ORIGIN_NOT_ALLOWED", headers=headers)
        return error.to_response()


class CorsHeaderLines:
    """The header lines that the middleware adds to responses, for those that do not pass it."""

    def __init__(self, origins: Sequence[str]) -> None:
        """Prepare the lines for these origins; without any, there is no middleware."""
        vary = b"vary: Origin\r\n" if origins else b""
        simple_headers = CorsMiddleware(_no_app, origins).simple_headers if origins else {}
        lines = serialize_headers(
            [(name.lower().encode(), value.encode()) for name, value in simple_headers.items()]
        )
        self._of_others = lines + vary
        self._of_allowed: dict[bytes | None, bytes] = {None: vary}
        for origin in origins if "*" not in origins else ():
            with suppress(UnicodeEncodeError):  # Starlette reads no header as such an origin
                sent = origin.encode("latin-1")
                allow = b"access-control-allow-origin: %b\r\n" % sent
                self._of_allowed[sent] = lines + vary + allow

    def get(self, origin: bytes | None) -> bytes:
        """Return the lines of a response to a request with this `Origin`."""
        return self._of_allowed.get(origin, self._of_others)


async def _no_app(*_: object) -> None:
    """Send nothing."""
