"""Parsing one member of a bundle: its fields are the record's; timestamps are converted to UTC."""

import json
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec

from storage.bundles.reading.partial_records import PARTIAL_STRUCTS
from storage.bundles.reading.timestamped_arrays import TIMESTAMPED_ARRAYS
from storage.records.fields import (
    REFERENCE_KEY_FORM,
    TEXT_PATTERN,
    MapTag,
    ReferenceKey,
    TimestampText,
    WebAddress,
)
from storage.records.kinds import Document, RecordType
from storage.records.timestamps import TIMESTAMP_FIELDS

UNKNOWN_FIELD_MESSAGE = "Object contains unknown field"


def _pattern_of(constrained: Any) -> str:
    (meta,) = constrained.__metadata__
    return str(meta.pattern)


PATTERN_MESSAGES = {
    _pattern_of(
        TimestampText
    ): "Expected an ISO 8601 time with offset such as 2026-01-31T12:00:00+00:00",
    _pattern_of(ReferenceKey): f"Expected {REFERENCE_KEY_FORM}",
    _pattern_of(MapTag): "Expected text without commas, NUL and lone surrogates",
    _pattern_of(
        WebAddress
    ): "Expected an http or https URL such as https://maps.example.com/1.json",
    TEXT_PATTERN: "Expected text without NUL and lone surrogates",
}
"""Messages for values that do not match a pattern of `storage.records.fields`."""


class MemberError(Exception):
    """An invalid value at a path within a member."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path, self.message = path, message


def parse_member(kind: RecordType[Any], value: Any, *, is_partial: bool = False) -> Document:
    """Return the document of a member, decoded from JSON. Raises MemberError.

    A partial member needs only its key, and its document has only the fields that are given.
    """
    if is_partial:
        given = msgspec.to_builtins(_convert_record(kind, value, PARTIAL_STRUCTS[kind.name]))
        document = {"_id": kind.key_of(given), **given}
        document.pop("id", None)
    else:
        document = kind.to_document(_convert_record(kind, value, kind.struct))
    if document["_id"] in kind.reserved_ids:
        raise MemberError(
            ".id",
            f"must not be {document['_id']!r}: REST has an endpoint of this name among the"
            f" {kind.name}; choose another id",
        )
    _normalize_timestamps(document, "")
    for nested in TIMESTAMPED_ARRAYS[kind.name]:
        for index, item in enumerate(document.get(nested.field, ())):
            _normalize_timestamps(item, f".{nested.field}[{index}]")
    return document


def _convert_record(kind: RecordType[Any], value: Any, struct: type[Any]) -> Any:
    try:
        return msgspec.convert(value, struct)
    except UnicodeEncodeError as error:
        raise MemberError("", f"{json.dumps(error.object)} contains a lone surrogate") from error
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        path = path.rstrip("`")
        if message.startswith(UNKNOWN_FIELD_MESSAGE):
            fields = ", ".join(_field_names_at(kind.struct, path))
            message = f"{message}; known fields: {fields}"
        for pattern, pattern_message in PATTERN_MESSAGES.items():
            if repr(pattern) in message:
                message = pattern_message
        raise MemberError(path, message) from error


def _field_names_at(record: type[msgspec.Struct], path: str) -> tuple[str, ...]:
    """Return the field names of a record type, or of the one nested in it at `path`."""
    info: Any = msgspec.inspect.type_info(record)
    field = path.strip(".").partition("[")[0]
    for candidate in info.fields if field else ():
        if candidate.encode_name == field:
            info = candidate.type.item_type
    return tuple(candidate.encode_name for candidate in info.fields)


def _normalize_timestamps(document: Document, path: str) -> None:
    for field in TIMESTAMP_FIELDS:
        if document.get(field):
            try:
                document[field] = to_utc(document[field])
            except ValueError as error:
                raise MemberError(f"{path}.{field}", f"is not a valid time: {error}") from error


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
