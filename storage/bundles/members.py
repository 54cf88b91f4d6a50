"""One member of a bundle: its shape is the record's, its timestamps become UTC."""

import json
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec

from storage.bundles.timestamps import TIMESTAMP_FIELDS, TIMESTAMPED_ARRAYS
from storage.bundles.violations import Violations
from storage.records.fields import TEXT_PATTERN, MapTag, Record, ReferenceKey, Timestamp
from storage.records.kinds import Document, Kind

UNKNOWN_FIELD_MESSAGE = "Object contains unknown field"


def _pattern_of(constrained: Any) -> str:
    (meta,) = constrained.__metadata__
    return str(meta.pattern)


PATTERN_MESSAGES = {
    _pattern_of(
        Timestamp
    ): "Expected an ISO 8601 time with offset such as 2026-01-31T12:00:00+00:00",
    _pattern_of(
        ReferenceKey
    ): "Expected a-z first, then a-z, 0-9 and '-', from 2 to 255 characters",
    _pattern_of(MapTag): "Expected text without commas, NUL and lone surrogates",
    TEXT_PATTERN: "Expected text without NUL and lone surrogates",
}
"""What the patterns of `storage.records.fields` mean, for people."""


def parse_member(
    kind: Kind[Any], value: Any, json_errors: list[str], origin: str, violations: Violations
) -> Document | None:
    """The document of a member, or None with a complaint. Raises BundleError with the last one."""
    try:
        if json_errors:
            raise MemberError("", json_errors[0])
        record = _convert_record(kind, value)
        document = kind.to_document(record)
        _normalize_member(kind, document)
    except MemberError as fault:
        violations.add(origin + fault.path, fault.message)
        return None
    return document


class MemberError(Exception):
    """What is wrong with a member, at a path within it."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path, self.message = path, message


def _convert_record(kind: Kind[Any], value: Any) -> Record:
    try:
        record: Record = msgspec.convert(value, kind.record_type)
    except UnicodeEncodeError as error:
        raise MemberError("", f"{json.dumps(error.object)} holds a lone surrogate") from error
    except msgspec.ValidationError as error:
        message, _, path = str(error).partition(" - at `$")
        path = path.rstrip("`")
        if message.startswith(UNKNOWN_FIELD_MESSAGE):
            fields = ", ".join(_field_names_at(kind.record_type, path))
            message = f"{message}; there are {fields}"
        for pattern, meaning in PATTERN_MESSAGES.items():
            if repr(pattern) in message:
                message = meaning
        raise MemberError(path, message) from error
    return record


def _field_names_at(record: type[msgspec.Struct], path: str) -> tuple[str, ...]:
    """The fields of the record, or of the records nested in it, that the path leads to."""
    info: Any = msgspec.inspect.type_info(record)
    field = path.strip(".").partition("[")[0]
    for candidate in info.fields if field else ():
        if candidate.encode_name == field:
            info = candidate.type.item_type
    return tuple(candidate.encode_name for candidate in info.fields)


def _normalize_member(kind: Kind[Any], document: Document) -> None:
    _normalize_timestamps(document, "")
    for nested in TIMESTAMPED_ARRAYS[kind.name]:
        for index, item in enumerate(document[nested.field]):
            _normalize_timestamps(item, f".{nested.field}[{index}]")


def _normalize_timestamps(document: Document, path: str) -> None:
    for stamp in TIMESTAMP_FIELDS:
        if document.get(stamp):
            try:
                document[stamp] = to_utc(document[stamp])
            except ValueError as error:
                raise MemberError(f"{path}.{stamp}", f"there is no such time: {error}") from error


@lru_cache(maxsize=4096)
def to_utc(timestamp: str) -> str:
    """A timestamp as it is stored. Raises ValueError for one that no calendar has."""
    try:
        return datetime.fromisoformat(timestamp).astimezone(UTC).isoformat()
    except OverflowError as error:
        raise ValueError("it lies outside the years 1 to 9999") from error
