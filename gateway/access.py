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

from gateway.logs import is_secret
from rest.reading import ClientGone

ROUTE = "floorgate.route"
"""Scope member with the template of the matched route, set by the router."""
KEY_ID = "floorgate.key_id"
"""Scope member with the id of the caller's key, never the key, set when it is authenticated."""
KEY = "floorgate.key"
"""Scope member with what is known of the caller's key, never the key, set with its id."""
REFUSED_WITH = "floorgate.refused_with"
"""Scope member with the status that the protocol answered while the body was arriving."""
CLIENT_GONE = 499
"""Logged, never sent: nginx's status for a client that left before its answer."""

Headers = Iterable[tuple[bytes, bytes]]

_logger = logging.getLogger("floorgate.access")
_SAFE_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._:=+-]{0,63}\Z")
_random = random.Random()  # an id is no secret, and need not ask the kernel for each
_METHOD = re.compile(r"[A-Z-]{1,20}\Z")


def new_request_id() -> str:
    """32 hexadecimal digits that sort by time: 48 bits of milliseconds, then 80 random bits."""
    return f"{time.time_ns() // 1_000_000:012x}{_random.getrandbits(80):020x}"


def request_id(headers: Headers) -> str:
    """The client's `X-Request-Id` if it is short, plain and no API key, else a new one."""
    for name, value in headers:
        if name == b"x-request-id":
            given = value.decode("latin-1")
            return given if _SAFE_ID.match(given) and not is_secret(given) else new_request_id()
    return new_request_id()


def log_request(
    identifier: str,
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
        "request_id": identifier,
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


def json_response(status: int, message: str, headers: Headers = ()) -> tuple[Message, Message]:
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


UNAVAILABLE = json_response(503, "Service unavailable", [(b"retry-after", b"1")])
FAULT = json_response(500, "Server error")


class Access:
    """Gives each request its id, logs it once it is over, and masks what the application raises.

    The id is in `scope["state"]["request_id"]` and in the response's `X-Request-Id`. `answered`
    is told of each request that was answered.
    """

    def __init__(
        self,
        app: ASGIApp,
        answered: Callable[[Scope], None] | None = None,
        shortcut: Callable[..., Any] | None = None,
    ) -> None:
        self.app = app
        self.answered = answered
        self.shortcut = shortcut
        """For the protocol, which may answer without the application."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started = time.perf_counter()
        identifier = request_id(scope["headers"])
        scope.setdefault("state", {})["request_id"] = identifier
        exchange = _Exchange(send, identifier, is_head=scope["method"] == "HEAD")
        error = await self._answer(scope, receive, exchange)
        if self.answered is not None:
            self.answered(scope)
        log_request(
            identifier,
            method=scope["method"],
            route=scope.get(ROUTE),
            status=exchange.status,
            duration_ms=(time.perf_counter() - started) * 1000,
            sent_bytes=exchange.sent_bytes,
            key_id=scope.get(KEY_ID),
            error=error,
        )

    async def _answer(
        self, scope: Scope, receive: Receive, exchange: "_Exchange"
    ) -> BaseException | None:
        """Runs the application; the exception that its log line is to show, if any.

        Exceptions end here: the server would only log them again. A response that was begun
        and not ended makes the server close the connection, so that the client notices.
        """
        try:
            await self.app(scope, receive, exchange.send)
            await exchange.answer_instead(FAULT)  # should it have forgotten to
        except (ClientGone, ClientDisconnect):
            exchange.status = scope.get(REFUSED_WITH, CLIENT_GONE)
        except asyncio.CancelledError:  # the time to drain is over
            await exchange.answer_instead(UNAVAILABLE)
        except Exception as error:
            await exchange.answer_instead(FAULT)
            return error
        return None


class _Exchange:
    """What was sent of one response."""

    def __init__(self, send: Send, identifier: str, *, is_head: bool) -> None:
        self._send = send
        self._header = (b"x-request-id", identifier.encode("latin-1"))
        self._is_head = is_head
        self.status = 0
        self.sent_bytes = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": [*message.get("headers", ()), self._header]}
        elif not self._is_head:
            self.sent_bytes += len(message.get("body", b""))
        await self._send(message)

    async def answer_instead(self, messages: tuple[Message, Message]) -> None:
        """Sends the answer unless another was begun."""
        if self.status:
            return
        for message in messages:
            await self.send(message)
