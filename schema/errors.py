"""The results of operations, with errors as clients may see them."""

import logging
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson
from graphql import ConstValueNode, EnumValueNode, GraphQLError, GraphQLSchema, print_ast
from msgspec import Struct
from strawberry.schema.schema_converter import CustomGraphQLEnumType

from resolvers.request.errors import MAX_QUOTED_CHARACTERS
from resolvers.request.errors import ChangesExpiredError as ChangesExpiredError
from resolvers.request.errors import FlagRequiredError as FlagRequiredError
from resolvers.request.errors import PermissionRequiredError as PermissionRequiredError
from resolvers.request.errors import PreconditionFailedError as PreconditionFailedError
from resolvers.request.errors import RequestError as RequestError
from resolvers.request.errors import UnavailableCause as UnavailableCause
from resolvers.request.errors import UnavailableError as UnavailableError

UNAVAILABLE_MESSAGE = "Service unavailable"
SERVER_ERROR_MESSAGE = "Server error"


# Errors of variables and arguments of a wrong type, with the input's name and its value as JSON.
#
# graphql-core shows values as Python writes them, and names the input in its message only.


_PLACE = re.compile(
    r"(?:Variable '\$(\w+)'|Argument '(\w+)') has invalid value(?: at ((?:\.\w+|\[\d+\])+))?: "
)
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
_SHOWN_VALUE = re.compile(r"(found|value): .*", re.DOTALL)
_PYTHON_NULL = re.compile(r"not to be None\.\Z")


class InputError(NamedTuple):
    """A message and `extensions.fields`, empty if no input is named."""

    message: str
    fields: dict[str, list[str]]


def explain_input_error(message: str, variables: Mapping[str, Any]) -> InputError:
    """Return what a client reads in place of a message of graphql-core.

    >>> explain_input_error(
    ...     "Variable '$n' has invalid value at [1]: Int cannot represent non-integer value: True",
    ...     {"n": [1, True]},
    ... ).fields
    {'variables.n[1]': ['Int cannot represent non-integer value: true']}
    """
    message = say_null(message)
    place = _PLACE.match(message)
    if place is None:
        return InputError(message, {})
    variable, argument, path = place.groups(default="")
    start, reason = place[0], message[place.end() :]
    if variable:
        shown = quote_json(_find_value(variables.get(variable), path))
        reason = _SHOWN_VALUE.sub(
            lambda match: f"{match[1]}: {shown}{'.' if match[1] == 'found' else ''}", reason
        )
    name = f"variables.{variable}{path}" if variable else argument + path
    return InputError(start + reason, {name: [reason]})


def say_null(message: str) -> str:
    """Return a message of graphql-core without Python's word for null.

    >>> say_null("Expected value of non-null type 'ID!' not to be None.")
    "Expected value of non-null type 'ID!' not to be null."
    """
    return _PYTHON_NULL.sub("not to be null.", message)


def quote_json(value: Any) -> str:
    """Return the start of a value that a client sent: texts as in all messages, others as JSON.

    >>> quote_json("bus"), quote_json({"id": None})
    ("'bus'", '{"id":null}')
    """
    if isinstance(value, str):
        return repr(value[:MAX_QUOTED_CHARACTERS])
    try:
        text = orjson.dumps(value).decode()
    except TypeError:  # nested too deeply
        return "…"
    return text if len(text) <= MAX_QUOTED_CHARACTERS else f"{text[:MAX_QUOTED_CHARACTERS]}…"


def _find_value(value: Any, path: str) -> Any:
    for member, index in _STEP.findall(path):
        value = value[member] if member else value[int(index)]
    return value


MAX_LOGGED_FAILURES = 3
"""Unexpected exceptions of one operation that are logged."""

_logger = logging.getLogger("floorgate.graphql")


# A Struct: every operation makes one, and a frozen dataclass takes four times as long.
class OperationResult(Struct, frozen=True):
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
        message, code = UNAVAILABLE_MESSAGE, cause.cause.value
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


# Errors of enums that say what would be right, in place of graphql-core's.


class ExplainedEnumType(CustomGraphQLEnumType):
    """An enum with errors such as `A TravelMode must be foot or wheelchair, not 'bus'`."""

    def coerce_input_value(self, input_value: Any, hide_suggestions: bool = False) -> Any:
        """Return the member of this name. Raises GraphQLError."""
        if not isinstance(input_value, str) or input_value not in self.values:
            raise GraphQLError(self._explain(quote_json(input_value)))
        return super().coerce_input_value(input_value, hide_suggestions)

    def coerce_input_literal(
        self, value_node: ConstValueNode, hide_suggestions: bool = False
    ) -> Any:
        """Return the member that a document names. Raises GraphQLError."""
        if not isinstance(value_node, EnumValueNode):
            shown = print_ast(value_node)[:MAX_QUOTED_CHARACTERS]
            hint = " without quotation marks," if shown.startswith('"') else ","
            raise GraphQLError(self._explain(shown, hint), value_node)
        if value_node.value not in self.values:
            raise GraphQLError(self._explain(value_node.value[:MAX_QUOTED_CHARACTERS]), value_node)
        return super().coerce_input_literal(value_node, hide_suggestions)

    def _explain(self, shown: str, hint: str = ",") -> str:
        *others, last = self.values
        choice = f"{', '.join(others)} or {last}" if others else last
        return f"A value of {self.name} must be {choice}{hint} not {shown}"


def explain_enums(schema: GraphQLSchema) -> None:
    """Let all enums of a schema that strawberry made explain their errors."""
    for type in schema.type_map.values():
        if isinstance(type, CustomGraphQLEnumType):
            type.__class__ = ExplainedEnumType
