"""The inputs of an endpoint: which variables come from the path, the query and the body.

Only the place of an input is decided here; the rest comes from the argument that it feeds.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl

from graphql import (
    GraphQLInputType,
    GraphQLList,
    GraphQLSchema,
    get_named_type,
    get_nullable_type,
)

from rest.endpoint_table import Endpoint
from rest.errors import invalid_input_error
from rest.names import to_kebab_case
from schema.execution import Operation
from schema.operation_inputs import (
    ID,
    MAX_ID_CHARACTERS,
    MAX_INT32,
    MAX_QUOTED_CHARACTERS,
    Input,
    JsonSchema,
    OperationInputs,
)

MAX_PARAMETERS = 100
MAX_DIGITS = 100
PAGING_VARIABLE_NAMES = frozenset({"page", "perPage", "after"})
VARIABLE_BY_PATH_PARAMETER = {"unitMapId": "map", "group-id": "group"}
"""Path parameters with another name than their variables."""

_NUMBER = r"(-?[0-9]{1,12}(?:\.[0-9]{1,12})?)"
_JSON_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
"""As programs write floats; leading zeros do no harm."""
_POSITION = re.compile(f"{_NUMBER},{_NUMBER},(.+)\\Z", re.DOTALL)


class QueryParameter:
    """A query parameter and the variable that it becomes."""

    def __init__(self, input: Input) -> None:
        self.input = input
        self.name = to_kebab_case(input.variable)
        """The name on the wire: `per-page` for `perPage`."""
        self.is_filter = input.variable not in PAGING_VARIABLE_NAMES
        """Whether the URLs of other pages repeat the parameter."""
        self.is_required = input.is_required
        self._parse = _find_parser(input.type)
        self._check = input.check

    def parse(self, text: str) -> Any:
        """Return the variable's value. Raises ValueError with a message that follows the name."""
        value = self._parse(text)
        if self._check is not None and (error := self._check(value)):
            raise ValueError(error.message)
        # After the argument's own rule: its message names the exact range.
        if isinstance(value, int) and not -MAX_INT32 <= value <= MAX_INT32:
            raise ValueError(f"must be a 32-bit integer, not {value}")
        return value


@dataclass(frozen=True, slots=True)
class EndpointInputs:
    """All inputs of an endpoint."""

    path: dict[str, Input]
    """By path parameter."""
    query: tuple[QueryParameter, ...]
    body: tuple[Input, ...]
    operation: OperationInputs

    @classmethod
    def read(
        cls, schema: GraphQLSchema, endpoint: Endpoint, operation: Operation
    ) -> "EndpointInputs":
        """Divide the operation's variables among path, query and body."""
        inputs = OperationInputs(schema, operation)
        others = dict(inputs.by_variable)
        path = {
            name: others.pop(VARIABLE_BY_PATH_PARAMETER.get(name, name))
            for name in endpoint.path_parameters
        }
        body: list[Input] = []
        if endpoint.body is not None:
            names = [endpoint.body.variable] if endpoint.body.variable else [*others]
            body = [others.pop(name) for name in names]
        return cls(path, tuple(map(QueryParameter, others.values())), tuple(body), inputs)


def _parse_integer(text: str) -> int:
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        raise ValueError(f"must be a whole number, not {text[:MAX_QUOTED_CHARACTERS]!r}")
    # Longer numbers are out of every range; converting all their digits takes quadratic time.
    return int(text[:MAX_DIGITS])


def _parse_boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"must be true or false, not {text[:MAX_QUOTED_CHARACTERS]!r}")
    return text == "true"


def _parse_number(text: str) -> float:
    if not _JSON_NUMBER.fullmatch(text):
        raise ValueError(f"must be a number, not {text[:MAX_QUOTED_CHARACTERS]!r}")
    return float(text)


def parse_waypoint(text: str) -> dict[str, Any]:
    """Return the waypoint that `x,y,floor_id` or the id of a location stands for.

    >>> parse_waypoint("437.5,350,floor-1")
    {'x': 437.5, 'y': 350.0, 'floorId': 'floor-1'}
    >>> parse_waypoint("l4xusy2pgwt")
    {'id': 'l4xusy2pgwt'}
    """
    if position := _POSITION.match(text):
        return {"x": float(position[1]), "y": float(position[2]), "floorId": position[3]}
    return {"id": text}


WAYPOINT_SCHEMA: Final[JsonSchema] = {
    "type": "string",
    "anyOf": [
        ID.json_schema(),
        {"pattern": rf"^{_NUMBER},{_NUMBER},[^\x00]{{1,{MAX_ID_CHARACTERS}}}$"},
    ],
}
"""Of the texts that `parse_waypoint` reads."""

_PARSERS: dict[str, Callable[[str], Any]] = {
    "Int": _parse_integer,
    "Boolean": _parse_boolean,
    "Float": _parse_number,
    "WaypointInput": parse_waypoint,
}
"""By the type of the variable; other values are texts."""


def _find_parser(input_type: GraphQLInputType) -> Callable[[str], Any]:
    if isinstance(get_nullable_type(input_type), GraphQLList):
        return _split_list
    return _PARSERS.get(get_named_type(input_type).name, str)


def _split_list(text: str) -> list[str]:
    """Return the items of a list, which commas separate.

    >>> _split_list("stairs,lifts"), _split_list("")
    (['stairs', 'lifts'], [''])
    """
    return text.split(",")


def split_query_string(query_string: bytes) -> list[tuple[str, str]]:
    """Return the names and values of a query string, decoded. Raises HttpError 422."""
    try:
        return parse_qsl(
            # A URI consists of ASCII characters (RFC 3986, 2); others are percent-encoded.
            query_string.decode("ascii"),
            # An empty filter is an error and must not vanish:
            # docs/decisions/rest/unknown-parameters.md.
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_PARAMETERS,
        )
    except UnicodeError as error:
        raise invalid_input_error({"query": ["must be percent-encoded UTF-8"]}) from error
    except ValueError as error:
        raise invalid_input_error(
            {"query": [f"must have at most {MAX_PARAMETERS} parameters"]}
        ) from error


def parse_query(
    parameters: Iterable[QueryParameter], pairs: list[tuple[str, str]]
) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Return the variables of a query, and its filters as sent. Raises HttpError 422.

    Unknown parameters are ignored; a known one that is repeated is an error.
    """
    variables: dict[str, Any] = {}
    filters: list[tuple[str, str]] = []
    errors: dict[str, list[str]] = {}
    for parameter in parameters:
        name = parameter.name
        values = [value for key, value in pairs if key == name]
        # Which of them is meant would be a guess: docs/decisions/rest/unknown-parameters.md.
        if len(values) > 1:
            errors[name] = [f"must be given once, not {len(values)} times"]
        elif values:
            try:
                variables[parameter.input.variable] = parameter.parse(values[0])
            except ValueError as error:
                errors[name] = [str(error)]
            if parameter.is_filter:
                filters.append((name, values[0]))
        elif parameter.is_required:
            errors[name] = ["must be given"]
    if errors:
        raise invalid_input_error(errors)
    return variables, filters
