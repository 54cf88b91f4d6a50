"""Results of operations, and their errors as clients may see them."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from graphql import GraphQLError

from resolvers.request.errors import RequestError, UnavailableError
from schema.errors import SERVER_ERROR_MESSAGE, UNAVAILABLE_MESSAGE
from schema.input_errors import explain_input_error

MAX_LOGGED_FAILURES = 3
"""Unexpected exceptions of one operation that are logged."""

_logger = logging.getLogger("floorgate.graphql")


@dataclass(frozen=True, slots=True)
class OperationResult:
    """Result of an operation. `data` is None if execution failed entirely."""

    data: dict[str, Any] | None
    errors: list[GraphQLError]


def error_result(error: Exception) -> OperationResult:
    """Return the result of an operation that an error has ended; log and mask unexpected ones."""
    return to_operation_result(None, [GraphQLError(str(error), original_error=error)])


def to_operation_result(
    data: dict[str, Any] | None,
    errors: Sequence[GraphQLError],
    variables: Mapping[str, Any] = MappingProxyType({}),
) -> OperationResult:
    """Return a result with errors as clients may see them; log and mask unexpected ones."""
    logged: set[int] = set()
    public_errors = [_to_public_error(error, variables, logged) for error in errors]
    drop_frames(errors)
    return OperationResult(data, public_errors)


def drop_frames(errors: Sequence[GraphQLError]) -> None:
    """Drop the frames of errors: they refer back to them, so that only the garbage collector would
    free what the request has read.
    """
    for error in errors:
        _drop_frames_of_chain(error)
        _drop_frames_of_chain(error.original_error)


def _drop_frames_of_chain(error: BaseException | None) -> None:
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.__traceback__ = None
        error = error.__cause__ or error.__context__


def _to_public_error(
    error: GraphQLError, variables: Mapping[str, Any], logged: set[int]
) -> GraphQLError:
    """Return the error as clients may see it; log and mask unexpected ones.

    `logged` has the identities of the exceptions that have been logged.
    """
    cause = error.original_error
    # Its message is written for clients, and its extensions have the code.
    if isinstance(cause, RequestError):
        return error
    details: dict[str, Any] = {}
    if isinstance(cause, UnavailableError):
        message, code = UNAVAILABLE_MESSAGE, "SERVICE_UNAVAILABLE"
    elif cause is None or isinstance(cause, GraphQLError):
        code = "INVALID_INPUT"
        message, fields = explain_input_error(error.message, variables)
        details = {"fields": fields} if fields else {}
    else:
        if id(cause) not in logged and len(logged) < MAX_LOGGED_FAILURES:
            logged.add(id(cause))
            _logger.error("an operation failed", exc_info=cause)
        message, code = SERVER_ERROR_MESSAGE, "SERVER_ERROR"
    public_error = GraphQLError(
        message,
        nodes=error.nodes,
        path=error.path,
        extensions={**(error.extensions or {}), "code": code, **details},
    )
    public_error.__cause__ = cause
    return public_error
