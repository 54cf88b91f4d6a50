"""Reading a catalog bundle: its two forms, gzipped or not, member by member.

JSON form: one object of arrays, `{"assets": [...], "units": [...]}`. Line form: one member a line,
its kind in `"type"`. Which one it is the first line tells.
"""

import gzip
import json
import zlib
from collections.abc import Iterator
from io import BufferedReader
from typing import Any, BinaryIO, NamedTuple, cast

from storage.bundles.json_stream import (
    MAX_VALUE_LENGTH,
    JsonDecoder,
    JsonStream,
    MalformedJsonError,
    describe_invalid_utf8,
)
from storage.bundles.members import parse_member
from storage.bundles.violations import Violations
from storage.catalog import KINDS, KINDS_BY_NAME
from storage.errors import BundleError
from storage.records.kinds import Document, Kind

GZIP_MAGIC = b"\x1f\x8b"
PEEK_BYTES = 1 << 16
MAX_MEMBER_CHARACTERS = 2 << 20
"""The longest member, its drawing aside: in MongoDB a document has at most 16 MB."""
KINDS_BY_TYPE = {name: kind for kind in KINDS for name in (kind.singular, kind.name)}

BUNDLE_FORMAT_HINT = "a bundle is one JSON object of arrays, or one member a line"


class BundleMember(NamedTuple):
    """One valid member of a bundle; `place` is a JSON path below its file's name, `size` the length
    of its text."""

    origin: str
    kind: Kind[Any]
    document: Document
    text_length: int


def read_members(stream: BinaryIO, name: str, violations: Violations) -> Iterator[BundleMember]:
    """The members of a bundle that are valid by themselves; what is wrong becomes a complaint.

    Raises BundleError when the complaints are many, or reading cannot go on.
    """
    try:
        text = cast(BinaryIO, _open_decompressed(stream))
        read = _read_line_form if _is_line_form(cast(BufferedReader, text)) else _read_array_form
        yield from read(text, name, violations)
    except MalformedJsonError as fault:
        violations.add(f"{name}: line {fault.line}, column {fault.column}", fault.message)
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
    """Whether the first line begins with its type, or is a whole object that has one."""
    start = text.peek(PEEK_BYTES).removeprefix(b"\xef\xbb\xbf").lstrip()
    line = start.partition(b"\n")[0]
    if b"".join(line[:40].split()).startswith(b'{"type":'):
        return True
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and "type" in first


def _read_line_form(text: BinaryIO, name: str, violations: Violations) -> Iterator[BundleMember]:
    decoder = JsonDecoder()
    number = 0
    while line := text.readline(MAX_VALUE_LENGTH):
        number += 1
        place = f"{name}: line {number}"
        if not line.endswith(b"\n") and len(line) == MAX_VALUE_LENGTH:
            raise MalformedJsonError(f"a line longer than {MAX_VALUE_LENGTH:,} bytes", number, 1)
        try:
            value = _decode_line(decoder, line, number)
        except MalformedJsonError as fault:
            violations.add(f"{place}, column {fault.column}", fault.message)
            continue
        if value is None:
            continue
        kind = _pop_kind(value, place, violations)
        if kind is None:
            continue
        place += ": $"
        yield from _validate_member(kind, value, decoder.errors, place, len(line), violations)


def _decode_line(decoder: JsonDecoder, line: bytes, number: int) -> Any:
    """The value of a line, None for an empty one."""
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
            "more text behind the member; give each its own line", number, end + 1
        )
    return value if value is not None else []


def _pop_kind(value: Any, origin: str, violations: Violations) -> Kind[Any] | None:
    if not isinstance(value, dict):
        violations.add(origin, 'a member is an object, such as {"type": "unit", "id": ...}')
        return None
    named = value.pop("type", None)
    kind = KINDS_BY_TYPE.get(named) if isinstance(named, str) else None
    if kind is None:
        types = ", ".join(kind.singular for kind in KINDS)
        violations.add(f"{origin}: $.type", f"must be one of {types}; not {json.dumps(named)}")
    return kind


def _read_array_form(text: BinaryIO, name: str, violations: Violations) -> Iterator[BundleMember]:
    window = JsonStream(text)
    if not window.peek():
        raise window.error_at(f"the file is empty; {BUNDLE_FORMAT_HINT}")
    window.expect("{", f"{BUNDLE_FORMAT_HINT}: expected '{{'")
    seen: set[str] = set()
    closed = window.accept("}")
    while not closed:
        kind = _read_array_name(window, seen)
        yield from _read_array(window, kind, name, violations)
        closed = window.expect(",}", "expected ',' or '}' behind the array") == "}"
    if window.peek():
        raise window.error_at('text behind the bundle; one member a line needs a "type" in each')


def _read_array_name(window: JsonStream, seen: set[str]) -> Kind[Any]:
    if window.peek() != '"':
        window.expect('"', 'expected the name of an array in ""')
    fault = window.error_at("")
    array = window.read_value()
    if array not in KINDS_BY_NAME:
        fault.message = (
            f"there is no array {json.dumps(array)}; a bundle has {', '.join(KINDS_BY_NAME)}"
        )
        raise fault
    if array in seen:
        fault.message = f'the array "{array}" is given twice; join the two'
        raise fault
    seen.add(array)
    window.expect(":", f"expected ':' behind \"{array}\"")
    return KINDS_BY_NAME[array]


def _read_array(
    window: JsonStream, kind: Kind[Any], name: str, violations: Violations
) -> Iterator[BundleMember]:
    window.expect("[", f"\"{kind.name}\" must be an array: expected '['")
    closed = window.accept("]")
    index = 0
    while not closed:
        path = f"$.{kind.name}[{index}]"
        place = f"{name}: {path}"
        value = window.read_value()
        faults = window.decoder.errors
        yield from _validate_member(kind, value, faults, place, window.value_length, violations)
        index += 1
        closed = window.expect(",]", f"expected ',' or ']' behind {path}") == "]"


def _validate_member(
    kind: Kind[Any],
    value: Any,
    json_errors: list[str],
    origin: str,
    text_length: int,
    violations: Violations,
) -> Iterator[BundleMember]:
    document = parse_member(kind, value, json_errors, origin, violations)
    if document is None:
        return
    if text_length - len(document.get("source") or "") > MAX_MEMBER_CHARACTERS:
        violations.add(origin, f"the member is longer than {MAX_MEMBER_CHARACTERS:,} characters")
        return
    yield BundleMember(origin, kind, document, text_length)
