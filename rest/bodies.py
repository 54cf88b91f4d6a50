"""Request bodies: their media types and limits, and their conversion to variables.

msgspec reads JSON bodies into models that are made from GraphQL input types, and checks their
types. Where a body does not fit its model, every error is named by its path in the body.
"""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import GenericAlias, NoneType, UnionType
from typing import Any, Final, TypeVar, get_args, get_origin

import msgspec
import orjson
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    GraphQLNonNull,
    get_named_type,
    get_nullable_type,
)
from msgspec import Struct
from starlette.requests import Request

from rest.errors import (
    HttpError,
    body_too_large_error,
    compressed_body_error,
    invalid_input_error,
    unsupported_media_type_error,
)
from rest.names import to_snake_case
from rest.request_body import BodyTooLargeError, receive_body
from rest.responses import DATA
from rest.scope_members import SCOPE_BODY_DIGEST
from schema.operation_inputs import MAX_REPORTED_ERRORS, Input, Items, PartialInput, is_id

T = TypeVar("T")
BodyParser = Callable[[bytes], dict[str, Any]]
"""From a body to variables. Raises HttpError 400 or 422, and BodyShapeError."""

MAX_UNTYPED_TOKENS = 200_000
"""Commas, colons and opening brackets of a body that is read as a whole, to name all its errors.

No other thread runs while orjson makes its values, nor while they are freed: up to 50 ms."""
MAX_BODY_BYTES: Final = 1_000_000
"""Of a JSON body, unless its operation says otherwise."""
MAX_REPEATED_BODY_BYTES = 16_384
"""A larger body is not recognised when it is sent again."""

ALIASES: Final = {"WaypointInput": ("floorId",)}
"""Second names of members, by input type: one guide of the specification writes `floorId`."""
OPEN_TYPES: Final = frozenset({"WaypointInput", "AssignmentInput"})
"""Input types with additional members ignored: clients send back whole locations."""
_PYTHON_TYPES: Final[dict[str, Any]] = {
    "ID": str,
    "String": str,
    "Int": int,
    "Float": float,
    "Boolean": bool,
}

Convert = Callable[[Any], Any]

_BYTE_OFFSET = re.compile(r" \(byte (\d+)\)")
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


class BodyShapeError(Exception):
    """Parts of a body have a wrong type, or are missing. `inputs` are the others."""

    def __init__(self, errors: dict[str, list[str]], inputs: dict[str, Any]) -> None:
        super().__init__(errors)
        self.errors = errors
        self.inputs = inputs


@dataclass(frozen=True, slots=True)
class RequestBody:
    """A body that is one variable as a whole."""

    media_type: str
    max_bytes: int
    description: str = ""
    variable: str = ""
    """The variable that it is; all others are query parameters. Empty if there are no others."""

    def build_parser(self, inputs: Sequence[Input]) -> BodyParser:
        """Return the parser of bodies for an operation with these inputs."""
        (only,) = inputs
        return lambda body: {only.variable: body}

    def to_path(self, argument: str) -> str:
        """Return where the body has an argument, or a part of one."""
        return argument


@dataclass(frozen=True, slots=True)
class JsonBody(RequestBody):
    """A JSON object `{"data": …}`.

    If the operation has one body variable named `data`, that is its value; otherwise `data` has one
    snake_case member per variable.
    """

    title: str = ""
    """The name of its schema in the OpenAPI description."""

    def build_parser(self, inputs: Sequence[Input]) -> BodyParser:
        """Return the parser of bodies for an operation with these inputs."""
        model = build_model(self.title, {source.variable: source.type for source in inputs})
        decoder = msgspec.json.Decoder(model.body_type)
        # A number that no float can hold is invalid input (422), and else malformed JSON (400).
        has_numbers = any(_has_floats(source.type) for source in inputs)

        def parse(body: bytes) -> dict[str, Any]:
            if _count_tokens(body) > MAX_UNTYPED_TOKENS:
                struct = decode_struct(body, decoder)
            else:
                struct = to_struct(parse_json(body, is_input=has_numbers), model.body_type)
            self._check_lengths(struct.data, inputs)
            return model.to_variables(struct)

        return parse

    def _check_lengths(self, data: Any, inputs: Sequence[Input]) -> None:
        """Reject lists that are too long, before thousands of items are converted and checked."""
        for source in inputs:
            value = data if source.variable == DATA else getattr(data, source.variable)
            for rule in source.definition.rules:
                if isinstance(rule, Items) and len(value or ()) > rule.maximum:
                    path = self.to_path(source.variable)
                    raise invalid_input_error({path: [str(rule.check(value))]})

    def to_path(self, argument: str) -> str:
        """Return `data.costing_options.pedestrian.mode` for `costingOptions.pedestrian.mode`."""
        path = to_snake_case(argument)
        # The path of the variable `data` begins with the member's name already.
        return path if re.match(rf"{DATA}\b", path) else f"{DATA}.{path}"


UNIT_MAP_BODY: Final = RequestBody(
    "application/vnd.map+xml", 20 << 20, "The SVG data of a unit map.", "svg"
)
DOCUMENT_BODIES: Final = {"SvgDocument": UNIT_MAP_BODY}
"""Bodies that are one variable as a whole, by its type."""


async def read_request_body(request: Request, media_type: str, max_bytes: int) -> bytes:
    """Return a request's body. Raises HttpError 413 or 415, and ClientDisconnectedError."""
    # Media types are compared without case, and parameters such as charset do not matter: JSON is
    # always UTF-8 (RFC 9110, 8.3.1; RFC 8259, 8.1), and XML declares its encoding.
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != media_type:
        raise unsupported_media_type_error(media_type)
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise compressed_body_error()
    length = request.headers.get("content-length")
    try:
        body = await receive_body(request.receive, max_bytes, length.encode() if length else None)
    except BodyTooLargeError as error:
        raise body_too_large_error(error) from error
    if len(body) <= MAX_REPEATED_BODY_BYTES:
        request.scope[SCOPE_BODY_DIGEST] = hashlib.sha256(body).digest()
    return body


def has_more_tokens(text: bytes, limit: int) -> bool:
    """Whether a JSON text has more commas, colons and opening brackets outside strings than that.

    Each value but the first follows one of them. Counting takes 4 to 9 ms a megabyte.

    >>> has_more_tokens(b'{"a, b": [1, 2], "c": "1, 2, 3"}', 6)
    False
    """
    if _count_tokens(text) <= limit:
        return False
    unescaped = text.replace(rb"\\", b"").replace(rb"\"", b"")
    if unescaped.count(b'"') > 2 * (limit + 1):
        return True
    return _count_tokens(b"".join(unescaped.split(b'"')[::2])) > limit


def _count_tokens(text: bytes) -> int:
    return sum(map(text.count, b",:[{"))


def parse_json(text: bytes, name: str = "body", *, is_input: bool = False) -> Any:
    """Return the value of a JSON text. Raises HttpError 400 with line and column.

    With `is_input`, a number that no float can hold is invalid input: HttpError 422.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        # The message of orjson for a number such as 1e999.
        if is_input and "infinity" in error.msg:
            raise invalid_input_error(
                {name: [f"has a number that is too large in line {error.lineno}"]}
            ) from error
        raise HttpError(
            400,
            f"The {name} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}",
            "BAD_REQUEST",
        ) from error


def to_struct(value: Any, model: type[T]) -> T:
    """Convert a JSON value to a model. Raises BodyShapeError."""
    try:
        return msgspec.convert(value, model)
    except msgspec.ValidationError as error:
        errors, rest = find_shape_errors(value, model)
        data = rest.get(DATA) if isinstance(rest, dict) else None
        inputs = data if isinstance(data, dict) else PartialInput({DATA: data})
        raise BodyShapeError(errors, inputs) from error


def decode_struct(text: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """Return the model that a JSON text has, up to its first error, without any other value.

    Raises HttpError 422 that names the first wrong member, or 400.
    """
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        raise invalid_input_error(name_first_error(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        reason = str(error).removeprefix("JSON is malformed: ")
        if offset := _BYTE_OFFSET.search(reason):
            before = text[: int(offset[1])]
            line, column = before.count(b"\n") + 1, len(before) - before.rfind(b"\n")
            reason = f"{reason[: offset.start()]} at line {line}, column {column}"
        raise HttpError(400, f"The body is not JSON: {reason}", "BAD_REQUEST") from error


@dataclass(frozen=True, slots=True)
class BodyModel:
    """The msgspec type of a body, and the function that converts it to variables."""

    body_type: type[Any]
    to_variables: Callable[[Any], dict[str, Any]]


def build_model(title: str, types: Mapping[str, GraphQLInputType]) -> BodyModel:
    """Build the model of `{"data": ...}` for variables of these types.

    A variable named `data` is the whole content, else `data` has one member for each variable.
    """
    if [*types] == [DATA]:
        content, convert = _model_of(types[DATA])
        return _wrap(title, content, lambda value: {DATA: convert(value)})
    content, convert = _build_struct(title, types, is_open=False)

    def to_variables(value: Struct) -> dict[str, Any]:
        members: dict[str, Any] = convert(value)
        # A member that is absent is None here; without its variable, the argument has its default.
        return {name: member for name, member in members.items() if member is not None}

    return _wrap(title, content, to_variables)


def _wrap(title: str, content: Any, to_variables: Callable[[Any], dict[str, Any]]) -> BodyModel:
    body_type: Any = msgspec.defstruct(f"{title}Body", [(DATA, content)])
    return BodyModel(body_type, lambda body: to_variables(body.data))


def _model_of(input_type: GraphQLInputType) -> tuple[Any, Convert]:
    """Return the Python type to read, and the function that converts it to GraphQL's value."""
    nullable = get_nullable_type(input_type)
    python_type: Any
    convert: Convert
    if isinstance(nullable, GraphQLList):
        item_type, convert_item = _model_of(nullable.of_type)
        python_type = GenericAlias(list, item_type)
        convert = _ListConverter(convert_item)
    elif isinstance(nullable, GraphQLInputObjectType):
        members = {name: field.type for name, field in nullable.fields.items()}
        python_type, convert = _build_struct(
            nullable.name, members, is_open=nullable.name in OPEN_TYPES
        )
    elif isinstance(nullable, GraphQLEnumType):  # the rule of the argument names its words
        python_type, convert = str, _identity
    else:
        python_type, convert = _PYTHON_TYPES[nullable.name], _identity
    if isinstance(input_type, GraphQLNonNull):
        return python_type, convert
    return python_type | None, convert


def _build_struct(
    name: str, types: Mapping[str, GraphQLInputType], *, is_open: bool
) -> tuple[Any, Convert]:
    models = {member: _model_of(type) for member, type in types.items()}
    fields: list[Any] = [
        (member, models[member][0])
        if isinstance(type, GraphQLNonNull)
        else (member, models[member][0], None)
        for member, type in types.items()
    ]
    rename = {member: to_snake_case(member) for member in types}
    # With an underscore, because the struct has a field under GraphQL's name `floorId` already.
    aliases = {f"{alias}_": alias for alias in ALIASES.get(name, ())}
    fields += [(alias, models[member][0], None) for alias, member in aliases.items()]
    struct = msgspec.defstruct(
        name,
        fields,
        rename=rename | aliases,
        # A required field may then follow an optional one.
        kw_only=True,
        # See docs/decisions/rest/requests-and-responses.md.
        forbid_unknown_fields=not is_open,
    )
    nested = [
        (member, convert) for member, (_, convert) in models.items() if convert is not _identity
    ]
    # The struct's own field names are GraphQL's; only its names in JSON are snake_case.
    if not nested and not aliases:
        return struct, msgspec.structs.asdict
    return struct, _StructConverter(nested, [*aliases.items()])


def _has_floats(input_type: GraphQLInputType) -> bool:
    named = get_named_type(input_type)
    if isinstance(named, GraphQLInputObjectType):
        return any(_has_floats(field.type) for field in named.fields.values())
    return named.name == "Float"


def _identity(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class _ListConverter:
    convert_item: Convert

    def __call__(self, values: list[Any]) -> list[Any]:
        return [*map(self.convert_item, values)]


@dataclass(frozen=True, slots=True)
class _StructConverter:
    nested: list[tuple[str, Convert]]
    aliases: list[tuple[str, str]]

    def __call__(self, value: Struct) -> dict[str, Any]:
        members = msgspec.structs.asdict(value)
        for name, convert in self.nested:
            if members[name] is not None:
                members[name] = convert(members[name])
        for alias, name in self.aliases:
            second = members.pop(alias)
            # One that is no id is kept for the rule that says so.
            if members[name] is None or not (second is None or is_id(second)):
                members[name] = second
        return members


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
