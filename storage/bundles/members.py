"""One member of a bundle: parsing it, and writing a record as one.

The fields of a member are the record's; timestamps are converted to UTC.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache, lru_cache
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, UnsetType

from storage.bundles.drawings import to_data_url
from storage.bundles.names import Suggest, suggest
from storage.bundles.violations import describe_record, quote_json
from storage.catalog import MAPS, RECORD_TYPES
from storage.errors import StorageError
from storage.mongo import driver, files
from storage.records import kinds


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
