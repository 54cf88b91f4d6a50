"""What messages call records and members."""

from typing import Any

from storage.records.kinds import KEY_SEPARATOR, RecordType


def describe_duplicate(kind: RecordType[Any], key: str, place: str) -> str:
    """Return the message for a member with the key of another."""
    return f"{describe_record(kind, key)} is already at {place}"


def describe_record(kind: RecordType[Any], key: str) -> str:
    """Return a record's kind and key, for messages."""
    if kind.key_fields == ("id",):
        return f'{kind.singular} "{key}"'
    # With a `single_valued_flag`, a key may lack its last field.
    pairs = zip(kind.key_fields, key.split(KEY_SEPARATOR), strict=False)
    return f"{kind.singular} of " + ", ".join(f'{field} "{value}"' for field, value in pairs)
