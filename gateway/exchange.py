"""Definitions for one request and its response, shared by server, middleware and caches.

Keys of the ASGI scope, request ids, the access log line, and the error responses that are sent
without running the application. The server, the middleware and the caches import this module, so
they need not import each other.
"""

import logging
import random
import re
import time
from collections.abc import Collection, Iterable
from typing import Any, Final

from starlette.types import Message, Scope

from gateway.header_fields import fields_of
from gateway.redaction import contains_secret
from rest.errors import JSON_MEDIA_TYPE, ErrorSource, HttpError

SCOPE_KEY_ID = "floorgate.key_id"
"""Scope member: id of the caller's API key (not the key), set by authentication."""
SCOPE_AUTHENTICATED_KEY = "floorgate.key"
"""Scope member: record and digest of the caller's API key (not the key), set by authentication."""
SCOPE_EARLY_STATUS = "floorgate.early_status"
"""Scope member: status that the protocol sent while the body was still arriving."""

SCOPE_WAITED_SECONDS = "floorgate.waited_seconds"
"""How long the request waited to be authenticated."""

SCOPE_RATE_LIMIT_HEADERS = "floorgate.rate_limit_headers"
"""Scope member: header fields of the response that tell the rate limit of the key, set by
authentication."""

SCOPE_CLIENT_ADDRESS = "floorgate.client_address"
"""Scope member: the client's address as the proxy in front of the gateway vouches for it."""

EXPLAIN_HEADER: Final = b"floorgate-explain"
_REQUEST_ID_HEADER: Final = b"x-request-id"

MAX_WRITE_BYTES = 256 << 10
"""Of a response, written to a connection at a time: a slow reader holds no more than that there."""

RawHeaders = Iterable[tuple[bytes, bytes]]

_logger = logging.getLogger("floorgate.access")
_SAFE_REQUEST_ID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._:=+-]{0,63}\Z")
_METHOD = re.compile(r"[A-Z-]{1,20}\Z")
_OPERATION_NAME = re.compile(r"[_A-Za-z][_0-9A-Za-z]{0,63}\Z")
_MAX_LOGGED_CODES = 10
# Request ids are not secrets: the Mersenne Twister spares a system call per request.
_random = random.Random()  # noqa: S311


def new_request_id() -> str:
    """Return 32 hexadecimal digits that sort by time: 48 bits of milliseconds, 80 random bits.

    >>> earlier, later = new_request_id(), new_request_id()
    >>> len(earlier), earlier[:12] <= later[:12]
    (32, True)
    """
    number = (time.time_ns() // 1_000_000 << 80) | _random.getrandbits(80)
    return number.to_bytes(16).hex()  # a third of the time of formatting both parts


def get_request_id(scope: Scope) -> str:
    """Return the client's `X-Request-Id` if it is short, plain and not an API key, or a new one."""
    fields = fields_of(scope)
    if _REQUEST_ID_HEADER in fields:
        request_id = fields.list_lines(_REQUEST_ID_HEADER)[0].decode("latin-1")
        if _SAFE_REQUEST_ID.match(request_id) and not contains_secret(request_id):
            return request_id
    return new_request_id()


def has_request_id(scope: Scope) -> bool:
    """Return whether the client has sent an `X-Request-Id`."""
    return _REQUEST_ID_HEADER in fields_of(scope)


def get_client_address(scope: Scope) -> str:
    """Return the IP address of the client of a request; empty if the server does not know it.

    >>> get_client_address({"type": "http", "client": ("192.0.2.7", 50123)})
    '192.0.2.7'
    """
    address: str | None = scope.get(SCOPE_CLIENT_ADDRESS)
    if address is None:
        peer = scope.get("client")
        address = peer[0] if peer else ""
    return address


class _RequestRecord(logging.LogRecord):
    """A record that does not look up what no line has: where it is from, its process and thread.

    That takes longer than all else that is done to log a request.
    """

    def __init__(
        self, level: int, error: BaseException | None, extra: dict[str, dict[str, Any]]
    ) -> None:
        members = _RECORD_MEMBERS.copy()
        members["levelno"] = level
        members["levelname"] = logging.getLevelName(level)
        members["created"] = time.time()
        members.update(extra)
        if error is not None:
            members["exc_info"] = type(error), error, error.__traceback__
        self.__dict__ = members

    @property
    def is_final(self) -> bool:
        """Whether nothing that the line shows can change, so that it may be formatted later."""
        return self.exc_info is None


_RECORD_MEMBERS = vars(logging.makeLogRecord({"name": _logger.name, "msg": "request"}))


def log_request(
    request_id: str,
    *,
    method: str | None,
    route: str | None,
    status: int,
    duration_ms: float,
    sent_bytes: int,
    client: str = "",
    key_id: str | None = None,
    reason: str | None = None,
    operation: str | None = None,
    error_codes: Collection[str] = (),
    error: BaseException | None = None,
    cause: str | None = None,
) -> None:
    """Log one request. Path, query, headers and body must never be logged.

    `operation` may be any text that a client sent; only a name of moderate length is logged.
    """
    is_warning = status >= 500 or "SERVER_ERROR" in error_codes  # which GraphQL sends with a 200
    level = logging.ERROR if error else logging.WARNING if is_warning else logging.INFO
    fields: dict[str, Any] = {
        "request_id": request_id,
        "method": method if method and _METHOD.match(method) else None,
        "route": route,
        "status": status,
        "duration_ms": round(duration_ms, 3),
        "bytes": sent_bytes,
        "key_id": key_id,
        "client": client or None,
    }
    if reason is not None:
        fields["reason"] = reason
    if operation and _OPERATION_NAME.match(operation):
        fields["operation"] = operation
    if error_codes:
        fields["errors"] = sorted(set(error_codes))[:_MAX_LOGGED_CODES]
    if cause is not None:
        fields["cause"] = cause
    if _logger.isEnabledFor(level):
        _logger.handle(_RequestRecord(level, error, extra={"fields": fields}))


def build_error_messages(error: HttpError, source: ErrorSource) -> tuple[Message, Message]:
    """Build the two ASGI messages of an error response."""
    body = error.build_body(source)
    start = {
        "type": "http.response.start",
        "status": error.status,
        "headers": [
            (b"content-type", JSON_MEDIA_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            *((name.lower().encode(), value.encode()) for name, value in error.headers.items()),
        ],
    }
    return start, {"type": "http.response.body", "body": body, "more_body": False}
