"""Reading catalog bundles in JSON, gzipped or not, member by member.

There are two forms (docs/bundles.md): one JSON object of arrays,
`{"assets": [...], "units": [...]}`, and newline-delimited JSON, one member a line with its kind in
`"type"`. The first line shows which form it is.
"""

import codecs
import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cache, lru_cache
from io import BufferedReader
from itertools import count
from types import UnionType
from typing import Any, BinaryIO, NamedTuple, Union, cast, get_args, get_origin

import msgspec
from msgspec import UNSET, UnsetType

from storage.bundles.drawings import to_data_url
from storage.bundles.names import Suggest, suggest
from storage.bundles.violations import Violations, describe_record, quote_json
from storage.catalog import MAPS, RECORD_TYPES, RECORD_TYPES_BY_NAME
from storage.errors import StorageError
from storage.mongo import driver, files
from storage.records import kinds
from storage.records.kinds import Document, RecordType

# One member of a bundle: parsing it, and writing a record as one.
#
# The fields of a member are the record's; timestamps are converted to UTC.


def build_partial_struct(kind: kinds.RecordType[Any]) -> type[msgspec.Struct]:
    """Return the struct of a kind with the same types, in which all but the key may be absent.

    >>> from storage.catalog import UNITS
    >>> msgspec.to_builtins(build_partial_struct(UNITS)(id="u1", name="101"))
    {'id': 'u1', 'name': '101'}
    """
    fields: list[Any] = [
        (field.name, field.type)
        if field.name in kind.key_fields
        else (field.name, Union[field.type, UnsetType], UNSET)  # noqa: UP007
        for field in msgspec.structs.fields(kind.struct)
    ]
    return msgspec.defstruct(
        kind.struct.__name__, fields, kw_only=True, forbid_unknown_fields=True, gc=False
    )


PARTIAL_STRUCTS = {kind.name: build_partial_struct(kind) for kind in RECORD_TYPES}
"""They parse members of which only some fields are given, by kind."""


class TimestampedArray(NamedTuple):
    """An array field with timestamps in its items; `identity_field` identifies an item."""

    field: str
    identity_field: str
    content_fields: tuple[str, ...]


IDENTITY_FIELDS = {"values": "value", "tags": "key"}


def _find_timestamped_arrays(kind: kinds.RecordType[Any]) -> tuple[TimestampedArray, ...]:
    info: Any = msgspec.inspect.type_info(kind.struct)
    found = []
    for field in info.fields:
        item = getattr(field.type, "item_type", None)
        names = [part.encode_name for part in getattr(item, "fields", ())]
        if kinds.CREATED_AT in names:
            content = tuple(name for name in names if name not in kinds.TIMESTAMP_FIELDS)
            found.append(
                TimestampedArray(field.encode_name, IDENTITY_FIELDS[field.encode_name], content)
            )
    return tuple(found)


TIMESTAMPED_ARRAYS = {kind.name: _find_timestamped_arrays(kind) for kind in RECORD_TYPES}
"""The items of these array fields have timestamps, by kind."""


def _pattern_of(constrained: Any) -> str:
    (meta,) = constrained.__metadata__
    return str(meta.pattern)


PATTERN_MESSAGES = {
    _pattern_of(
        kinds.TimestampText
    ): "Expected an ISO 8601 time with offset such as 2026-01-31T12:00:00+00:00",
    _pattern_of(kinds.ReferenceKey): f"Expected {kinds.REFERENCE_KEY_FORM}",
    _pattern_of(kinds.MapTag): "Expected text without commas, NUL and lone surrogates",
    _pattern_of(
        kinds.WebAddress
    ): "Expected an http or https URL such as https://maps.example.com/1.json",
    kinds.TEXT_PATTERN: "Expected text without NUL and lone surrogates",
}
"""They say what a value is like that matches a pattern of `storage.records.kinds`."""


class Fault(NamedTuple):
    """An invalid value at a path within a member."""

    path: str
    message: str


class MemberError(Exception):
    """A member is invalid."""

    def __init__(
        self, kind: kinds.RecordType[Any], struct: type[msgspec.Struct], value: Any
    ) -> None:
        super().__init__("a member is invalid")
        self._kind, self._struct, self._value = kind, struct, value

    def find_faults(self, suggest: Suggest = suggest) -> Iterator[Fault]:
        """Yield all that is wrong with the member. `suggest` finds the fields that were meant."""
        yield from _find_faults(self._struct, self._value, "", suggest)
        yield from _find_repeated_items(self._kind, self._value)
        id = self._value.get("id") if isinstance(self._value, dict) else None
        if isinstance(id, str) and id in self._kind.reserved_ids:
            yield Fault(
                ".id",
                f"must not be {id!r}: REST has an endpoint of this name among the"
                f" {self._kind.name}; choose another id",
            )


def parse_member(
    kind: kinds.RecordType[Any], value: Any, *, is_partial: bool = False
) -> kinds.Document:
    """Return the document of a member, decoded from JSON. Raises MemberError.

    A partial member needs only its key, and its document has only the fields that are given.
    """
    struct = PARTIAL_STRUCTS[kind.name] if is_partial else kind.struct
    try:
        record = msgspec.convert(value, struct)
        document = _to_partial_document(kind, record) if is_partial else kind.to_document(record)
        _normalize_timestamps(document)
        for nested in TIMESTAMPED_ARRAYS[kind.name]:
            for item in document.get(nested.field, ()):
                _normalize_timestamps(item)
    except (msgspec.ValidationError, ValueError) as error:
        raise MemberError(kind, struct, value) from error
    if document["_id"] in kind.reserved_ids or any(_find_repeated_items(kind, document)):
        raise MemberError(kind, struct, value)
    return document


def _find_repeated_items(kind: kinds.RecordType[Any], value: Any) -> Iterator[Fault]:
    """Yield the items of an array that have the id of another item."""
    array, field = kind.unique_items or ("", "")
    items = value.get(array) if isinstance(value, dict) else None
    seen: dict[str, int] = {}
    for index, item in enumerate(items if isinstance(items, list) else ()):
        id = item.get(field) if isinstance(item, dict) else None
        if isinstance(id, str) and (first := seen.setdefault(id, index)) != index:
            message = f"{quote_json(id)} is already that of {array}[{first}]"
            yield Fault(f".{array}[{index}].{field}", message)


def _to_partial_document(kind: kinds.RecordType[Any], record: msgspec.Struct) -> kinds.Document:
    given = msgspec.to_builtins(record)
    document = {"_id": kind.key_of(given), **given}
    document.pop("id", None)
    return document


def _find_faults(expected: Any, value: Any, path: str, suggest: Suggest) -> Iterator[Fault]:
    """Yield what is wrong with a value, given the type that its field has in the record."""
    options = get_args(expected) if get_origin(expected) in (Union, UnionType) else (expected,)
    for option in options:
        if isinstance(value, list) and get_origin(option) is list:
            (item_type,) = get_args(option)
            for index, item in enumerate(value):
                yield from _find_faults(item_type, item, f"{path}[{index}]", suggest)
            return
        if (
            isinstance(value, dict)
            and isinstance(option, type)
            and issubclass(option, msgspec.Struct)
        ):
            yield from _find_object_faults(option, value, path, suggest)
            return
    try:
        msgspec.convert(value, expected)
        if kinds.TimestampText in options and value:
            to_utc(value)
    except msgspec.ValidationError as error:
        yield Fault(path, _describe_error(error))
    except ValueError as error:
        yield Fault(path, f"is not a valid time: {error}")


def _find_object_faults(
    record: type[msgspec.Struct], value: kinds.Document, path: str, suggest: Suggest
) -> Iterator[Fault]:
    fields = _fields_of(record)
    names = record.__struct_fields__
    missing = [field.encode_name for field in fields if field.required and field.name not in value]
    for name in value:
        if name in names:
            continue
        meant = suggest(name, [known for known in names if known not in value])
        if meant in missing:
            missing.remove(meant)
        hint = f"did you mean {meant}?" if meant else f"known fields: {', '.join(names)}"
        yield Fault(path, f"there is no field {quote_json(name)}; {hint}")
    if missing:
        yield Fault(path, f"required but missing: {', '.join(missing)}")
    for field in fields:
        if field.encode_name in value:
            field_path = f"{path}.{field.encode_name}"
            yield from _find_faults(field.type, value[field.encode_name], field_path, suggest)


@cache
def _fields_of(record: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(record)


def _describe_error(error: msgspec.ValidationError) -> str:
    message = str(error)
    for pattern, pattern_message in PATTERN_MESSAGES.items():
        if repr(pattern) in message:
            return pattern_message
    return message


def _normalize_timestamps(document: kinds.Document) -> None:
    for field in kinds.TIMESTAMP_FIELDS:
        if document.get(field):
            document[field] = to_utc(document[field])


@lru_cache(maxsize=4096)
def to_utc(timestamp: str) -> str:
    """Return a timestamp in UTC, as it is stored. Raises ValueError for an impossible date.

    >>> to_utc("2026-01-31T13:00:00+01:00")
    '2026-01-31T12:00:00+00:00'
    """
    try:
        return datetime.fromisoformat(timestamp).astimezone(UTC).isoformat()
    except OverflowError as error:
        raise ValueError("it lies outside the years 1 to 9999") from error


async def to_member(
    database: driver.Database,
    kind: kinds.RecordType[Any],
    record: kinds.Record,
    session: driver.Session | None = None,
    *,
    with_drawing: bool = True,
) -> kinds.Document:
    """Return a record as the member of a bundle; a drawing as a data URL, or as its digest.

    Raises StorageError if the drawing is lost.
    """
    member: kinds.Document = msgspec.structs.asdict(record)
    if kind is MAPS and member["source"] and with_drawing:
        content = await files.read_file(database, member["source"], session)
        if content is None:
            raise StorageError(f"the drawing of {describe_record(MAPS, member['id'])} is lost")
        member["source"] = to_data_url(content)
    return member


def encode_line(kind: kinds.RecordType[Any], member: kinds.Document) -> bytes:
    """Return a member in the line form."""
    return msgspec.json.encode({"type": kind.singular, **member}) + b"\n"


# JSON values are read one after another from a stream, in bounded memory and with positions, by
# `json.JSONDecoder.raw_decode`: it decodes one value at a position of a text and returns where it
# ended. The text is a window: the part of the stream that is read and not consumed.

CHUNK_BYTES = 1 << 18
MAX_VALUE_LENGTH = 64 << 20
"""A value has no more characters: this is more than the largest drawing as a data URL."""

WHITESPACE = re.compile(r"[ \t\r\n]*")
MAX_SPACE_BEFORE = 1000
CUT_OFF_CHARACTERS = 16
"""A syntax error this close to the end of the window may be a token that is cut in two."""


class MalformedJsonError(Exception):
    """The text is not JSON at this line and column."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


class JsonDecoder:
    """Decodes values and collects what the standard library accepts: repeated names, NaN, numbers
    of any length."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self._json = json.JSONDecoder(
            object_pairs_hook=self._on_object,
            parse_constant=self._on_constant,
            parse_int=self._on_integer,
        )

    def decode(self, text: str, position: int) -> tuple[Any, int]:
        """Return the value at `position` and where it ends; `errors` are those of this value.

        Raises json.JSONDecodeError and RecursionError.

        >>> decoder = JsonDecoder()
        >>> decoder.decode('{"x": NaN} ', 0)
        ({'x': None}, 10)
        >>> decoder.errors
        ['NaN is no JSON number; use a finite one, or null']
        """
        self.errors = []
        return self._json.raw_decode(text, position)

    def _on_object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            repeated = next(name for name in counts if counts[name] > 1)
            self.errors.append(f"{json.dumps(repeated)} is given more than once")
        return value

    def _on_constant(self, name: str) -> None:
        self.errors.append(f"{name} is no JSON number; use a finite one, or null")

    def _on_integer(self, digits: str) -> int:
        if len(digits) > 20:  # converting thousands of digits takes quadratic time
            self.errors.append(f"a number of {len(digits)} digits is too large")
            return 0
        return int(digits)


class JsonStream:
    """A stream of JSON values, of which only the part not yet consumed is in memory."""

    def __init__(self, stream: BinaryIO) -> None:
        self.decoder = JsonDecoder()
        self._stream = stream
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")()
        self._text = ""
        self._position = 0
        self._ended = False
        self._lines_before = 0
        self._columns_before = 0

    def peek(self) -> str:
        """Return the next character after whitespace, "" at the end. Raises MalformedJsonError."""
        while True:
            self._position = _skip_whitespace(self._text, self._position)
            if self._position < len(self._text):
                return self._text[self._position]
            if not self._read_more():
                return ""

    def expect(self, characters: str, message: str) -> str:
        """Consume the next character, one of `characters`, or raise MalformedJsonError."""
        character = self.peek()
        if not character or character not in characters:
            actual = "but the text ends here" if not character else f"not {character!r}"
            raise self.error_at(f"{message}, {actual}")
        self._position += 1
        return character

    def expect_comma(self, end: str, message: str) -> bool:
        """Consume a comma, or the end after the last item. Return whether another item follows.

        Raises MalformedJsonError.
        """
        if self.expect(f",{end}", f"expected ',' or '{end}' {message}") == end:
            return False
        if self.peek() == end:
            raise self.error_at(f"remove the comma before '{end}'")
        return True

    def accept(self, character: str) -> bool:
        """Consume the next character if it is this one. Raises MalformedJsonError."""
        is_next = self.peek() == character
        self._position += is_next
        return is_next

    def read_value(self) -> tuple[Any, int]:
        """Consume the next value; return it and the length of its text.

        Raises MalformedJsonError.
        """
        self.peek()
        while True:
            try:
                value, end = self.decoder.decode(self._text, self._position)
            except json.JSONDecodeError as error:
                if self._is_cut_off(error) and self._read_more():
                    continue
                raise self.error_at(describe_syntax_error(error), error.pos) from error
            except RecursionError as error:
                raise self.error_at("values are nested too deeply here") from error
            # A number near the end may continue in the next chunk: `1`, but also `1.` and `1e+`.
            near_end = len(self._text) - end < len("e+1")
            if near_end and self._text[end - 1] not in '}]"' and self._read_more():
                continue
            length, self._position = end - self._position, end
            return value, length

    def error_at(self, message: str, position: int | None = None) -> MalformedJsonError:
        """Return an error for a position in the window, by default the current one."""
        at = self._position if position is None else position
        line, column = self._line_and_column(at)
        return MalformedJsonError(message, line, column)

    def _line_and_column(self, position: int) -> tuple[int, int]:
        lines = self._text.count("\n", 0, position)
        line_start = self._text.rfind("\n", 0, position) + 1
        columns = position - line_start + (0 if lines else self._columns_before)
        return self._lines_before + lines + 1, columns + 1

    def _is_cut_off(self, error: json.JSONDecodeError) -> bool:
        near_end = error.pos >= len(self._text) - CUT_OFF_CHARACTERS
        return not self._ended and (near_end or error.msg.startswith("Unterminated string"))

    def _read_more(self) -> bool:
        """Extend the window; False at the end of the stream.

        It at least doubles, so that parsing a long value again and again takes linear time.
        """
        if self._ended:
            return False
        line, column = self._line_and_column(self._position)
        self._lines_before, self._columns_before = line - 1, column - 1
        self._text, self._position = self._text[self._position :], 0
        if len(self._text) > MAX_VALUE_LENGTH:
            raise self.error_at(f"a value longer than {MAX_VALUE_LENGTH:,} characters begins here")
        chunk = self._stream.read(max(CHUNK_BYTES, len(self._text)))
        self._ended = not chunk
        try:
            self._text += self._utf8.decode(chunk, final=self._ended)
        except UnicodeDecodeError as error:
            self._text += error.object[: error.start].decode("utf-8", "replace")
            raise self.error_at(describe_invalid_utf8(error), len(self._text)) from error
        return True


def describe_invalid_utf8(error: UnicodeDecodeError) -> str:
    """Return the message for bytes that are not UTF-8."""
    byte = error.object[error.start]
    return f"byte 0x{byte:02x} is not UTF-8 ({error.reason}); save the file as UTF-8"


def describe_syntax_error(error: json.JSONDecodeError) -> str:
    """Return the message for a text that is not JSON, with a remedy for frequent mistakes.

    >>> try:
    ...     json.loads('{"a": 1,}')
    ... except json.JSONDecodeError as error:
    ...     describe_syntax_error(error)
    "remove the comma before '}'"
    """
    at = _skip_whitespace(error.doc, error.pos)
    found = error.doc[at : at + 1]
    before = error.doc[max(0, at - MAX_SPACE_BEFORE) : at].rstrip()[-1:]
    if found and found in "}]" and before == ",":
        return f"remove the comma before {found!r}"
    if found and found in "'`\N{LEFT DOUBLE QUOTATION MARK}\N{RIGHT DOUBLE QUOTATION MARK}":
        return f'{error.msg}: texts and names stand in "straight double quotes"'
    if found and found in "/#":
        return f"{error.msg}: JSON has no comments"
    return error.msg


def _skip_whitespace(text: str, position: int) -> int:
    match = WHITESPACE.match(text, position)
    return match.end() if match else position


GZIP_MAGIC = b"\x1f\x8b"
PEEK_BYTES = 1 << 16
MAX_MEMBER_CHARACTERS = 2 << 20
"""A member has no more without its drawing. A MongoDB document has at most 16 MB."""
KINDS_BY_TYPE = {name: kind for kind in RECORD_TYPES for name in (kind.singular, kind.name)}

MAX_ARRAYS = 100
"""Arrays of any name count: to find the line of each takes time that grows with the text before."""
ARRAY_NAMES = ", ".join(RECORD_TYPES_BY_NAME)
SCHEMA_NAME = "$schema"
"""Name of the address of a JSON Schema, which editors read in a bundle."""

BUNDLE_FORMAT_HINT = "a bundle is one JSON object of arrays, or one member a line"


class BundleMember(NamedTuple):
    """One member of a bundle, valid on its own."""

    origin: str
    """File name and JSON path, such as `demo.json: $.units[3]`."""
    kind: RecordType[Any]
    document: Document
    text_length: int
    kept_fields: tuple[str, ...] = ()
    """It does not give these: a record in the catalog keeps them, a new one has defaults."""


def read_members(
    stream: BinaryIO, name: str, violations: Violations, *, are_partial: bool = False
) -> Iterator[BundleMember]:
    """Yield the members that are valid on their own; add all that is wrong to `violations`.

    Partial members need only their keys. What follows a syntax error in an array is not read.
    """
    try:
        text = _open_decompressed(stream)
        if _is_utf16(text):
            raise UnicodeError("the text is UTF-16; save the file as UTF-8")
        read = _read_line_form if _is_line_form(text) else _read_array_form
        yield from read(text, name, violations, are_partial)
        return
    except MalformedJsonError as error:
        violations.add(f"{name}: line {error.line}, column {error.column}", error.message)
    except UnicodeError as error:
        violations.add(name, str(error))
    except EOFError:
        violations.add(name, "the gzip data ends too early; is the file complete?")
    except (gzip.BadGzipFile, zlib.error) as error:
        violations.add(name, f"the gzip data is damaged: {error}")
    except OSError as error:
        violations.add(name, str(error.strerror or error))
    violations.rejected.add_unknown()


def _open_decompressed(stream: BinaryIO) -> BufferedReader:
    plain = BufferedReader(cast(Any, stream), PEEK_BYTES)
    if plain.peek(2)[:2] != GZIP_MAGIC:
        return plain
    return BufferedReader(cast(Any, gzip.GzipFile(fileobj=plain)), PEEK_BYTES)


def _is_utf16(text: BufferedReader) -> bool:
    start = text.peek(2)[:2]
    return start in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE} or b"\0" in start


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
            violations.rejected.add_unknown()
            continue
        if value is None:
            continue
        kind = _pop_kind(value, origin, violations)
        if kind is None:
            continue
        violations.mentions.add(kind.name)
        yield from build_member(
            f"{origin}: $", kind, value, decoder.errors, len(line), violations, are_partial
        )


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
        message = describe_syntax_error(error)
        raise MalformedJsonError(message, number, error.pos + 1) from error
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
        violations.rejected.add_unknown()
        return None
    type_name = value.pop("type", None)
    kind = KINDS_BY_TYPE.get(type_name) if isinstance(type_name, str) else None
    if kind is None:
        types = [kind.singular for kind in RECORD_TYPES]
        meant = (
            violations.suggestions.find(type_name, types) if isinstance(type_name, str) else None
        )
        hint = f"; did you mean {meant}?" if meant else ""
        violations.add(
            f"{origin}: $.type",
            f"must be one of {', '.join(types)}; not {quote_json(type_name)}{hint}",
        )
        violations.rejected.add_unknown(KINDS_BY_TYPE.get(meant or ""))
    return kind


def _read_array_form(
    text: BufferedReader, name: str, violations: Violations, are_partial: bool
) -> Iterator[BundleMember]:
    json_stream = JsonStream(cast(BinaryIO, text))
    if not json_stream.peek():
        raise json_stream.error_at(f"the file is empty; {BUNDLE_FORMAT_HINT}")
    json_stream.expect("{", f"{BUNDLE_FORMAT_HINT}: expected '{{'")
    seen: set[str] = set()
    has_more = not json_stream.accept("}")
    while has_more:
        yield from _read_entry(json_stream, seen, name, violations, are_partial)
        has_more = json_stream.expect_comma("}", "after the array")
    if json_stream.peek():
        raise json_stream.error_at(
            'text after the bundle; if there is one member a line, each needs a "type"'
        )
    if not seen:
        violations.add(name, f"there are no arrays; a bundle has {ARRAY_NAMES}")


def _read_entry(
    json_stream: JsonStream, seen: set[str], name: str, violations: Violations, are_partial: bool
) -> Iterator[BundleMember]:
    """Read a name and its array. A misspelt array is read like the one that was meant."""
    if json_stream.peek() != '"':
        json_stream.expect('"', "expected the name of an array in double quotes")
    place = json_stream.error_at("")  # before reading on: with the position of the name
    array, _ = json_stream.read_value()
    json_stream.expect(":", f'expected ":" after {quote_json(array)}')
    if array == SCHEMA_NAME:
        address, _ = json_stream.read_value()
        if not isinstance(address, str):
            violations.add(
                f"{name}: $.{SCHEMA_NAME}",
                f"must be the address of a JSON Schema, not {quote_json(address)}",
            )
        return
    kind = RECORD_TYPES_BY_NAME.get(array)
    problem, is_repeated = "", array in seen
    if kind is None:
        kind = RECORD_TYPES_BY_NAME.get(
            violations.suggestions.find(array, RECORD_TYPES_BY_NAME) or ""
        )
        hint = f'did you mean "{kind.name}"?' if kind else f"a bundle has {ARRAY_NAMES}"
        problem = f"there is no array {quote_json(array)}; {hint}"
    elif is_repeated:
        problem = f'the array "{array}" is given twice; join the two'
    elif json_stream.peek() != "[":
        problem = f"\"{array}\" must be an array: expected '[', not {json_stream.peek()!r}"
    seen.add(array)
    if len(seen) > MAX_ARRAYS:
        raise json_stream.error_at(f"over {MAX_ARRAYS} arrays; a bundle has {ARRAY_NAMES}")
    if problem:
        violations.add(f"{name}: line {place.line}, column {place.column}", problem)
    if kind is None or is_repeated or json_stream.peek() != "[":
        value, _ = json_stream.read_value()
        if kind is not None or isinstance(value, list | dict):
            violations.rejected.add_unknown(kind)
        return
    violations.mentions.add(kind.name)
    for path, member, length in _iter_array(json_stream, f"$.{array}"):
        json_errors = json_stream.decoder.errors
        yield from build_member(
            f"{name}: {path}", kind, member, json_errors, length, violations, are_partial
        )


def _iter_array(json_stream: JsonStream, path: str) -> Iterator[tuple[str, Any, int]]:
    """Yield the items of an array, each with its path and the length of its text."""
    json_stream.expect("[", "expected an array")
    has_more = not json_stream.accept("]")
    for index in count():
        if not has_more:
            return
        value, length = json_stream.read_value()
        yield f"{path}[{index}]", value, length
        has_more = json_stream.expect_comma("]", f"after {path}[{index}]")


def build_member(
    origin: str,
    kind: RecordType[Any],
    value: Any,
    json_errors: list[str],
    text_length: int,
    violations: Violations,
    is_partial: bool = False,
) -> Iterator[BundleMember]:
    """Yield the member if it is valid."""
    faults: Iterable[tuple[str, str]] = [("", message) for message in json_errors]
    if not json_errors:
        try:
            document = parse_member(kind, value, is_partial=is_partial)
            if text_length - len(document.get("source") or "") <= MAX_MEMBER_CHARACTERS:
                yield BundleMember(origin, kind, document, text_length)
                return
            faults = [("", f"the member is longer than {MAX_MEMBER_CHARACTERS:,} characters")]
        except MemberError as error:
            faults = error.find_faults(violations.suggestions.find)
    paths = []
    for path, message in faults:
        violations.add(origin + path, message)
        paths.append(path)
    violations.reject(kind, value, origin)
    if not json_errors:
        violations.rejected.keep(kind, value, origin, paths, text_length)
