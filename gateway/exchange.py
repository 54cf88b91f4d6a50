"""One request and its response in HTTP/1.1 (RFC 9112), shared by server, middleware and caches.

The header fields of a request and the rules for its head, the address of its client, keys of the
ASGI scope, request ids, the access log line, and the error responses that are sent without running
the application.
The server, the middleware and the caches import this module, so they need not import each other.
"""

import functools
import http
import ipaddress
import logging
import random
import re
import time
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

import httptools
from starlette.types import Scope

from gateway.metrics import NO_OPERATION, counters
from gateway.server.logs import contains_secret
from rest.errors import (
    JSON_MEDIA_TYPE,
    ErrorSource,
    HttpError,
    bad_request_error,
    http_version_error,
    unknown_coding_error,
)
from rest.scope_members import SCOPE_COUNTED_AS, SCOPE_FAILURE, SCOPE_OPERATION, SCOPE_ROUTE

_SCOPE_FIELDS: Final = "floorgate.header_fields"


Header = tuple[bytes, bytes]
HeaderList = list[Header]


def serialize_headers(headers: HeaderList) -> bytes:
    return b"".join(b"%b: %b\r\n" % header for header in headers)


class HeaderFields(dict[bytes, bytes]):
    """The value of each field by name; lines of one field are one list (RFC 9110, 5.3).

    >>> fields = HeaderFields([(b"accept", b"text/html"), (b"host", b"a"), (b"accept", b"*/*")])
    >>> fields[b"accept"], fields.list_lines(b"accept"), fields.list_lines(b"via")
    (b'text/html, */*', [b'text/html', b'*/*'], [])
    """

    __slots__ = ("_lines", "headers")

    def __init__(self, headers: Sequence[tuple[bytes, bytes]]) -> None:
        super().__init__(headers)
        self.headers = headers
        self._lines: dict[bytes, list[bytes]] = {}
        """The lines of each field, if one has several; else empty."""
        if len(self) < len(headers):
            for name, value in headers:
                self._lines.setdefault(name, []).append(value)
            self.update((name, b", ".join(lines)) for name, lines in self._lines.items())

    def list_lines(self, name: bytes) -> list[bytes]:
        """Return the value of each line of a field."""
        if self._lines:
            return self._lines.get(name, [])
        return [self[name]] if name in self else []


def fields_of(scope: Scope) -> HeaderFields:
    """Return the header fields of a request, found once however many layers look at them."""
    fields: HeaderFields | None = scope.get(_SCOPE_FIELDS)
    # A copy of a scope may have other headers.
    if fields is None or fields.headers is not scope["headers"]:
        fields = scope[_SCOPE_FIELDS] = HeaderFields(scope["headers"])
    return fields


# The address of a client: the peer of the connection, or the one that a proxy vouches for.
#
# A proxy appends the address that it was called from to `X-Forwarded-For`. Whatever stands before
# was sent by the client, so it can be anything.


_IPV6_CLIENT_BITS = 64
"""Prefix that one IPv6 customer gets at least (RFC 6177): its addresses are one client."""
_WITH_PORT = re.compile(r"\[([^\[\]]*)\](?::[0-9]+)?|([^:]*):[0-9]+")
_LONGEST = len("[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:65535")


def get_forwarded_address(
    peer: str, headers: Iterable[tuple[bytes, bytes]], proxy_hops: int
) -> str:
    """Return the address that the outermost of `proxy_hops` trusted proxies was called from.

    That is the entry `proxy_hops` from the end of all `X-Forwarded-For` lines together. Return
    the peer if there are fewer entries, or if that one is no address.

    >>> get_forwarded_address("10.0.0.1", [(b"x-forwarded-for", b"1.2.3.4, 5.6.7.8:90")], 1)
    '5.6.7.8'
    """
    lines = [value for name, value in headers if name == b"x-forwarded-for"]
    entries = b",".join(lines).split(b",")
    if len(entries) < proxy_hops:
        return peer
    return normalize_address(entries[-proxy_hops].decode("latin-1").strip()) or peer


@functools.lru_cache(maxsize=10_000)
def normalize_address(text: str) -> str:
    """Return an IP address in its one usual form, without a port; empty if it is none.

    >>> [normalize_address(text) for text in ("[2001:DB8::1]:5", "::ffff:1.2.3.4", "unknown")]
    ['2001:db8::1', '1.2.3.4', '']
    """
    if len(text) > _LONGEST or "%" in text:  # a zone is of the proxy's machine
        return ""
    with_port = _WITH_PORT.fullmatch(text)
    try:
        address = ipaddress.ip_address(with_port[1] or with_port[2] if with_port else text)
    except ValueError:
        return ""
    return str(getattr(address, "ipv4_mapped", None) or address)


@functools.lru_cache(maxsize=10_000)
def group_address(address: str) -> str:
    """Return what limits per address count by: an IPv4 address, or the /64 of an IPv6 address.

    >>> group_address("192.0.2.7"), group_address("2001:db8::1:2:3:4")
    ('192.0.2.7', '2001:db8::/64')
    """
    normalized = normalize_address(address.partition("%")[0])
    if ":" not in normalized:
        return normalized or address
    return str(ipaddress.ip_network((normalized, _IPV6_CLIENT_BITS), strict=False))


# Weights of content negotiation: `Accept` and `Accept-Encoding` (RFC 9110, 12.4.2).


# Some old Java clients leave out the zero (`*/*; q=.2`) and others send more than three decimals.
_WEIGHT = re.compile(r"0?\.[0-9]+|0\.?|1(?:\.0*)?")


def parse_weights(header: str) -> dict[str, float]:
    """Return the weight of each member of a header, by its name in lower case.

    A weight is 1 where none is given and 0 where it is malformed. Other parameters are ignored.

    >>> parse_weights("gzip;q=0.8, zstd, *;q=0")
    {'gzip': 0.8, 'zstd': 1.0, '*': 0.0}
    """
    weights = {}
    for member in header.lower().split(","):
        name, *parameters = member.split(";")
        weights[name.strip()] = _find_weight(parameters)
    return weights


def accepts_html(accept: str) -> bool:
    """Return whether a client is a browser, by its `Accept` header: those name HTML.

    >>> accepts_html("text/html,application/xhtml+xml,*/*;q=0.8"), accepts_html("*/*")
    (True, False)
    """
    return parse_weights(accept).get("text/html", 0.0) > 0


def _find_weight(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            return float(value) if _WEIGHT.fullmatch(value.strip()) else 0.0
    return 1.0


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

SCOPE_TRACE_ID = "floorgate.trace_id"
"""Scope member: the id of the trace of a request, while traces are on."""
SCOPE_TRACE_RESPONSE = "floorgate.trace_response"
"""Scope member: the value of the response's `traceresponse`, if the request is recorded."""

TRACEPARENT_HEADER: Final = b"traceparent"
TRACE_RESPONSE_HEADER: Final = b"traceresponse"
EXPLAIN_HEADER: Final = b"floorgate-explain"
REQUEST_ID_HEADER: Final = b"x-request-id"

MAX_WRITE_BYTES = 256 << 10
"""The most of a response that is written at a time: a slow reader holds no more than that."""

RawHeaders = Iterable[tuple[bytes, bytes]]

_access_log = logging.getLogger("floorgate.access")
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


def wants_explanation(fields: HeaderFields) -> bool:
    """Return whether a client asks how its request is processed: by any value but `false`."""
    return EXPLAIN_HEADER in fields and any(
        value.strip().lower() not in (b"", b"false") for value in fields.list_lines(EXPLAIN_HEADER)
    )


def get_request_id(fields: HeaderFields) -> str:
    """Return the client's `X-Request-Id` if it is short, plain and not an API key, or a new one."""
    if REQUEST_ID_HEADER in fields:
        request_id = fields.list_lines(REQUEST_ID_HEADER)[0].decode("latin-1")
        if _SAFE_REQUEST_ID.match(request_id) and not contains_secret(request_id):
            return request_id
    return new_request_id()


def find_operation_name(scope: Scope) -> str | None:
    """Return the name of a request's operation, unless a client has chosen one that is no name."""
    name: str | None = scope.get(SCOPE_OPERATION)
    if not name or not _OPERATION_NAME.match(name) or contains_secret(name):
        return None
    return name


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
        """True if nothing that the line shows can change, so that it may be formatted later."""
        return self.exc_info is None


_RECORD_MEMBERS = vars(logging.makeLogRecord({"name": _access_log.name, "msg": "request"}))


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
    counted_as: str | None = None,
    error_codes: Collection[str] = (),
    error: BaseException | None = None,
    failure: str | None = None,
    trace_id: str | None = None,
) -> None:
    """Log one request, and count it. Path, query, headers and body must never be logged.

    `operation` may be any text that a client sent; only a name of moderate length is logged. Of
    what `counted_as` and `route` may be, metrics have a series each: it must be no client's text.
    """
    code = max(error_codes) if error_codes else ""
    counters.count_request(counted_as or route or NO_OPERATION, status, code, duration_ms / 1000)
    is_warning = status >= 500 or "SERVER_ERROR" in error_codes  # which GraphQL sends with a 200
    level = logging.ERROR if error else logging.WARNING if is_warning else logging.INFO
    if not _access_log.isEnabledFor(level):
        return
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
    if error or failure:
        fields["failure"] = type(error).__name__ if error else failure
    if trace_id is not None:
        fields["trace_id"] = trace_id
    _access_log.handle(_RequestRecord(level, error, extra={"fields": fields}))


def log_scope(
    scope: Scope,
    started: float,
    status: int,
    *,
    sent_bytes: int = 0,
    reason: str | None = None,
    error_codes: Collection[str] = (),
    error: BaseException | None = None,
) -> None:
    """Log the request of a scope, which has `started` at this time of `time.perf_counter()`."""
    log_request(
        scope["state"]["request_id"],
        method=scope["method"],
        route=scope.get(SCOPE_ROUTE),
        status=status,
        duration_ms=(time.perf_counter() - started) * 1000,
        sent_bytes=sent_bytes,
        client=get_client_address(scope),
        key_id=scope.get(SCOPE_KEY_ID),
        reason=reason,
        operation=scope.get(SCOPE_OPERATION),
        counted_as=scope.get(SCOPE_COUNTED_AS),
        error_codes=error_codes,
        error=error,
        failure=scope.get(SCOPE_FAILURE),
        trace_id=scope.get(SCOPE_TRACE_ID),
    )


def serialize_error(error: HttpError, source: ErrorSource, *, closes: bool) -> tuple[bytes, bytes]:
    """Return the header lines and the body of an error response that the server sends itself."""
    body = error.build_body(source)
    headers = {
        "content-type": JSON_MEDIA_TYPE,
        "content-length": str(len(body)),
        **error.headers,
        **({"connection": "close"} if closes else {}),
    }
    lines = "".join(f"{name.lower()}: {value}\r\n" for name, value in headers.items())
    return lines.encode(), body


_PHRASES = {status.value: status.phrase for status in http.HTTPStatus}
STATUS_LINES = {
    status: f"HTTP/1.1 {status} {_PHRASES.get(status, '')}\r\n".encode()
    for status in range(100, 600)
}
_HOST = re.compile(rb"[0-9A-Za-z._~%!$&'()*+,;=:\[\]-]+\Z")  # RFC 3986, 3.2.2 and 3.2.3
_ABSOLUTE_TARGET = re.compile(rb"https?://([^/?#]+)/?", re.IGNORECASE)


def invalid_url_error() -> HttpError:
    return bad_request_error("Malformed HTTP request: invalid URL")


def to_http_error(error: httptools.HttpParserError) -> HttpError:
    """Convert an error of the parser. Its messages are fixed: they quote nothing of the request."""
    if isinstance(error, httptools.HttpParserCallbackError):
        return invalid_url_error()
    return bad_request_error(f"Malformed HTTP request: {error}")


def check_head(http_version: str, headers: HeaderList) -> None:
    """Check the version, the framing and the Host of a request, which the parser does not.

    Raises HttpError.
    """
    if http_version not in ("1.0", "1.1"):
        raise http_version_error(http_version)
    codings, hosts = list[bytes](), list[bytes]()
    for name, value in headers:
        if name == b"host":
            hosts.append(value)
        elif name == b"transfer-encoding":
            codings.append(value)
    if codings and http_version == "1.0":  # RFC 9112, 6.1: the framing is faulty
        raise bad_request_error("A request of HTTP/1.0 must not have a Transfer-Encoding header")
    if codings and [value.strip().lower() for value in codings] != [b"chunked"]:
        raise unknown_coding_error()
    # A missing, repeated or malformed Host is an error (RFC 9112, 3.2).
    if len(hosts) != 1 and (hosts or http_version != "1.0"):
        raise bad_request_error("A request must have exactly one Host header")
    if hosts and not _HOST.match(hosts[0]):
        raise bad_request_error("The Host header must be a host and an optional port")


def to_origin_form(target: bytes, headers: HeaderList) -> bytes:
    """Return the path and query of a target, and let the host of an absolute one be the Host.

    A server must ignore the Host header of a request with an absolute target (RFC 9112, 3.2.2).
    Raises HttpError.
    """
    if target.startswith(b"/") or target == b"*":
        return target
    absolute = _ABSOLUTE_TARGET.match(target)
    if absolute is None or not _HOST.match(absolute[1]):  # nor a user name (RFC 9110, 4.2.4)
        raise invalid_url_error()
    try:
        httptools.parse_url(target)
    except httptools.HttpParserInvalidURLError as error:
        raise invalid_url_error() from error
    headers[:] = [header for header in headers if header[0] != b"host"]
    headers.append((b"host", absolute[1]))
    return b"/" + target[absolute.end() :]
