"""Error responses: one body for every status, with a code from the table of error codes.

`docs/rest.md` has the same table, and so has the page that the `docs` of an error leads to.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final, NamedTuple, TypeAlias

import orjson
from graphql import GraphQLError
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from rest.scope_members import SCOPE_ERROR_CODES, SCOPE_FAILURE
from schema.errors import SERVER_ERROR_MESSAGE, UNAVAILABLE_MESSAGE, RequestError, UnavailableCause

ERRORS_PATH: Final = "/v1/errors"
"""The page that explains the codes; each has its own anchor."""


class ErrorCode(NamedTuple):
    status: int
    when: str
    retry: str


_NO = "no"
_CHANGED = "after a change"
_WAIT = "after `Retry-After`"

ERROR_CODES: Final[dict[str, ErrorCode]] = {
    "BAD_REQUEST": ErrorCode(400, "the body is not JSON, or the request is not HTTP", _NO),
    "MALFORMED_DOCUMENT": ErrorCode(400, "the drawing is not well-formed XML", _NO),
    "FLAG_REQUIRED": ErrorCode(400, "`Experimental-Flags` lacks the flag of the endpoint", _NO),
    "UNAUTHENTICATED": ErrorCode(401, "no API key, or more than one", _NO),
    "FORBIDDEN": ErrorCode(403, "the key is unknown, revoked, expired or malformed", _NO),
    "PERMISSION_REQUIRED": ErrorCode(403, "the key lacks the permission of the endpoint", _NO),
    "ORIGIN_NOT_ALLOWED": ErrorCode(
        403,
        "the page, method or header of a browser's request is not allowed, or not for the key",
        _NO,
    ),
    "HTTPS_REQUIRED": ErrorCode(403, "the request reached the proxy without HTTPS", _NO),
    "NOT_FOUND": ErrorCode(404, "there is no such resource, or the key cannot see it", _NO),
    "METHOD_NOT_ALLOWED": ErrorCode(
        405, "the path does not have this method; `Allow` lists those it has", _NO
    ),
    "NOT_ACCEPTABLE": ErrorCode(406, "`Accept` names no media type that GraphQL has", _NO),
    "REQUEST_TIMEOUT": ErrorCode(408, "the headers or the body did not arrive in time", "yes"),
    "PLAN_CHANGED": ErrorCode(
        409, "the change would no longer be the one that was shown", _CHANGED
    ),
    "CHANGES_EXPIRED": ErrorCode(
        410, "the changes after the cursor are no longer known; copy the directory again", _NO
    ),
    "PRECONDITION_FAILED": ErrorCode(
        412, "`If-Match` or `If-None-Match` does not hold; nothing was written", _CHANGED
    ),
    "BODY_TOO_LARGE": ErrorCode(413, "the body is over its limit", _NO),
    "URI_TOO_LONG": ErrorCode(414, "the address is over its limit", _NO),
    "UNSUPPORTED_MEDIA_TYPE": ErrorCode(
        415, "`Content-Type` is not that of the endpoint, or the body is compressed", _NO
    ),
    "INVALID_INPUT": ErrorCode(422, "an input is invalid; `fields` names each", _NO),
    "LIMIT_EXCEEDED": ErrorCode(422, "the request asks for more than is allowed at a time", _NO),
    "REFUSED_DOCUMENT": ErrorCode(422, "the document is well-formed and not accepted", _NO),
    "TOO_MANY_REMOVALS": ErrorCode(422, "the change would remove more than it may", _NO),
    "RATE_LIMITED": ErrorCode(429, "too many requests with this key in a time", _WAIT),
    "ADDRESS_RATE_LIMITED": ErrorCode(
        429, "too many requests without a valid key from this address in a time", _WAIT
    ),
    "TOO_MANY_BAD_KEYS": ErrorCode(429, "too many invalid keys from this address, or all", _WAIT),
    "TOO_MANY_IN_PROGRESS": ErrorCode(
        429, "too many requests or streams with this key are in progress", _WAIT
    ),
    "HEADERS_TOO_LARGE": ErrorCode(431, "the headers are over their limit", _NO),
    "SERVER_ERROR": ErrorCode(
        500, "an error in the service; its log has the `request_id`", "once, then report it"
    ),
    "NOT_IMPLEMENTED": ErrorCode(501, "the `Transfer-Encoding` is not `chunked`", _NO),
    "DATABASE_UNREACHABLE": ErrorCode(503, "the database cannot be reached", _WAIT),
    "DATABASE_REFUSED": ErrorCode(
        503, "the service lacks a right or memory in the database: tell its operator", _WAIT
    ),
    "NO_PRIMARY": ErrorCode(503, "the database has no primary, or it has just changed", _WAIT),
    "NO_MAJORITY": ErrorCode(503, "too few members of the database answer each other", _WAIT),
    "REPLICATION_LAG": ErrorCode(
        503, "no member of the database that answers has the latest changes yet", _WAIT
    ),
    "INTERRUPTED": ErrorCode(503, "the database has ended a command or a transaction", _WAIT),
    "WRITE_CONFLICT": ErrorCode(503, "another request writes the same records", _WAIT),
    "DISK_FULL": ErrorCode(503, "the database has no room on its disk", _WAIT),
    "IMPORT_RUNNING": ErrorCode(
        503, "a restore, an import or a removal is being finished first", _WAIT
    ),
    "QUEUE_FULL": ErrorCode(
        503, "too many requests, streams, drawings or connections are waiting", _WAIT
    ),
    "RESTARTING": ErrorCode(503, "the gateway starts or stops", _WAIT),
    "DEADLINE_EXCEEDED": ErrorCode(
        503, "the request took too long", "with less at a time, after `Retry-After`"
    ),
    "ENDPOINT_INVALID": ErrorCode(
        503, "this release cannot run the saved endpoint as it was saved", _NO
    ),
    "HTTP_VERSION_NOT_SUPPORTED": ErrorCode(505, "the request is not HTTP/1.0 or HTTP/1.1", _NO),
}
"""The descriptions of errors by code, in the order of their statuses."""
STATUS_BY_CODE = {code: entry.status for code, entry in ERROR_CODES.items()}

Rename: TypeAlias = Callable[[str], str]
"""Translates a GraphQL argument name to the REST name."""

RETRY_AFTER_HEADERS = {"Retry-After": "1"}
AUTHENTICATE_HEADERS = {"WWW-Authenticate": 'Key realm="floorgate"'}
JSON_MEDIA_TYPE = "application/json"
MAX_SHOWN_ORIGIN_CHARACTERS = 255
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
    """A request that ends with an error response, which it is as an ASGI application.

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
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.headers = dict(headers or {})
        self.fields = fields

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
        return orjson.dumps(self.describe(source))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response, always JSON, as an ASGI application."""
        note_errors(scope, [self])
        body = self.build_body(ErrorSource.from_scope(scope))
        response = Response(body, self.status, self.headers, JSON_MEDIA_TYPE)
        await response(scope, receive, send)


def missing_key_error() -> HttpError:
    return _unauthenticated_error("No API key found in request")


def duplicate_key_error() -> HttpError:
    return _unauthenticated_error("Duplicate API key found")


def _unauthenticated_error(message: str) -> HttpError:
    return HttpError(401, message, "UNAUTHENTICATED", headers=AUTHENTICATE_HEADERS)


def invalid_key_error() -> HttpError:
    """Return the 403 for a key that is unknown, revoked, expired or malformed."""
    return HttpError(403, "Invalid authentication credentials", "FORBIDDEN")


def origin_error(origin: str) -> HttpError:
    """Return the 403 for web pages that may not call, or not with the key of the request."""
    shown = origin[:MAX_SHOWN_ORIGIN_CHARACTERS]
    message = (
        f"Web pages of {shown!r} are not allowed: the operator of the service can add that origin"
        " to the API key"
    )
    return HttpError(403, message, "ORIGIN_NOT_ALLOWED")


def bound_key_in_address_error() -> HttpError:
    """Return the 403 for a key with origins in the address of a request that names none."""
    message = "This API key is bound to origins: send it in the header API-Key"
    return HttpError(403, message, "ORIGIN_NOT_ALLOWED")


def too_many_in_progress_error(message: str) -> HttpError:
    """Return the 429 for a key with as many requests or streams in progress as it may have."""
    return HttpError(429, message, "TOO_MANY_IN_PROGRESS", headers=RETRY_AFTER_HEADERS)


def rate_limit_error(wait_seconds: float) -> HttpError:
    """Return the 429, with the whole seconds to wait (RFC 9110, 10.2.3), rounded up."""
    headers = {"Retry-After": str(math.ceil(wait_seconds))}
    return HttpError(429, "API rate limit exceeded", "RATE_LIMITED", headers=headers)


def bad_keys_error(wait_seconds: float) -> HttpError:
    """Return the 429 for a client that keeps sending invalid keys. It says nothing about a key."""
    headers = {"Retry-After": str(math.ceil(wait_seconds))}
    return HttpError(429, "Too many invalid API keys", "TOO_MANY_BAD_KEYS", headers=headers)


def service_unavailable_error(cause: UnavailableCause) -> HttpError:
    return HttpError(503, UNAVAILABLE_MESSAGE, cause.value, headers=RETRY_AFTER_HEADERS)


def server_error() -> HttpError:
    """Return the 500, which never has details."""
    return HttpError(500, SERVER_ERROR_MESSAGE, "SERVER_ERROR")


def bad_request_error(message: str) -> HttpError:
    """Return the 400 for what is not HTTP, JSON or a request of GraphQL."""
    return HttpError(400, message, "BAD_REQUEST")


def not_found_error(reason: str = "") -> HttpError:
    """Return the 404 for what does not exist or is not visible to the key, without a reason."""
    return HttpError(404, f"Not found{reason and ': '}{reason}", "NOT_FOUND")


def method_not_allowed_error(allowed: Sequence[str]) -> HttpError:
    return HttpError(
        405, "Method not allowed", "METHOD_NOT_ALLOWED", headers={"Allow": ", ".join(allowed)}
    )


def body_too_large_error(max_bytes: int) -> HttpError:
    message = f"The request body must not be over {max_bytes} bytes"
    return HttpError(413, message, "BODY_TOO_LARGE")


def url_too_long_error(max_bytes: int) -> HttpError:
    return HttpError(414, f"The address must not be over {max_bytes} bytes", "URI_TOO_LONG")


def headers_too_large_error(max_bytes: int) -> HttpError:
    return HttpError(431, f"Headers must not be over {max_bytes} bytes in all", "HEADERS_TOO_LARGE")


def request_timeout_error(max_seconds: float) -> HttpError:
    message = f"A request must arrive within {max_seconds:g} seconds"
    return HttpError(408, message, "REQUEST_TIMEOUT")


def unknown_coding_error() -> HttpError:
    """Return the 501 for a body that is sent in another way than in whole or in chunks."""
    message = "Transfer-Encoding must be chunked: other codings are not decoded"
    return HttpError(501, message, "NOT_IMPLEMENTED")


def http_version_error(version: str) -> HttpError:
    message = f"HTTP/{version} is not supported: use HTTP/1.1"
    return HttpError(505, message, "HTTP_VERSION_NOT_SUPPORTED")


def unsupported_media_type_error(media_type: str) -> HttpError:
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
    return HttpError(status, message, code, headers=headers)


def note_errors(scope: Scope, errors: Iterable[HttpError | GraphQLError]) -> None:
    """Have the log name the errors of a response."""
    for error in errors:
        extensions = (error.extensions or {}) if isinstance(error, GraphQLError) else {}
        code = error.code if isinstance(error, HttpError) else extensions.get("code", "")
        scope.setdefault(SCOPE_ERROR_CODES, set()).add(code)
        if code == "SERVER_ERROR":
            failure: BaseException | None = error
            while isinstance(failure, (HttpError, GraphQLError)):
                failure = failure.__cause__
            if failure is not None:
                scope.setdefault(SCOPE_FAILURE, type(failure).__name__)


def render_errors_page() -> str:
    """Return the page that explains the codes, as HTML without scripts or styles."""
    # A list and no table, which a phone would have to scroll sideways.
    items = "\n".join(
        f'<dt id="{code}"><a href="#{code}"><code>{code}</code></a> {entry.status}'
        f"<dd>{_to_html(entry.when)}. Repeat the request? {_to_html(entry.retry)}."
        for code, entry in ERROR_CODES.items()
    )
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>Errors of the Floorgate API</title>
<main><h1>Errors</h1>
<p>Each error of the API has a <code>code</code>, which does not change; its <code>message</code>
may. To the operator of the service, name its <code>request_id</code>. All requests are safe to
repeat. <a href="/v1/openapi">API reference</a>
<dl>
{items}
</dl></main></html>
"""


def _to_html(text: str) -> str:
    r"""Return a text with its `code` marked up.

    >>> _to_html("lacks `If-Match` & more")
    'lacks <code>If-Match</code> &amp; more'
    """
    parts = escape(text).split("`")
    return "".join(
        f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts)
    )
