"""Merging the fields that a member gives into the record that it changes.

A member of a JSON bundle gives all fields, except in a merge. A row of a spreadsheet has no word on
fields without a column, and values of others that only a new record gets.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from storage.catalog import MAPS, PARSED_FIELDS
from storage.records.kinds import TIMESTAMP_FIELDS, Document, RecordType, stored_name

DERIVED_FROM = {MAPS.name: {"source": PARSED_FIELDS}}
"""By kind and field, the derived fields that are kept with it."""


def drop_kept_fields(kind: RecordType[Any], given: Document, names: Iterable[str]) -> None:
    """Drop from a member what only a new record gets of it, in place: its record exists."""
    for name in names:
        for field in (name, *DERIVED_FROM.get(kind.name, {}).get(name, ())):
            given.pop(field, None)


def find_lacking_fields(kind: RecordType[Any], given: Document) -> list[str]:
    """Return the required fields that a member lacks, so that it cannot be a new record."""
    required = (field.name for field in msgspec.structs.fields(kind.struct) if field.required)
    return [name for name in required if stored_name(name) not in given]


def merge_member(kind: RecordType[Any], given: Document, live: Document | None) -> Document:
    """Return the whole document of a member: fields that are absent keep the stored value.

    Without a stored record they have their defaults; then none may be lacking. Timestamps are
    those that are given. Arrays are replaced as a whole.
    """
    names = [field.name for field in msgspec.structs.fields(kind.struct)]
    values = {name: given[stored_name(name)] for name in names if stored_name(name) in given}
    if live is None:
        record = kind.struct(**values)
    else:
        no_times = dict.fromkeys([name for name in TIMESTAMP_FIELDS if name in names], "")
        record = msgspec.structs.replace(kind.decode([live])[0], **{**no_times, **values})
    derived = {name: given[name] for name in kind.derived_fields if name in given}
    # What is derived from the record's own fields comes last: they may be those of `live`.
    return {**(live or {}), **derived, **kind.to_document(record), "_id": given["_id"]}
