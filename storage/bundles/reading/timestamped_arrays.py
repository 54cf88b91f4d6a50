"""Which array fields of a kind have timestamps in their items, and what identifies an item."""

from typing import Any, NamedTuple

import msgspec

from storage.catalog import RECORD_TYPES
from storage.records.kinds import CREATED_AT, TIMESTAMP_FIELDS, RecordType


class TimestampedArray(NamedTuple):
    """An array field with timestamps in its items; `identity_field` identifies an item."""

    field: str
    identity_field: str
    content_fields: tuple[str, ...]


IDENTITY_FIELDS = {"values": "value", "tags": "key"}


def _find_timestamped_arrays(kind: RecordType[Any]) -> tuple[TimestampedArray, ...]:
    info: Any = msgspec.inspect.type_info(kind.struct)
    found = []
    for field in info.fields:
        item = getattr(field.type, "item_type", None)
        names = [part.encode_name for part in getattr(item, "fields", ())]
        if CREATED_AT in names:
            content = tuple(name for name in names if name not in TIMESTAMP_FIELDS)
            found.append(
                TimestampedArray(field.encode_name, IDENTITY_FIELDS[field.encode_name], content)
            )
    return tuple(found)


TIMESTAMPED_ARRAYS = {kind.name: _find_timestamped_arrays(kind) for kind in RECORD_TYPES}
"""By kind, the array fields with timestamps in their items."""
