"""Rules for the head of a request that the parser does not enforce (RFC 9112)."""

import re

import httptools

from gateway.server.config import ConnectionLimits
from rest.errors import (
    HttpError,
    headers_too_large_error,
    http_version_error,
    unknown_coding_error,
    url_too_long_error,
)

Headers = list[tuple[bytes, bytes]]

CODES = {
    400: "BAD_REQUEST",
    408: "REQUEST_TIMEOUT",
    414: "URI_TOO_LONG",
    431: "HEADERS_TOO_LARGE",
    501: "NOT_IMPLEMENTED",
    505: "HTTP_VERSION_NOT_SUPPORTED",
}
"""Codes of the errors of the protocol, by status."""
_HOST = re.compile(rb"[0-9A-Za-z._~%!$&'()*+,;=:\[\]-]+\Z")  # RFC 3986, 3.2.2 and 3.2.3
_ABSOLUTE_TARGET = re.compile(rb"https?://([^/?#]+)/?", re.IGNORECASE)


class ProtocolError(HttpError):
    """A request rejected by the protocol itself, with this status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message, CODES[status])


def invalid_url_error() -> ProtocolError:
    """Return the error for a request target that is no URL."""
    return ProtocolError(400, "Malformed HTTP request: invalid URL")


def to_protocol_error(error: httptools.HttpParserError) -> ProtocolError:
    """Convert an error of the parser. Its messages are fixed: they quote nothing of the request."""
    if isinstance(error, httptools.HttpParserCallbackError):
        return invalid_url_error()
    return ProtocolError(400, f"Malformed HTTP request: {error}")


def to_url_error(limits: ConnectionLimits) -> ProtocolError:
    """Return the error for a target that is too long."""
    return ProtocolError(414, url_too_long_error(limits.max_url_bytes).message)


def to_headers_error(limits: ConnectionLimits) -> ProtocolError:
    """Return the error for headers that are too large."""
    return ProtocolError(431, headers_too_large_error(limits.max_header_bytes).message)


def check_sizes(
    target: bytes, headers: Headers, limits: ConnectionLimits, may_be_large: bool
) -> None:
    """Check the size of a head; its headers are added up only if they `may_be_large`.

    Raises ProtocolError.
    """
    if len(target) > limits.max_url_bytes:
        raise to_url_error(limits)
    if len(headers) > limits.max_headers:
        raise ProtocolError(431, f"A request must not have more than {limits.max_headers} headers")
    if may_be_large:
        size = sum(len(name) + len(value) for name, value in headers)
        if size > limits.max_header_bytes:
            raise to_headers_error(limits)


def check_head(http_version: str, headers: Headers) -> None:
    """Check the version, the framing and the Host of a request. Raises ProtocolError."""
    if http_version not in ("1.0", "1.1"):
        raise ProtocolError(505, http_version_error(http_version).message)
    codings, hosts = list[bytes](), list[bytes]()
    for name, value in headers:
        if name == b"host":
            hosts.append(value)
        elif name == b"transfer-encoding":
            codings.append(value)
    if codings and http_version == "1.0":  # RFC 9112, 6.1: the framing is faulty
        raise ProtocolError(400, "A request of HTTP/1.0 must not have a Transfer-Encoding header")
    if codings and [value.strip().lower() for value in codings] != [b"chunked"]:
        raise ProtocolError(501, unknown_coding_error().message)
    _check_host(http_version, hosts)


def _check_host(http_version: str, hosts: list[bytes]) -> None:
    """Reject a missing, repeated or malformed Host (RFC 9112, 3.2)."""
    if len(hosts) != 1 and (hosts or http_version != "1.0"):
        raise ProtocolError(400, "A request must have exactly one Host header")
    if hosts and not _HOST.match(hosts[0]):
        raise ProtocolError(400, "The Host header must be a host and an optional port")


def to_origin_form(target: bytes, headers: Headers) -> bytes:
    """Return the path and query of a target, and let the host of an absolute one be the Host.

    A server must ignore the Host header of a request with an absolute target (RFC 9112, 3.2.2).
    Raises ProtocolError.
    """
    if target.startswith(b"/") or target == b"*":
        return target
    absolute = _ABSOLUTE_TARGET.match(target)
    if absolute is None:
        raise invalid_url_error()
    authority = absolute[1]
    try:
        httptools.parse_url(target)
    except httptools.HttpParserInvalidURLError as error:
        raise invalid_url_error() from error
    if not _HOST.match(authority):  # a user name is an error too (RFC 9110, 4.2.4)
        raise invalid_url_error()
    headers[:] = [header for header in headers if header[0] != b"host"]
    headers.append((b"host", authority))
    return b"/" + target[absolute.end() :]
