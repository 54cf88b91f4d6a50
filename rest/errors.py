"""Error responses: one body for every status, with a code from the table of error codes."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import orjson
from graphql import GraphQLError
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rest.error_codes import ERROR_CODES, ERRORS_PATH
from rest.request_body import BodyTooLargeError
from rest.scope_members import SCOPE_CAUSE, SCOPE_ERROR_CODES
from schema.errors import SERVER_ERROR_MESSAGE, UNAVAILABLE_MESSAGE, Cause, RequestError

STATUS_BY_CODE = {code: entry.status for code, entry in ERROR_CODES.items()}
"""HTTP status by error code."""

Rename: TypeAlias = Callable[[str], str]
"""Translates a GraphQL argument name to the REST name."""

RETRY_AFTER_HEADERS = {"Retry-After": "1"}
AUTHENTICATE_HEADERS = {"WWW-Authenticate": 'Key realm="floorgate"'}
JSON_MEDIA_TYPE = "application/json"
SCOPE_BASE_URL = "floorgate.base_url"
"""Scope member: the configured URL of the service, absent if there is none."""


class ErrorSource(NamedTuple):
    """What the body of an error says about the request that it ends."""

    request_id: str
    base_url: str = ""
    """The URL of the service; empty if the request ended before its `Host` was known."""

    @classmethod
    def from_scope(cls, scope: Scope, request_id: str | None = None) -> "ErrorSource":
        """Return the source of a request's error.

        >>> scope = {"type": "http", "scheme": "https", "headers": [(b"host", b"maps.example")]}
        >>> ErrorSource.from_scope(scope, "r1")
        ErrorSource(request_id='r1', base_url='https://maps.example')
        """
        if request_id is None:
            request_id = scope.get("state", {}).get("request_id", "")
        base_url = scope.get(SCOPE_BASE_URL)
        if base_url is None:
            host = next((value for name, value in scope["headers"] if name == b"host"), b"")
            base_url = f"{scope['scheme']}://{host.decode('latin-1')}" if host else ""
        return cls(request_id, base_url)


class HttpError(Exception):
    """A request that ends with an error response.

    `code` is the error's code in GraphQL; `fields` maps an input's name to its errors.
    """

    def __init__(
        self,
        status: int,
        message: str,
        code: str,
        *,
        headers: Mapping[str, str] | None = None,
        fields: Mapping[str, Sequence[str]] | None = None,
        cause: Cause | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.headers = dict(headers or {})
        self.fields = fields
        self.cause = cause
        """Of a 503, for the log: clients do not see it."""

    def describe(self, source: ErrorSource) -> dict[str, Any]:
        """Return the body: `message`, `code`, `request_id`, `docs`; a 422 has `fields` too.

        >>> not_found_error().describe(ErrorSource("r1", "https://maps.example"))["docs"]
        'https://maps.example/v1/errors#NOT_FOUND'
        """
        return {
            "message": self.message,
            **({"fields": self.fields or {}} if self.status == 422 else {}),
            "code": self.code,
            "request_id": source.request_id,
            "docs": f"{source.base_url}{ERRORS_PATH}#{self.code}",
        }

    def build_body(self, source: ErrorSource) -> bytes:
        """Return the body as JSON."""
        return orjson.dumps(self.describe(source))

    def to_response(self) -> "ErrorResponse":
        """Return the response, always JSON."""
        return ErrorResponse(self)


class ErrorResponse(Response):
    """The response to a request that ends with an error; its body is made when it is sent."""

    def __init__(self, error: HttpError) -> None:
        super().__init__(status_code=error.status)
        self.error = error

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response, as an ASGI application."""
        error = self.error
        note_errors(scope, [error])
        body = error.build_body(ErrorSource.from_scope(scope))
        response = Response(body, error.status, error.headers, JSON_MEDIA_TYPE)
        await response(scope, receive, send)


def missing_key_error() -> HttpError:
    """Return the 401 for a request without API key."""
    return _unauthenticated_error("No API key found in request")


def duplicate_key_error() -> HttpError:
    """Return the 401 for a request with more than one API key in one place."""
    return _unauthenticated_error("Duplicate API key found")


def _unauthenticated_error(message: str) -> HttpError:
    return HttpError(401, message, "UNAUTHENTICATED", headers=AUTHENTICATE_HEADERS)


def invalid_key_error() -> HttpError:
    """Return the 403 for a key that is unknown, revoked, expired or malformed."""
    return HttpError(403, "Invalid authentication credentials", "FORBIDDEN")


def rate_limit_error(wait_seconds: float) -> HttpError:
    """Return the 429, with the whole seconds to wait (RFC 9110, 10.2.3), rounded up."""
    headers = {"Retry-After": str(math.ceil(wait_seconds))}
    return HttpError(429, "API rate limit exceeded", "RATE_LIMITED", headers=headers)


def bad_keys_error(wait_seconds: float) -> HttpError:
    """Return the 429 for a client that keeps sending invalid keys. It says nothing about a key."""
    headers = {"Retry-After": str(math.ceil(wait_seconds))}
    return HttpError(429, "Too many invalid API keys", "RATE_LIMITED", headers=headers)


def service_unavailable_error(cause: Cause) -> HttpError:
    """Return the 503; raised from an error that has a cause, that is logged instead."""
    code, headers = "SERVICE_UNAVAILABLE", RETRY_AFTER_HEADERS
    return HttpError(503, UNAVAILABLE_MESSAGE, code, headers=headers, cause=cause)


def server_error() -> HttpError:
    """Return the 500, which never has details."""
    return HttpError(500, SERVER_ERROR_MESSAGE, "SERVER_ERROR")


def not_found_error() -> HttpError:
    """Return the 404 for what does not exist or is not visible to the key."""
    return HttpError(404, "Not found", "NOT_FOUND")


def method_not_allowed_error(allowed: Sequence[str]) -> HttpError:
    """Return the 405 of a path with other methods."""
    return HttpError(
        405, "Method not allowed", "METHOD_NOT_ALLOWED", headers={"Allow": ", ".join(allowed)}
    )


def body_too_large_error(error: BodyTooLargeError) -> HttpError:
    """Return the 413; its message names the limit."""
    return HttpError(413, str(error), "BODY_TOO_LARGE")


def url_too_long_error(max_bytes: int) -> HttpError:
    """Return the 414; its message names the limit."""
    return HttpError(414, f"The address must not be over {max_bytes} bytes", "URI_TOO_LONG")


def headers_too_large_error(max_bytes: int) -> HttpError:
    """Return the 431; its message names the limit."""
    return HttpError(431, f"Headers must not be over {max_bytes} bytes in all", "HEADERS_TOO_LARGE")


def request_timeout_error(max_seconds: float) -> HttpError:
    """Return the 408; its message names the limit."""
    message = f"A request must arrive within {max_seconds:g} seconds"
    return HttpError(408, message, "REQUEST_TIMEOUT")


def unknown_coding_error() -> HttpError:
    """Return the 501 for a body that is sent in another way than in whole or in chunks."""
    message = "Transfer-Encoding must be chunked: other codings are not decoded"
    return HttpError(501, message, "NOT_IMPLEMENTED")


def http_version_error(version: str) -> HttpError:
    """Return the 505 for a version of HTTP that is not spoken."""
    message = f"HTTP/{version} is not supported: use HTTP/1.1"
    return HttpError(505, message, "HTTP_VERSION_NOT_SUPPORTED")


def unsupported_media_type_error(media_type: str) -> HttpError:
    """Return the 415; its message names the right `Content-Type`."""
    return HttpError(415, f"Content-Type must be {media_type}", "UNSUPPORTED_MEDIA_TYPE")


def compressed_body_error() -> HttpError:
    """Return the 415 for a body with a content coding, with the one allowed (RFC 9110, 15.5.16).

    A compressed body would have to be expanded before it could be held to its limit.
    """
    message = "Content-Encoding must not be given: send the body uncompressed"
    headers = {"Accept-Encoding": "identity"}
    return HttpError(415, message, "UNSUPPORTED_MEDIA_TYPE", headers=headers)


def invalid_input_error(fields: Mapping[str, Sequence[str]]) -> HttpError:
    """Return the 422 with every validation error, by the name of the input."""
    message = "; ".join(f"{name}: {error}" for name, errors in fields.items() for error in errors)
    return HttpError(422, message, "INVALID_INPUT", fields=fields)


def from_graphql_error(error: GraphQLError | RequestError, rename: Rename = str) -> HttpError:
    """Return the error response of a failed operation."""
    extensions = error.extensions or {}
    code = extensions.get("code", "SERVER_ERROR")
    if "fields" in extensions:
        return invalid_input_error(
            {rename(name): errors for name, errors in extensions["fields"].items()}
        )
    status = STATUS_BY_CODE.get(code, 500)
    message = error.message if isinstance(error, GraphQLError) else str(error)
    headers = RETRY_AFTER_HEADERS if status == 503 else None
    return HttpError(status, message, code, headers=headers, cause=find_cause(error))


def note_errors(scope: Scope, errors: Iterable[HttpError | GraphQLError]) -> None:
    """Have the log name the errors of a response, and the first cause of one that is a 503."""
    for error in errors:
        extensions = (error.extensions or {}) if isinstance(error, GraphQLError) else {}
        code = error.code if isinstance(error, HttpError) else extensions.get("code", "")
        scope.setdefault(SCOPE_ERROR_CODES, set()).add(code)
        if (cause := find_cause(error)) is not None:
            scope.setdefault(SCOPE_CAUSE, cause)


def find_cause(error: BaseException | None) -> Cause | None:
    """Return the cause of an error: that of the first in its chain that has one.

    >>> find_cause(service_unavailable_error(Cause.QUEUE))
    <Cause.QUEUE: 'queue'>
    """
    found = None
    while error is not None:
        cause = getattr(error, "cause", None)
        found = cause if isinstance(cause, Cause) else found
        error = getattr(error, "original_error", None) or error.__cause__
    return found
