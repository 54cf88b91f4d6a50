"""Every error of a body that does not fit its model, each named by its path in the body."""

import re
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

import msgspec

from schema.operation_inputs import MAX_REPORTED_ERRORS, PartialInput

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


def find_shape_errors(value: Any, model: Any) -> tuple[dict[str, list[str]], Any]:
    """Return the errors of a JSON value, and the rest of it for further checks.

    There are up to `MAX_REPORTED_ERRORS`, by path, in document order. The rest has GraphQL's names,
    a PartialInput in the place of an object with errors, and null in that of an item that is none.

    >>> Unit = msgspec.defstruct("Unit", [("id", str), ("floor", str)])
    >>> find_shape_errors([{"id": 7}, {"id": "a", "floor": "b"}], list[Unit])[0]
    {'[0].id': ['must be a string, not a number'], '[0].floor': ['must be given']}
    >>> find_shape_errors([{"id": "a"}, 7], list[Unit])[1]
    [{'id': 'a'}, None]
    """
    errors: dict[str, list[str]] = {}
    return errors, _read(value, model, "", errors)


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


def _read(value: Any, model: Any, path: str, errors: dict[str, list[str]]) -> Any:
    """Add the errors of a value, and return the rest of it."""
    if len(errors) >= MAX_REPORTED_ERRORS:
        return None
    try:
        return _name_members(msgspec.convert(value, model))
    except msgspec.ValidationError as error:
        # msgspec stops at the first error and ends its message with ` - at `$.data.sources[0]``.
        message = str(error).partition(" - at ")[0]
    model = _without_null(model)
    if isinstance(value, list) and get_origin(model) is list:
        (item_model,) = get_args(model)
        items = [
            _read(item, item_model, f"{path}[{index}]", errors) for index, item in enumerate(value)
        ]
        # Only rules of objects name the index.
        return items if _is_struct(item_model) else [item for item in items if item is not None]
    if isinstance(value, dict) and _is_struct(model):
        return _read_members(value, model, path, errors)
    errors[path or "body"] = [_translate(message)]
    return None


def _read_members(
    value: dict[str, Any], model: type[msgspec.Struct], path: str, errors: dict[str, list[str]]
) -> dict[str, Any]:
    fields = msgspec.structs.fields(model)
    prefix = f"{path}." if path else ""
    members: list[tuple[str, Any]] = []
    is_whole = True
    for field in fields:
        name = field.encode_name
        count = len(errors)
        if name in value:
            members.append((field.name, _read(value[name], field.type, prefix + name, errors)))
        elif field.required:
            errors[prefix + name] = ["must be given"]
        has_value = name in value and members[-1][1] is not None
        # Nothing is read once there are too many errors.
        is_left_out = name in value and not has_value and count >= MAX_REPORTED_ERRORS
        is_whole = is_whole and not is_left_out and (has_value or len(errors) == count)
    if model.__struct_config__.forbid_unknown_fields:
        known = {field.encode_name for field in fields}
        errors.update({prefix + name: ["unknown field"] for name in value if name not in known})
    return _merge_aliases(members) if is_whole else PartialInput(_merge_aliases(members))


def _name_members(value: Any) -> Any:
    """Return a value of a model with dicts in the place of structs."""
    if isinstance(value, list):
        return [*map(_name_members, value)]
    if isinstance(value, msgspec.Struct):
        members = ((name, getattr(value, name)) for name in value.__struct_fields__)
        return _merge_aliases([(name, _name_members(member)) for name, member in members])
    return value


def _merge_aliases(members: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return members by GraphQL's names; those of aliases, which come last, end with `_`."""
    merged: dict[str, Any] = {}
    for name, member in members:
        if member is not None:
            merged.setdefault(name.rstrip("_"), member)
    return merged


def _is_struct(model: Any) -> bool:
    model = _without_null(model)
    return isinstance(model, type) and issubclass(model, msgspec.Struct)


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
