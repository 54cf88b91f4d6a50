"""Keys as people write and read them: an id, or the identifying fields with slashes between them.

Fields that hold a slash themselves are written as a JSON array.
"""

import json
from collections.abc import Sequence
from typing import Any

from storage.records.fields import is_storable
from storage.records.kinds import KEY_SEPARATOR, Document, RecordType


def get_key_values(kind: RecordType[Any], document: Document) -> list[str]:
    """Return the identifying fields of a document."""
    return [document["_id" if field == "id" else field] for field in kind.key_fields]


def format_key(values: Sequence[str]) -> str:
    """Return identifying fields as one text.

    >>> format_key(["101"]), format_key(["101", "rentwell"]), format_key(["1/2", "rentwell"])
    ('101', '101/rentwell', '["1/2","rentwell"]')
    """
    if len(values) == 1:
        return values[0]
    text = "/".join(values)
    if text.count("/") == len(values) - 1 and not text.startswith("["):
        return text
    return json.dumps([*values], ensure_ascii=False, separators=(",", ":"))


def parse_key(kind: RecordType[Any], text: str) -> list[str]:
    """Return the identifying fields that `format_key` wrote. Raises ValueError."""
    values = parse_values(kind.key_fields, text)
    if values is None:
        form = "/".join(kind.key_fields)
        fields = json.dumps([*kind.key_fields])
        raise ValueError(
            f"{text!r} does not name one of the {kind.name}: write {form}, or {fields} if one of"
            " them has a slash"
        )
    if not all(map(is_storable, values)):
        raise ValueError(f"{text!r} has NUL or a lone surrogate, which no id has")
    return values


def parse_values(fields: Sequence[str], text: str) -> list[str] | None:
    """Return the values that `format_key` wrote; None for a text of other fields.

    >>> parse_values(["unit_id", "key"], '["1/2","rentwell"]'), parse_values(["id"], "")
    (['1/2', 'rentwell'], None)
    """
    is_single = len(fields) == 1
    values: Any = [text] if is_single else text.split("/")
    if text.startswith("[") and not is_single:
        try:
            values = json.loads(text)
        except (ValueError, RecursionError):
            return None
    is_list = isinstance(values, list) and len(values) == len(fields)
    return values if is_list and all(isinstance(each, str) and each for each in values) else None


def get_stored_keys(kind: RecordType[Any], values: Sequence[str]) -> list[str]:
    """Return the `_id`s under which a record with these identifying fields may be stored."""
    key = KEY_SEPARATOR.join(values)
    return [key, KEY_SEPARATOR.join(values[:-1])] if kind.single_valued_flag else [key]
