"""When a member was made and last changed: kept, given by the bundle, or now.

Members are compared without their timestamps, those of their nested items included: an unchanged
one keeps all of its own.
"""

from typing import Any, NamedTuple

import msgspec

from storage.catalog import KINDS
from storage.kinds import Document, Kind

CREATED, UPDATED = STAMPS = ("created_at", "updated_at")


class Nested(NamedTuple):
    """An array of a record whose items have timestamps; `identity` tells the items apart."""

    field: str
    identity: str
    content: tuple[str, ...]


IDENTITIES = {"values": "value", "tags": "key"}


def _nested(kind: Kind[Any]) -> tuple[Nested, ...]:
    info: Any = msgspec.inspect.type_info(kind.record)
    found = []
    for field in info.fields:
        item = getattr(field.type, "item_type", None)
        names = [part.encode_name for part in getattr(item, "fields", ())]
        if CREATED in names:
            content = tuple(name for name in names if name not in STAMPS)
            found.append(Nested(field.encode_name, IDENTITIES[field.encode_name], content))
    return tuple(found)


def _plain(kind: Kind[Any]) -> tuple[str, ...]:
    apart = {*STAMPS, *(nested.field for nested in NESTED[kind.name])}
    return tuple(field for field in kind.stored if field not in apart)


NESTED = {kind.name: _nested(kind) for kind in KINDS}
"""The arrays of each kind's records whose items have timestamps of their own."""

PLAIN = {kind.name: _plain(kind) for kind in KINDS}
"""The other fields of each kind that are no timestamps."""


def is_same(kind: Kind[Any], document: Document, live: Document) -> bool:
    """Whether two documents of a kind differ in nothing but timestamps."""
    return all(document.get(field) == live.get(field) for field in PLAIN[kind.name]) and all(
        [_content(nested, item) for item in document[nested.field]]
        == [_content(nested, item) for item in live.get(nested.field, ())]
        for nested in NESTED[kind.name]
    )


def stamp(kind: Kind[Any], document: Document, live: Document | None, now: str) -> None:
    """Fills in the timestamps of a document that is new (`live` is None) or changed."""
    if CREATED in document:
        _stamp(document, live, now)
    for nested in NESTED[kind.name]:
        before = {item[nested.identity]: item for item in (live or {}).get(nested.field, ())}
        for item in document[nested.field]:
            old = before.get(item[nested.identity])
            if old is not None and _content(nested, old) == _content(nested, item):
                item.update({name: old[name] for name in STAMPS})
            else:
                _stamp(item, old, now)


def _stamp(document: Document, live: Document | None, now: str) -> None:
    given_created, given_updated = document[CREATED], document[UPDATED]
    if live is None:
        updated = given_updated or now
        created = given_created or updated
    else:
        # Stored timestamps compare as text: all are in UTC and of one form.
        updated = given_updated if given_updated > live[UPDATED] else now
        created = given_created or live[CREATED]
    document[CREATED], document[UPDATED] = created, updated


def _content(nested: Nested, item: Document) -> tuple[Any, ...]:
    return tuple(item[name] for name in nested.content)
