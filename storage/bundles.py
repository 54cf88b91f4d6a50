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

from storage.catalog import BY_NAME, KINDS
from storage.complaints import Complaints
from storage.errors import BundleError
from storage.kinds import Document, Kind
from storage.members import read_member
from storage.text import LONGEST, Decoder, Malformed, Window, not_utf8

GZIP_MAGIC = b"\x1f\x8b"
PEEK_BYTES = 1 << 16
MOST_CHARACTERS = 2 << 20
"""The longest member, its drawing aside: in MongoDB a document has at most 16 MB."""
BY_TYPE = {name: kind for kind in KINDS for name in (kind.singular, kind.name)}

A_BUNDLE = "a bundle is one JSON object of arrays, or one member a line"


class Member(NamedTuple):
    """One valid member of a bundle; `place` is a JSON path below its file's name, `size` the length
    of its text."""

    place: str
    kind: Kind[Any]
    document: Document
    size: int


def members(stream: BinaryIO, name: str, complaints: Complaints) -> Iterator[Member]:
    """The members of a bundle that are valid by themselves; what is wrong becomes a complaint.

    Raises BundleError when the complaints are many, or reading cannot go on.
    """
    try:
        text = cast(BinaryIO, _unzipped(stream))
        read = _lines if _is_lines(cast(BufferedReader, text)) else _arrays
        yield from read(text, name, complaints)
    except Malformed as fault:
        complaints.add(f"{name}: line {fault.line}, column {fault.column}", fault.message)
        complaints.settle()
    except EOFError:
        complaints.add(name, "the gzip data ends too early; is the file complete?")
        complaints.settle()
    except (gzip.BadGzipFile, zlib.error) as error:
        complaints.add(name, f"the gzip data is damaged: {error}")
        complaints.settle()
    except OSError as error:
        raise BundleError([f"{name}: {error.strerror}"]) from error


def _unzipped(stream: BinaryIO) -> BufferedReader:
    plain = BufferedReader(cast(Any, stream), PEEK_BYTES)
    if plain.peek(2)[:2] != GZIP_MAGIC:
        return plain
    return BufferedReader(cast(Any, gzip.GzipFile(fileobj=plain)), PEEK_BYTES)


def _is_lines(text: BufferedReader) -> bool:
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


def _lines(text: BinaryIO, name: str, complaints: Complaints) -> Iterator[Member]:
    decoder = Decoder()
    number = 0
    while line := text.readline(LONGEST):
        number += 1
        place = f"{name}: line {number}"
        if not line.endswith(b"\n") and len(line) == LONGEST:
            raise Malformed(f"a line longer than {LONGEST:,} bytes", number, 1)
        try:
            value = _line(decoder, line, number)
        except Malformed as fault:
            complaints.add(f"{place}, column {fault.column}", fault.message)
            continue
        if value is None:
            continue
        kind = _kind_of(value, place, complaints)
        if kind is None:
            continue
        place += ": $"
        yield from _valid(kind, value, decoder.faults, place, len(line), complaints)


def _line(decoder: Decoder, line: bytes, number: int) -> Any:
    """The value of a line, None for an empty one."""
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        if not text:
            return None
        value, end = decoder.decode(text, 0)
    except UnicodeDecodeError as error:
        raise Malformed(not_utf8(error), number, error.start + 1) from error
    except json.JSONDecodeError as error:
        raise Malformed(error.msg, number, error.pos + 1) from error
    except RecursionError as error:
        raise Malformed("values are nested too deeply", number, 1) from error
    if text[end:].strip():
        raise Malformed("more text behind the member; give each its own line", number, end + 1)
    return value if value is not None else []


def _kind_of(value: Any, place: str, complaints: Complaints) -> Kind[Any] | None:
    if not isinstance(value, dict):
        complaints.add(place, 'a member is an object, such as {"type": "unit", "id": ...}')
        return None
    named = value.pop("type", None)
    kind = BY_TYPE.get(named) if isinstance(named, str) else None
    if kind is None:
        types = ", ".join(kind.singular for kind in KINDS)
        complaints.add(f"{place}: $.type", f"must be one of {types}; not {json.dumps(named)}")
    return kind


def _arrays(text: BinaryIO, name: str, complaints: Complaints) -> Iterator[Member]:
    window = Window(text)
    if not window.peek():
        raise window.fault(f"the file is empty; {A_BUNDLE}")
    window.take("{", f"{A_BUNDLE}: expected '{{'")
    seen: set[str] = set()
    closed = window.follows("}")
    while not closed:
        kind = _array_name(window, seen)
        yield from _array(window, kind, name, complaints)
        closed = window.take(",}", "expected ',' or '}' behind the array") == "}"
    if window.peek():
        raise window.fault('text behind the bundle; one member a line needs a "type" in each')


def _array_name(window: Window, seen: set[str]) -> Kind[Any]:
    if window.peek() != '"':
        window.take('"', 'expected the name of an array in ""')
    fault = window.fault("")
    array = window.value()
    if array not in BY_NAME:
        fault.message = f"there is no array {json.dumps(array)}; a bundle has {', '.join(BY_NAME)}"
        raise fault
    if array in seen:
        fault.message = f'the array "{array}" is given twice; join the two'
        raise fault
    seen.add(array)
    window.take(":", f"expected ':' behind \"{array}\"")
    return BY_NAME[array]


def _array(window: Window, kind: Kind[Any], name: str, complaints: Complaints) -> Iterator[Member]:
    window.take("[", f"\"{kind.name}\" must be an array: expected '['")
    closed = window.follows("]")
    index = 0
    while not closed:
        path = f"$.{kind.name}[{index}]"
        place = f"{name}: {path}"
        value = window.value()
        faults = window.decoder.faults
        yield from _valid(kind, value, faults, place, window.size, complaints)
        index += 1
        closed = window.take(",]", f"expected ',' or ']' behind {path}") == "]"


def _valid(
    kind: Kind[Any], value: Any, faults: list[str], place: str, size: int, complaints: Complaints
) -> Iterator[Member]:
    document = read_member(kind, value, faults, place, complaints)
    if document is None:
        return
    if size - len(document.get("source") or "") > MOST_CHARACTERS:
        complaints.add(place, f"the member is longer than {MOST_CHARACTERS:,} characters")
        return
    yield Member(place, kind, document, size)
