"""Errors as `/graphql` sends them, over HTTP, in event streams and on WebSockets."""

from collections.abc import Iterable
from typing import Any

from graphql import GraphQLError

from rest.errors import HttpError


def format_errors(
    errors: Iterable[GraphQLError | HttpError], request_id: str
) -> list[dict[str, Any]]:
    """Return errors as JSON. Each has the id of its request, which the log has too.

    >>> format_errors([HttpError(404, "Not found", "NOT_FOUND")], "r1")
    [{'message': 'Not found', 'extensions': {'code': 'NOT_FOUND', 'requestId': 'r1'}}]
    """
    return [_format_error(error, request_id) for error in errors]


def _format_error(error: GraphQLError | HttpError, request_id: str) -> dict[str, Any]:
    if isinstance(error, GraphQLError):
        # In a copy: an error of validation is kept with its document.
        extensions = {**(error.extensions or {}), "requestId": request_id}
        return {**error.formatted, "extensions": extensions}
    fields = {"fields": error.fields} if error.fields else {}
    extensions = {"code": error.code, **fields, "requestId": request_id}
    return {"message": error.message, "extensions": extensions}
