"""Request bodies: their media types and limits, and their conversion to variables.

JSON is read as the GraphQL input types of the variables say. Where a body does not fit them, every
error is named by its path in the body.
"""

import hashlib
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import NoneType
from typing import Any, Final, TypeAlias

import orjson
from graphql import (
    GraphQLEnumType,
    GraphQLInputObjectType,
    GraphQLInputType,
    GraphQLList,
    get_named_type,
    get_nullable_type,
)
from starlette.requests import Request
from starlette.types import Receive

from rest.errors import (
    bad_request_error,
    body_too_large_error,
    compressed_body_error,
    invalid_input_error,
    unsupported_media_type_error,
)
from rest.names import to_snake_case
from rest.responses import DATA
from rest.scope_members import SCOPE_BODY_DIGEST, ClientDisconnectedError
from schema.operation_inputs import ID, MAX_REPORTED_ERRORS, Input, Items, PartialInput

BodyParser = Callable[[bytes], dict[str, Any]]
"""Converts a body to variables. Raises HttpError 400 or 422, and BodyShapeError."""

MAX_TOKENS = 200_000
"""Commas, colons and opening brackets of a JSON body: 10,000 assignments have 90,000.

No other thread runs while orjson makes the values, nor while they are freed: up to 50 ms."""
MAX_BODY_BYTES: Final = 1_000_000
"""The limit of a JSON body, unless its operation says otherwise."""
MAX_REPEATED_BODY_BYTES = 16_384
"""A larger body is not recognised when it is sent again."""

ALIASES: Final = {"WaypointInput": ("floorId",)}
"""Second names of members, by input type: one guide of the specification writes `floorId`."""
OPEN_TYPES: Final = frozenset({"WaypointInput", "AssignmentInput"})
"""Input types with additional members ignored: clients send back whole locations."""
_SCALARS: Final[dict[str, type]] = {
    "ID": str,
    "String": str,
    "Int": int,
    "Float": float,
    "Boolean": bool,
    "DateTime": str,
    "Date": str,
}

_TOO_MANY_TOKENS = f"must have at most {MAX_TOKENS} commas, colons and opening brackets"
_JSON_TYPES: Final = {
    list: "an array",
    bool: "true or false",
    float: "a number",
    int: "a number",
    NoneType: "null",
    dict: "an object",
    str: "a string",
}

Errors: TypeAlias = dict[str, list[str]]
"""The broken rules of a body, by path."""


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
    may_be_bare: bool = False
    """True if the members may also stand alone, without `data` around them."""

    def build_parser(self, inputs: Sequence[Input]) -> BodyParser:
        types: dict[str, Any] = {
            source.variable: source.type if source.is_required else get_nullable_type(source.type)
            for source in inputs
        }
        read = build_body_reader(types)
        # A number that no float can hold is invalid input (422), and else malformed JSON (400).
        has_numbers = any(_has_floats(source.type) for source in inputs)

        def parse(body: bytes) -> dict[str, Any]:
            if has_more_tokens(body, MAX_TOKENS):
                raise invalid_input_error({"body": [_TOO_MANY_TOKENS]})
            value = parse_json(body, is_input=has_numbers)
            if self.may_be_bare and isinstance(value, dict) and DATA not in value:
                value = {DATA: value}
            variables = read(value)
            self._check_lengths(variables, inputs)
            return variables

        return parse

    def _check_lengths(self, variables: Mapping[str, Any], inputs: Sequence[Input]) -> None:
        """Reject lists that are too long, before each of thousands of items is checked."""
        for source in inputs:
            value: Any = variables.get(source.variable) or ()
            for rule in source.definition.rules:
                if isinstance(rule, Items) and len(value) > rule.maximum:
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
    body = await receive_body(request.receive, max_bytes, length.encode() if length else None)
    if len(body) <= MAX_REPEATED_BODY_BYTES:
        request.scope[SCOPE_BODY_DIGEST] = hashlib.sha256(body).digest()
    return body


async def receive_body(
    receive: Receive, max_bytes: int, content_length: bytes | None = None
) -> bytes:
    """Return the whole body.

    Raises HttpError 413 for a `Content-Length` over the limit before reading, so a client
    that waits for `100 Continue` never sends the body (RFC 9110, 10.1.1), and for a chunked body
    once it exceeds the limit. Raises ClientDisconnectedError if the client closes early.
    """
    # One that is no number is left to the counting; int() takes no more than 4,300 digits.
    digits = (content_length or b"").strip().lstrip(b"0")
    if digits.isdigit() and (len(digits) > 18 or int(digits) > max_bytes):
        raise body_too_large_error(max_bytes)
    chunks: list[bytes] = []
    received_bytes = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnectedError
        chunk = message.get("body", b"")
        received_bytes += len(chunk)
        if received_bytes > max_bytes:
            raise body_too_large_error(max_bytes)
        chunks.append(chunk)
        if not message.get("more_body", False):
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def has_more_tokens(text: bytes, limit: int) -> bool:
    """Return whether a text has more commas, colons and opening brackets outside strings than that.

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

    It may begin with a byte order mark, which RFC 8259, 8.1, lets a reader ignore.

    With `is_input`, a number that no float can hold is invalid input: HttpError 422.
    """
    try:
        return orjson.loads(text.removeprefix(BOM_UTF8))
    except orjson.JSONDecodeError as error:
        # The message of orjson for a number such as 1e999.
        if is_input and "infinity" in error.msg:
            raise invalid_input_error(
                {name: [f"has a number that is too large in line {error.lineno}"]}
            ) from error
        raise bad_request_error(
            f"The {name} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}"
        ) from error


class _MisfitError(Exception):
    """A value is not of its type, or an object has an unknown member or lacks a required one."""


class _Reader:
    """Reads the JSON values of a scalar or enum as a variable has them."""

    def __init__(self, json_type: type, *, is_nullable: bool) -> None:
        self.json_type = json_type
        self.is_nullable = is_nullable
        self.plain_type = None if json_type in (list, dict) else json_type
        """The type of values that are read as they are."""

    def read(self, value: Any) -> Any:
        """Return the value of a variable. Raises _MisfitError."""
        kind = type(value)
        if kind is self.json_type or (value is None and self.is_nullable):
            return value
        if self.json_type is float and kind is int:
            return float(value)
        raise _MisfitError

    def read_items(self, values: list[Any]) -> list[Any]:
        """Return the items of a list as a variable has them. Raises _MisfitError."""
        return [*map(self.read, values)]

    def read_rest(self, value: Any, path: str, errors: Errors) -> Any:
        """Add the errors of a value in document order, and return the rest of it.

        That has a PartialInput in the place of an object with errors, and null in that of an item
        that is none.
        """
        if len(errors) >= MAX_REPORTED_ERRORS:
            return None
        try:
            return self.read(value)
        except _MisfitError:
            if type(value) is self.json_type:
                return self.read_parts(value, path, errors)
        wanted = _JSON_TYPES[self.json_type] + (" or null" if self.is_nullable else "")
        errors[path or "body"] = [f"must be {wanted}, not {_JSON_TYPES[type(value)]}"]
        return None

    def read_parts(self, value: Any, path: str, errors: Errors) -> Any:
        """Return what `read_rest` does for a value of the right type with wrong parts."""
        raise NotImplementedError


class _ListReader(_Reader):
    def __init__(self, item: _Reader, *, is_nullable: bool) -> None:
        super().__init__(list, is_nullable=is_nullable)
        self.item = item

    def read(self, value: Any) -> Any:
        return self.item.read_items(value) if type(value) is list else super().read(value)

    def read_parts(self, value: list[Any], path: str, errors: Errors) -> Any:
        read = self.item.read_rest
        items = [read(item, f"{path}[{index}]", errors) for index, item in enumerate(value)]
        # Only rules of objects name the index.
        has_objects = isinstance(self.item, _ObjectReader)
        return items if has_objects else [item for item in items if item is not None]


class _ObjectReader(_Reader):
    """Reads objects with members in snake_case; a second name of one is after all others."""

    def __init__(
        self,
        readers: Mapping[str, _Reader],
        aliases: Sequence[str] = (),
        *,
        is_open: bool = False,
        is_nullable: bool = False,
    ) -> None:
        super().__init__(dict, is_nullable=is_nullable)
        self.is_open = is_open
        # With an underscore: the second name, `floorId`, is that of the variable's member.
        self.aliases = {f"{name}_": name for name in aliases}
        named = {to_snake_case(name): (name, reader) for name, reader in readers.items()}
        named |= {name: (alias, readers[name]) for alias, name in self.aliases.items()}
        self.members = {
            json_name: (name, reader.plain_type, reader)
            for json_name, (name, reader) in named.items()
        }
        self.required = {
            to_snake_case(name) for name, each in readers.items() if not each.is_nullable
        }
        self.nulls: dict[str, Any] = dict.fromkeys(readers)
        is_flat = all(each.plain_type and not each.is_nullable for each in readers.values())
        selects = is_flat and is_open and not aliases
        self._select = _compile_selection(readers) if selects else None

    def read_items(self, values: list[Any]) -> list[Any]:
        if self._select is not None:
            with suppress(KeyError):
                if len(items := self._select(values)) == len(values):
                    return items
        return super().read_items(values)  # one of them does not fit

    def read(self, value: Any) -> Any:
        if type(value) is not dict:
            return super().read(value)
        if not self.required <= value.keys():
            raise _MisfitError
        members = self.nulls.copy()
        for json_name, member in value.items():
            if found := self.members.get(json_name):
                name, plain_type, reader = found
                # Without a call: a body may have tens of thousands.
                members[name] = member if type(member) is plain_type else reader.read(member)
            elif not self.is_open:
                raise _MisfitError
        for alias, name in self.aliases.items():
            if alias in members:
                second = members.pop(alias)
                # One that is no id is kept for the rule that says so.
                if members[name] is None or not (second is None or ID.check(second) is None):
                    members[name] = second
        return members

    def read_parts(self, value: dict[str, Any], path: str, errors: Errors) -> Any:
        prefix = f"{path}." if path else ""
        members: dict[str, Any] = {}
        is_whole = True
        for json_name, (name, _, reader) in self.members.items():
            count = len(errors)
            member = None
            if json_name in value:
                member = reader.read_rest(value[json_name], prefix + json_name, errors)
            elif json_name in self.required:
                errors[prefix + json_name] = ["must be given"]
            if member is not None:
                members.setdefault(self.aliases.get(name, name), member)
            # Nothing is read once there are too many errors.
            elif len(errors) > count or (json_name in value and count >= MAX_REPORTED_ERRORS):
                is_whole = False
        if not self.is_open:
            unknown = (name for name in value if name not in self.members)
            errors.update({prefix + name: ["unknown field"] for name in unknown})
        return members if is_whole else PartialInput(members)


def _compile_selection(readers: Mapping[str, _Reader]) -> Callable[[list[Any]], list[Any]]:
    """Generate what reads the objects of a list that have scalars of these types, and only those.

    It takes 2 ms for 10,000 assignments; reading them one by one takes 13 ms.
    """
    conditions, members = ["type(item) is dict"], []
    for number, (name, reader) in enumerate(readers.items()):
        value = f"(value{number} := item[{to_snake_case(name)!r}])"
        conditions.append(f"type({value}) is {reader.json_type.__name__}")
        members.append(f"{name!r}: value{number}")
    source = f"{{{', '.join(members)}}} for item in items if {' and '.join(conditions)}"
    # The source is made of the names in our own schema alone.
    compiled: Callable[[list[Any]], list[Any]] = eval(f"lambda items: [{source}]")  # noqa: S307
    return compiled


def build_reader(input_type: GraphQLInputType) -> _Reader:
    nullable = get_nullable_type(input_type)
    is_nullable = nullable is input_type
    if isinstance(nullable, GraphQLList):
        return _ListReader(build_reader(nullable.of_type), is_nullable=is_nullable)
    if isinstance(nullable, GraphQLInputObjectType):
        return _ObjectReader(
            build_readers({name: field.type for name, field in nullable.fields.items()}),
            ALIASES.get(nullable.name, ()),
            is_open=nullable.name in OPEN_TYPES,
            is_nullable=is_nullable,
        )
    # The rule of an argument names the words of an enum.
    is_enum = isinstance(nullable, GraphQLEnumType)
    return _Reader(str if is_enum else _SCALARS[nullable.name], is_nullable=is_nullable)


def build_readers(types: Mapping[str, GraphQLInputType]) -> dict[str, _Reader]:
    return {name: build_reader(type) for name, type in types.items()}


def build_body_reader(types: Mapping[str, GraphQLInputType]) -> Callable[[Any], dict[str, Any]]:
    """Return a function that reads `{"data": …}` as variables of these types, see `JsonBody`.

    It raises BodyShapeError.
    """
    is_whole = [*types] == [DATA]
    data_reader = build_reader(types[DATA]) if is_whole else _ObjectReader(build_readers(types))
    body_reader = _ObjectReader({DATA: data_reader}, is_open=True)

    def read(value: Any) -> dict[str, Any]:
        try:
            variables: dict[str, Any] = body_reader.read(value)
        except _MisfitError:
            errors: Errors = {}
            rest = body_reader.read_rest(value, "", errors) or {}
            data = rest.get(DATA)
            inputs = data if isinstance(data, dict) else PartialInput({DATA: data})
            raise BodyShapeError(errors, inputs) from None
        if is_whole:
            return variables
        # A member that is absent is None here; without its variable, the argument has its default.
        return {name: member for name, member in variables[DATA].items() if member is not None}

    return read


def _has_floats(input_type: GraphQLInputType) -> bool:
    named = get_named_type(input_type)
    if isinstance(named, GraphQLInputObjectType):
        return any(_has_floats(field.type) for field in named.fields.values())
    return named.name == "Float"
