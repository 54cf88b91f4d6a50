"""One member of a bundle: its shape is the record's, its timestamps become UTC."""

import json
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec

from storage.complaints import Complaints
from storage.fields import TEXT, Record, ReferenceKey, Tag, Timestamp
from storage.kinds import Document, Kind
from storage.stamps import NESTED, STAMPS

UNKNOWN_FIELD = "Object contains unknown field"


def _pattern(constrained: Any) -> str:
    (meta,) = constrained.__metadata__
    return str(meta.pattern)


MEANINGS = {
    _pattern(Timestamp): "Expected an ISO 8601 time with offset such as 2026-01-31T12:00:00+00:00",
    _pattern(ReferenceKey): "Expected a-z first, then a-z, 0-9 and '-', from 2 to 255 characters",
    _pattern(Tag): "Expected text without commas, NUL and lone surrogates",
    TEXT: "Expected text without NUL and lone surrogates",
}
"""What the patterns of `storage.fields` mean, for people."""


def read_member(
    kind: Kind[Any], value: Any, faults: list[str], place: str, complaints: Complaints
) -> Document | None:
    """The document of a member, or None with a complaint. Raises BundleError with the last one."""
    try:
        if faults:
            raise Fault("", faults[0])
        record = _record(kind, value)
        document = kind.document(record)
        _normalise(kind, document)
    except Fault as fault:
        complaints.add(place + fault.path, fault.message)
        return None
    return document


class Fault(Exception):
    """What is wrong with a member, at a path within it."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path, self.message = path, message


def _record(kind: Kind[Any], value: Any) -> Record:
    try:
        record: Record = msgspec.convert(value, kind.record)
    except UnicodeEncodeError as error:
        raise Fault("", f"{json.dumps(error.object)} holds a lone surrogate") from error
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        path = path.rstrip("`")
        if message.startswith(UNKNOWN_FIELD):
            fields = ", ".join(_fields_at(kind.record, path))
            message = f"{message}; there are {fields}"
        for pattern, meaning in MEANINGS.items():
            if repr(pattern) in message:
                message = meaning
        raise Fault(path, message) from error
    return record


def _fields_at(record: type[msgspec.Struct], path: str) -> tuple[str, ...]:
    """The fields of the record, or of the records nested in it, that the path leads to."""
    info: Any = msgspec.inspect.type_info(record)
    field = path.strip(".").partition("[")[0]
    for candidate in info.fields if field else ():
        if candidate.encode_name == field:
            info = candidate.type.item_type
    return tuple(candidate.encode_name for candidate in info.fields)


def _normalise(kind: Kind[Any], document: Document) -> None:
    _normalise_stamps(document, "")
    for nested in NESTED[kind.name]:
        for index, item in enumerate(document[nested.field]):
            _normalise_stamps(item, f".{nested.field}[{index}]")


def _normalise_stamps(document: Document, path: str) -> None:
    for stamp in STAMPS:
        if document.get(stamp):
            try:
                document[stamp] = utc(document[stamp])
            except ValueError as error:
                raise Fault(f"{path}.{stamp}", f"there is no such time: {error}") from error


@lru_cache(maxsize=4096)
def utc(timestamp: str) -> str:
    """A timestamp as it is stored. Raises ValueError for one that no calendar has."""
    try:
        return datetime.fromisoformat(timestamp).astimezone(UTC).isoformat()
    except OverflowError as error:
        raise ValueError("it lies outside the years 1 to 9999") from error
