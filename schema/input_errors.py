"""Errors of variables and arguments of a wrong type, with the input's name and its value as JSON.

graphql-core shows values as Python writes them, and names the input in its message only.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from resolvers.request.errors import MAX_QUOTED_CHARACTERS

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
