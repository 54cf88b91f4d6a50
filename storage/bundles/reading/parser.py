"""Reading catalog bundles, gzipped or not, member by member.

There are two forms (docs/bundles.md): one JSON object of arrays,
`{"assets": [...], "units": [...]}`, and newline-delimited JSON, one member a line with its kind in
`"type"`. The first line shows which form it is.
"""

import gzip
import json
import zlib
from collections.abc import Iterator
from io import BufferedReader
from typing import Any, BinaryIO, NamedTuple, cast

from storage.bundles.reading.json_stream import (
    MAX_VALUE_LENGTH,
    JsonDecoder,
    JsonStream,
    MalformedJsonError,
    describe_invalid_utf8,
)
from storage.bundles.reading.members import MemberError, parse_member
from storage.bundles.reading.violations import Violations
from storage.catalog import RECORD_TYPES, RECORD_TYPES_BY_NAME
from storage.errors import BundleError
from storage.records.kinds import Document, RecordType

GZIP_MAGIC = b"\x1f\x8b"
PEEK_BYTES = 1 << 16
MAX_MEMBER_CHARACTERS = 2 << 20
"""Limit of a member without its drawing. A MongoDB document has at most 16 MB."""
KINDS_BY_TYPE = {name: kind for kind in RECORD_TYPES for name in (kind.singular, kind.name)}

BUNDLE_FORMAT_HINT = "a bundle is one JSON object of arrays, or one member a line"


class BundleMember(NamedTuple):
    """One member of a bundle, valid on its own."""

    origin: str
    """File name and JSON path, such as `demo.json: $.units[3]`."""
    kind: RecordType[Any]
    document: Document
    text_length: int


def read_members(
    stream: BinaryIO, name: str, violations: Violations, *, are_partial: bool = False
) -> Iterator[BundleMember]:
    """Yield the members that are valid on their own; add the others to `violations`.

    Partial members need only their keys. Raises BundleError if there are too many violations or
    the rest cannot be parsed.
    """
    try:
        text = _open_decompressed(stream)
        read = _read_line_form if _is_line_form(text) else _read_array_form
        yield from read(text, name, violations, are_partial)
    except MalformedJsonError as error:
        violations.add(f"{name}: line {error.line}, column {error.column}", error.message)
        violations.raise_if_any()
    except EOFError:
        violations.add(name, "the gzip data ends too early; is the file complete?")
        violations.raise_if_any()
    except (gzip.BadGzipFile, zlib.error) as error:
        violations.add(name, f"the gzip data is damaged: {error}")
        violations.raise_if_any()
    except OSError as error:
        raise BundleError([f"{name}: {error.strerror}"]) from error


def _open_decompressed(stream: BinaryIO) -> BufferedReader:
    plain = BufferedReader(cast(Any, stream), PEEK_BYTES)
    if plain.peek(2)[:2] != GZIP_MAGIC:
        return plain
    return BufferedReader(cast(Any, gzip.GzipFile(fileobj=plain)), PEEK_BYTES)


def _is_line_form(text: BufferedReader) -> bool:
    """Return whether the first line begins with `{"type":` or is an object with a `type`."""
    start = text.peek(PEEK_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
    line = start.partition(b"\n")[0]
    if b"".join(line[:40].split()).startswith(b'{"type":'):
        return True
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "type" in first


def _read_line_form(
    text: BufferedReader, name: str, violations: Violations, are_partial: bool
) -> Iterator[BundleMember]:
    decoder = JsonDecoder()
    number = 0
    while line := text.readline(MAX_VALUE_LENGTH):
        number += 1
        origin = f"{name}: line {number}"
        if not line.endswith(b"\n") and len(line) == MAX_VALUE_LENGTH:
            raise MalformedJsonError(f"a line longer than {MAX_VALUE_LENGTH:,} bytes", number, 1)
        try:
            value = _decode_line(decoder, line, number)
        except MalformedJsonError as error:
            violations.add(f"{origin}, column {error.column}", error.message)
            continue
        if value is None:
            continue
        kind = _pop_kind(value, origin, violations)
        if kind is None:
            continue
        member = _parse_member(
            f"{origin}: $", kind, value, decoder.errors, len(line), violations, are_partial
        )
        if member is not None:
            yield member


def _decode_line(decoder: JsonDecoder, line: bytes, number: int) -> Any:
    """Return the value of a line, None for an empty one. Raises MalformedJsonError."""
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        if not text:
            return None
        value, end = decoder.decode(text, 0)
    except UnicodeDecodeError as error:
        raise MalformedJsonError(describe_invalid_utf8(error), number, error.start + 1) from error
    except json.JSONDecodeError as error:
        raise MalformedJsonError(error.msg, number, error.pos + 1) from error
    except RecursionError as error:
        raise MalformedJsonError("values are nested too deeply", number, 1) from error
    if text[end:].strip():
        raise MalformedJsonError(
            "more text after the member; give each member its own line", number, end + 1
        )
    return value if value is not None else []  # null is no member either


def _pop_kind(value: Any, origin: str, violations: Violations) -> RecordType[Any] | None:
    if not isinstance(value, dict):
        violations.add(origin, 'a member is an object, such as {"type": "unit", "id": ...}')
        return None
    type_name = value.pop("type", None)
    kind = KINDS_BY_TYPE.get(type_name) if isinstance(type_name, str) else None
    if kind is None:
        types = ", ".join(kind.singular for kind in RECORD_TYPES)
        violations.add(f"{origin}: $.type", f"must be one of {types}; not {json.dumps(type_name)}")
    return kind


def _read_array_form(
    text: BufferedReader, name: str, violations: Violations, are_partial: bool
) -> Iterator[BundleMember]:
    json_stream = JsonStream(cast(BinaryIO, text))
    if not json_stream.peek():
        raise json_stream.error_at(f"the file is empty; {BUNDLE_FORMAT_HINT}")
    json_stream.expect("{", f"{BUNDLE_FORMAT_HINT}: expected '{{'")
    seen: set[str] = set()
    closed = json_stream.accept("}")
    while not closed:
        kind = _read_array_name(json_stream, seen)
        yield from _read_array(json_stream, kind, name, violations, are_partial)
        closed = json_stream.expect(",}", "expected ',' or '}' after the array") == "}"
    if json_stream.peek():
        raise json_stream.error_at(
            'text after the bundle; if there is one member a line, each needs a "type"'
        )


def _read_array_name(json_stream: JsonStream, seen: set[str]) -> RecordType[Any]:
    if json_stream.peek() != '"':
        json_stream.expect('"', 'expected the name of an array in ""')
    error = json_stream.error_at("")  # before reading on: with the position of the name
    array, _ = json_stream.read_value()
    if array not in RECORD_TYPES_BY_NAME:
        error.message = (
            f"there is no array {json.dumps(array)}; a bundle has {', '.join(RECORD_TYPES_BY_NAME)}"
        )
        raise error
    if array in seen:
        error.message = f'the array "{array}" is given twice; join the two'
        raise error
    seen.add(array)
    json_stream.expect(":", f"expected ':' after \"{array}\"")
    return RECORD_TYPES_BY_NAME[array]


def _read_array(
    json_stream: JsonStream,
    kind: RecordType[Any],
    name: str,
    violations: Violations,
    are_partial: bool,
) -> Iterator[BundleMember]:
    json_stream.expect("[", f"\"{kind.name}\" must be an array: expected '['")
    closed = json_stream.accept("]")
    index = 0
    while not closed:
        path = f"$.{kind.name}[{index}]"
        value, length = json_stream.read_value()
        json_errors = json_stream.decoder.errors
        member = _parse_member(
            f"{name}: {path}", kind, value, json_errors, length, violations, are_partial
        )
        if member is not None:
            yield member
        index += 1
        closed = json_stream.expect(",]", f"expected ',' or ']' after {path}") == "]"


def _parse_member(
    origin: str,
    kind: RecordType[Any],
    value: Any,
    json_errors: list[str],
    text_length: int,
    violations: Violations,
    is_partial: bool,
) -> BundleMember | None:
    if json_errors:
        violations.add(origin, json_errors[0])
        return None
    try:
        document = parse_member(kind, value, is_partial=is_partial)
    except MemberError as error:
        violations.add(origin + error.path, error.message)
        return None
    if text_length - len(document.get("source") or "") > MAX_MEMBER_CHARACTERS:
        violations.add(origin, f"the member is longer than {MAX_MEMBER_CHARACTERS:,} characters")
        return None
    return BundleMember(origin, kind, document, text_length)
