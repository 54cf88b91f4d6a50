"""Request bodies: their media types and limits, and their conversion to variables."""

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
import orjson
from starlette.requests import Request

from rest.body_errors import find_shape_errors, name_first_error
from rest.body_models import build_model
from rest.errors import (
    HttpError,
    body_too_large_error,
    compressed_body_error,
    invalid_input_error,
    unsupported_media_type_error,
)
from rest.names import to_snake_case
from rest.request_body import BodyTooLargeError, receive_body
from rest.scope_members import SCOPE_BODY_DIGEST
from schema.operation_inputs import MAX_PAIRS, Input, Items, PartialInput

T = TypeVar("T")
BodyParser = Callable[[bytes], dict[str, Any]]
"""From a body to variables. Raises HttpError 400 or 422, and BodyShapeError."""

DATA = "data"
"""The only member of every JSON body; also the variable's name if the body is a list."""
MAX_UNTYPED_TOKENS = 200_000
"""Commas, colons and opening brackets of a body that is read as a whole, to name all its errors.

No other thread runs while orjson makes its values, nor while they are freed: up to 50 ms."""
MAX_REPEATED_BODY_BYTES = 16_384
"""A larger body is not recognised when it is sent again."""

_BYTE_OFFSET = re.compile(r" \(byte (\d+)\)")


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
    has_numbers: bool = False
    """Whether a number that no float can hold is invalid input (422), not malformed JSON (400)."""

    def build_parser(self, inputs: Sequence[Input]) -> BodyParser:
        """Return the parser of bodies for an operation with these inputs."""
        model = build_model(self.title, {source.variable: source.type for source in inputs})
        decoder = msgspec.json.Decoder(model.body_type)

        def parse(body: bytes) -> dict[str, Any]:
            if _count_tokens(body) > MAX_UNTYPED_TOKENS:
                struct = decode_struct(body, decoder)
            else:
                struct = to_struct(parse_json(body, is_input=self.has_numbers), model.body_type)
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


ASSIGNMENTS_BODY = JsonBody("application/json", 8_000_000, title="Assignments")
DISTANCES_BODY = JsonBody(
    "application/json",
    1_000_000,
    f"At most {MAX_PAIRS} pairs: sources times targets.",
    title="DistanceRequest",
    has_numbers=True,
)
CLOSURES_BODY = JsonBody(
    "application/json",
    4_000_000,
    "All that is closed; a list that is absent is empty.",
    title="ClosuresRequest",
)
UNIT_MAP_BODY = RequestBody(
    "application/vnd.map+xml", 20 << 20, "The SVG data of a unit map.", "svg"
)


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
