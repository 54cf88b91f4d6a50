"""Every error of a body that does not fit its model, each named by its path in the body."""

import re
from collections.abc import Iterator
from itertools import islice
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

import msgspec

from schema.operation_inputs import MAX_REPORTED_ERRORS

_TYPE_ERROR = re.compile(r"Expected `(?P<wanted>.+)`, got `(?P<actual>.+)`")
_MEMBER_ERROR = re.compile(
    r"Object (?P<rule>missing required|contains unknown) field `(?P<name>.+)`"
)
_JSON_TYPES = {
    "array": "an array",
    "bool": "true or false",
    "float": "a number",
    "int": "a number",
    "null": "null",
    "object": "an object",
    "str": "a string",
}


def find_shape_errors(value: Any, model: Any) -> dict[str, list[str]]:
    """Return the first `MAX_REPORTED_ERRORS` errors of a JSON value, by path, in document order.

    >>> Unit = msgspec.defstruct("Unit", [("id", str), ("floor", str)])
    >>> find_shape_errors([{"id": 7}], list[Unit])
    {'[0].id': ['must be a string, not a number'], '[0].floor': ['must be given']}
    """
    return dict(islice(_iter_errors(value, model, ""), MAX_REPORTED_ERRORS))


def name_first_error(error: msgspec.ValidationError) -> dict[str, list[str]]:
    """Return the error at which msgspec stopped, by path.

    >>> name_first_error(msgspec.ValidationError("Expected `str`, got `int` - at `$.data[0].id`"))
    {'data[0].id': ['must be a string, not a number']}
    """
    message, _, place = str(error).partition(" - at ")
    path = place.strip("`").removeprefix("$").removeprefix(".")
    if member := _MEMBER_ERROR.fullmatch(message):
        name = f"{path}.{member['name']}" if path else member["name"]
        return {name: ["must be given" if "missing" in member["rule"] else "unknown field"]}
    return {path or "body": [_translate(message)]}


def _iter_errors(value: Any, model: Any, path: str) -> Iterator[tuple[str, list[str]]]:
    try:
        msgspec.convert(value, model)
        return
    except msgspec.ValidationError as error:
        # msgspec stops at the first error and ends its message with ` - at `$.data.sources[0]``.
        message = str(error).partition(" - at ")[0]
    model = _without_null(model)
    if isinstance(value, list) and get_origin(model) is list:
        (item_model,) = get_args(model)
        for index, item in enumerate(value):
            yield from _iter_errors(item, item_model, f"{path}[{index}]")
    elif isinstance(value, dict) and isinstance(model, type) and issubclass(model, msgspec.Struct):
        yield from _iter_member_errors(value, model, path)
    else:
        yield path or "body", [_translate(message)]


def _iter_member_errors(
    value: dict[str, Any], model: type[msgspec.Struct], path: str
) -> Iterator[tuple[str, list[str]]]:
    fields = msgspec.structs.fields(model)
    prefix = f"{path}." if path else ""
    for field in fields:
        name = field.encode_name
        if name in value:
            yield from _iter_errors(value[name], field.type, prefix + name)
        elif field.required:
            yield prefix + name, ["must be given"]
    if model.__struct_config__.forbid_unknown_fields:
        known = {field.encode_name for field in fields}
        for name in value:
            if name not in known:
                yield prefix + name, ["unknown field"]


def _without_null(model: Any) -> Any:
    others = [member for member in get_args(model) if member is not NoneType]
    return others[0] if get_origin(model) is UnionType and len(others) == 1 else model


def _translate(message: str) -> str:
    """Use JSON's names of types instead of Python's."""
    types = _TYPE_ERROR.fullmatch(message)
    if types is None:
        return message
    wanted = " or ".join(_JSON_TYPES[name] for name in types["wanted"].split(" | "))
    return f"must be {wanted}, not {_JSON_TYPES[types['actual']]}"
