"""Error responses: one body for every status, and one table from error codes to statuses."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import orjson
from graphql import GraphQLError
from starlette.responses import Response

from rest.request_body import BodyTooLargeError
from schema.errors import SERVER_ERROR_MESSAGE, UNAVAILABLE_MESSAGE, RequestError

STATUS_BY_CODE = {
    "INVALID_INPUT": 422,
    "LIMIT_EXCEEDED": 422,
    "REFUSED_DOCUMENT": 422,
    "TOO_MANY_REMOVALS": 422,
    "MALFORMED_DOCUMENT": 400,
    "FLAG_REQUIRED": 400,
    "PERMISSION_REQUIRED": 403,
    "NOT_FOUND": 404,
    "PLAN_CHANGED": 409,
    "PRECONDITION_FAILED": 412,
    "SERVICE_UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 503,
    "SERVER_ERROR": 500,
}
"""HTTP status by error code."""

Rename: TypeAlias = Callable[[str], str]
"""Translates a GraphQL argument name to the REST name."""

RETRY_AFTER_HEADERS = {"Retry-After": "1"}
AUTHENTICATE_HEADERS = {"WWW-Authenticate": 'Key realm="floorgate"'}


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
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.headers = dict(headers or {})
        self.fields = fields

    @property
    def body(self) -> dict[str, object]:
        """`{"message": ...}`, with `fields` if there are any."""
        body: dict[str, object] = {"message": self.message}
        return {**body, "fields": self.fields} if self.fields else body

    def to_response(self) -> Response:
        """Return the response, always JSON."""
        return Response(orjson.dumps(self.body), self.status, self.headers, "application/json")


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


def service_unavailable_error() -> HttpError:
    """Return the 503 while MongoDB is unreachable."""
    return HttpError(503, UNAVAILABLE_MESSAGE, "SERVICE_UNAVAILABLE", headers=RETRY_AFTER_HEADERS)


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
    return HttpError(414, f"The address must not be over {max_bytes} bytes", "BAD_REQUEST")


def headers_too_large_error(max_bytes: int) -> HttpError:
    """Return the 431; its message names the limit."""
    return HttpError(431, f"Headers must not be over {max_bytes} bytes in all", "BAD_REQUEST")


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
    return HttpError(status, message, code, headers=RETRY_AFTER_HEADERS if status == 503 else None)
