"""The outermost middleware: request ids, one log line a request, faults answered without detail."""

import asyncio
import logging
import random
import re
import time
from collections.abc import Callable, Iterable
from typing import Any

import orjson
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.server.logs import contains_secret
from rest.request_body import ClientDisconnectedError

SCOPE_ROUTE = "floorgate.route"
"""Scope member with the template of the matched route, set by the router."""
SCOPE_KEY_ID = "floorgate.key_id"
"""Scope member with the id of the caller's key, never the key, set when it is authenticated."""
SCOPE_API_KEY = "floorgate.key"
"""Scope member with what is known of the caller's key, never the key, set with its id."""
SCOPE_EARLY_STATUS = "floorgate.refused_with"
"""Scope member with the status that the protocol answered while the body was arriving."""
CLIENT_CLOSED_REQUEST = 499
"""Logged, never sent: nginx's status for a client that left before its answer."""

RawHeaders = Iterable[tuple[bytes, bytes]]

_logger = logging.getLogger("floorgate.access")
_SAFE_REQUEST_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._:=+-]{0,63}\Z")
_random = random.Random()  # an id is no secret, and need not ask the kernel for each
_METHOD = re.compile(r"[A-Z-]{1,20}\Z")


def new_request_id() -> str:
    """32 hexadecimal digits that sort by time: 48 bits of milliseconds, then 80 random bits."""
    return f"{time.time_ns() // 1_000_000:012x}{_random.getrandbits(80):020x}"


def get_request_id(headers: RawHeaders) -> str:
    """The client's `X-Request-Id` if it is short, plain and no API key, else a new one."""
    for name, value in headers:
        if name == b"x-request-id":
            given = value.decode("latin-1")
            return (
                given
                if _SAFE_REQUEST_ID.match(given) and not contains_secret(given)
                else new_request_id()
            )
    return new_request_id()


def log_request(
    request_id: str,
    *,
    method: str | None,
    route: str | None,
    status: int,
    duration_ms: float,
    sent_bytes: int,
    key_id: str | None = None,
    reason: str | None = None,
    error: BaseException | None = None,
) -> None:
    """Writes a request's line. Path, query, headers, body and client address never enter it."""
    level = logging.ERROR if error else logging.WARNING if status >= 500 else logging.INFO
    fields = {
        "request_id": request_id,
        "method": method if method and _METHOD.match(method) else None,
        "route": route,
        "status": status,
        "duration_ms": round(duration_ms, 3),
        "bytes": sent_bytes,
        "key_id": key_id,
    }
    if reason is not None:
        fields["reason"] = reason
    _logger.log(level, "request", exc_info=error, extra={"fields": fields})


def build_error_messages(
    status: int, message: str, headers: RawHeaders = ()
) -> tuple[Message, Message]:
    """The two ASGI messages of an error: `{"message": ...}` as `application/json`."""
    body = orjson.dumps({"message": message})
    start = {
        "type": "http.response.start",
        "status": status,
        "headers": [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            *headers,
        ],
    }
    return start, {"type": "http.response.body", "body": body, "more_body": False}


UNAVAILABLE_MESSAGES = build_error_messages(503, "Service unavailable", [(b"retry-after", b"1")])
SERVER_ERROR_MESSAGES = build_error_messages(500, "Server error")


class AccessLogMiddleware:
    """Gives each request its id, logs it once it is over, and masks what the application raises.

    The id is in `scope["state"]["request_id"]` and in the response's `X-Request-Id`. `answered`
    is told of each request that was answered.
    """

    def __init__(
        self,
        app: ASGIApp,
        on_response: Callable[[Scope], None] | None = None,
        fast_path: Callable[..., Any] | None = None,
    ) -> None:
        self.app = app
        self.on_response = on_response
        self.fast_path = fast_path
        """For the protocol, which may answer without the application."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        identifier = get_request_id(scope["headers"])
        scope.setdefault("state", {})["request_id"] = identifier
        exchange = _ResponseRecorder(send, identifier, is_head=scope["method"] == "HEAD")
        error = await self._run_app(scope, receive, exchange)
        if self.on_response is not None:
            self.on_response(scope)
        log_request(
            identifier,
            method=scope["method"],
            route=scope.get(SCOPE_ROUTE),
            status=exchange.status,
            duration_ms=(time.perf_counter() - started) * 1000,
            sent_bytes=exchange.sent_bytes,
            key_id=scope.get(SCOPE_KEY_ID),
            error=error,
        )

    async def _run_app(
        self, scope: Scope, receive: Receive, exchange: "_ResponseRecorder"
    ) -> BaseException | None:
        """Runs the application; the exception that its log line is to show, if any.

        Exceptions end here: the server would only log them again. A response that was begun
        and not ended makes the server close the connection, so that the client notices.
        """
        try:
            await self.app(scope, receive, exchange.send)
            await exchange.send_unless_started(SERVER_ERROR_MESSAGES)  # should it have forgotten to
        except (ClientDisconnectedError, ClientDisconnect):
            exchange.status = scope.get(SCOPE_EARLY_STATUS, CLIENT_CLOSED_REQUEST)
        except asyncio.CancelledError:  # the time to drain is over
            await exchange.send_unless_started(UNAVAILABLE_MESSAGES)
        except Exception as error:
            await exchange.send_unless_started(SERVER_ERROR_MESSAGES)
            return error
        return None


class _ResponseRecorder:
    """What was sent of one response."""

    def __init__(self, send: Send, request_id: str, *, is_head: bool) -> None:
        self._send = send
        self._request_id_header = (b"x-request-id", request_id.encode("latin-1"))
        self._is_head = is_head
        self.status = 0
        self.sent_bytes = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": [*message.get("headers", ()), self._request_id_header]}
        elif not self._is_head:
            self.sent_bytes += len(message.get("body", b""))
        await self._send(message)

    async def send_unless_started(self, messages: tuple[Message, Message]) -> None:
        """Sends the answer unless another was begun."""
        if self.status:
            return
        for message in messages:
            await self.send(message)
