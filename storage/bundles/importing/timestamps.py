"""Timestamps of imported members: from the bundle, from the live record, or the time of import.

Members are compared without timestamps, those of nested items included. An unchanged member or
item keeps the live ones.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from storage.bundles.reading.timestamped_arrays import TIMESTAMPED_ARRAYS, TimestampedArray
from storage.catalog import RECORD_TYPES
from storage.records.kinds import CREATED_AT, TIMESTAMP_FIELDS, UPDATED_AT, Document, RecordType


def _find_plain_fields(kind: RecordType[Any]) -> tuple[str, ...]:
    excluded = {*TIMESTAMP_FIELDS, *(nested.field for nested in TIMESTAMPED_ARRAYS[kind.name])}
    return tuple(field for field in kind.stored_fields if field not in excluded)


PLAIN_FIELDS = {kind.name: _find_plain_fields(kind) for kind in RECORD_TYPES}
"""By kind, the stored fields that are neither timestamps nor arrays of items with timestamps."""


def has_same_content(kind: RecordType[Any], document: Document, live: Document) -> bool:
    """Return whether two documents are equal except for timestamps."""
    return all(document.get(field) == live.get(field) for field in PLAIN_FIELDS[kind.name]) and all(
        [_content_of(nested, item) for item in document[nested.field]]
        == [_content_of(nested, item) for item in live.get(nested.field, ())]
        for nested in TIMESTAMPED_ARRAYS[kind.name]
    )


def list_changed_fields(
    kind: RecordType[Any], document: Document, live: Document | None
) -> dict[str, tuple[Any, Any]]:
    """Return the fields in which two documents differ except for timestamps, each with the value
    before and after; all fields of a document that is new (`live` is None)."""
    contents: dict[str, Callable[[Any], Any]] = {
        **{field: _same for field in PLAIN_FIELDS[kind.name]},
        **{nested.field: partial(_items_of, nested) for nested in TIMESTAMPED_ARRAYS[kind.name]},
    }
    changed = {}
    for field, get_content in contents.items():
        after = get_content(document.get(field))
        before = None if live is None else get_content(live.get(field))
        if live is None or before != after:
            changed[field] = (before, after)
    return changed


def set_timestamps(
    kind: RecordType[Any], document: Document, live: Document | None, now: str
) -> None:
    """Set the timestamps of a document that is new (`live` is None) or changed, in place."""
    if CREATED_AT in document:
        _set_own_timestamps(document, live, now)
    for nested in TIMESTAMPED_ARRAYS[kind.name]:
        live_items = (live or {}).get(nested.field, ())
        # By content first: a location may have several tags of one key.
        unchanged = {_content_of(nested, item): item for item in live_items}
        before = {item[nested.identity_field]: item for item in live_items}
        for item in document[nested.field]:
            if old := unchanged.get(_content_of(nested, item)):
                item.update({name: old[name] for name in TIMESTAMP_FIELDS})
            else:
                _set_own_timestamps(item, before.get(item[nested.identity_field]), now)


def _set_own_timestamps(document: Document, live: Document | None, now: str) -> None:
    given_created, given_updated = document[CREATED_AT], document[UPDATED_AT]
    if live is None:
        updated = given_updated or now
        created = given_created or updated
    else:
        # Stored timestamps compare as text: all are UTC in the same format.
        updated = given_updated if given_updated > live[UPDATED_AT] else now
        created = given_created or live[CREATED_AT]
    document[CREATED_AT], document[UPDATED_AT] = created, updated


def _same(value: Any) -> Any:
    return value


def _items_of(nested: TimestampedArray, items: Sequence[Document] | None) -> list[Document]:
    return [{name: item[name] for name in nested.content_fields} for item in items or ()]


def _content_of(nested: TimestampedArray, item: Document) -> tuple[Any, ...]:
    return tuple(item[name] for name in nested.content_fields)
