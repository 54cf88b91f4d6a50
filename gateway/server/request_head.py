"""Rules for the head of a request that the parser does not enforce (RFC 9112)."""

import re

import httptools

Headers = list[tuple[bytes, bytes]]

_HOST = re.compile(rb"[0-9A-Za-z._~%!$&'()*+,;=:\[\]-]+\Z")  # RFC 3986, 3.2.2 and 3.2.3
_ABSOLUTE_TARGET = re.compile(rb"https?://([^/?#]+)/?", re.IGNORECASE)


class ProtocolError(Exception):
    """A request rejected by the protocol itself, with this status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def invalid_url_error() -> ProtocolError:
    """Return the error for a request target that is no URL."""
    return ProtocolError(400, "Malformed HTTP request: invalid URL")


def check_head(http_version: str, headers: Headers) -> None:
    """Check the version, the framing and the Host of a request. Raises ProtocolError."""
    if http_version not in ("1.0", "1.1"):
        raise ProtocolError(505, f"HTTP/{http_version} is not supported: use HTTP/1.1")
    codings = [value for name, value in headers if name == b"transfer-encoding"]
    if codings and http_version == "1.0":  # RFC 9112, 6.1: the framing is faulty
        raise ProtocolError(400, "A request of HTTP/1.0 must not have a Transfer-Encoding header")
    if codings and [value.strip().lower() for value in codings] != [b"chunked"]:
        raise ProtocolError(501, "Transfer-Encoding must be chunked: other codings are not decoded")
    _check_host(http_version, [value for name, value in headers if name == b"host"])


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
