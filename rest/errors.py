"""What a request is answered with instead of a resource: one shape, one table of statuses."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import orjson
from graphql import GraphQLError
from starlette.responses import Response

from schema.execution import RequestError

STATUS_BY_CODE = {
    "INVALID_INPUT": 422,
    "LIMIT_EXCEEDED": 422,
    "REFUSED_DOCUMENT": 422,
    "MALFORMED_DOCUMENT": 400,
    "FLAG_REQUIRED": 400,
    "PERMISSION_REQUIRED": 403,
    "NOT_FOUND": 404,
    "SERVICE_UNAVAILABLE": 503,
    "SERVER_ERROR": 500,
}
"""The status of every code that an operation can end with."""

Rename: TypeAlias = Callable[[str], str]
"""From what an operation calls its input to what the endpoint calls it."""

RETRY_AFTER_HEADERS = {"Retry-After": "1"}


class HttpError(Exception):
    """A request that is answered with an error.

    `code` names the failure in GraphQL; `fields` maps an input's name to what is wrong with it.
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

    def to_response(self) -> Response:
        """`{"message": ...}`, with `fields` where there are any."""
        body: dict[str, object] = {"message": self.message}
        if self.fields:
            body["fields"] = self.fields
        return Response(orjson.dumps(body), self.status, self.headers, "application/json")


def not_found_error() -> HttpError:
    """The answer to what does not exist, and to what the key may not see."""
    return HttpError(404, "Not found", "NOT_FOUND")


def method_not_allowed_error(allowed: Sequence[str]) -> HttpError:
    """The answer to a method that the path does not have."""
    return HttpError(
        405, "Method not allowed", "METHOD_NOT_ALLOWED", headers={"Allow": ", ".join(allowed)}
    )


def invalid_input_error(fields: Mapping[str, Sequence[str]]) -> HttpError:
    """The answer to input that cannot be, with every complaint."""
    message = "; ".join(
        f"{name} {complaint}" for name, complaints in fields.items() for complaint in complaints
    )
    return HttpError(422, message, "INVALID_INPUT", fields=fields)


def from_graphql_error(error: GraphQLError | RequestError, rename: Rename = str) -> HttpError:
    """The answer to a failed operation."""
    extensions = error.extensions or {}
    code = extensions.get("code", "SERVER_ERROR")
    if "fields" in extensions:
        return invalid_input_error(
            {rename(name): text for name, text in extensions["fields"].items()}
        )
    status = STATUS_BY_CODE.get(code, 500)
    message = error.message if isinstance(error, GraphQLError) else str(error)
    return HttpError(status, message, code, headers=RETRY_AFTER_HEADERS if status == 503 else None)
