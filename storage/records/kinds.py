"""What the catalog knows of a kind of record: its collection, key, owners and indexes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from storage.records import decoding
from storage.records.fields import Record

R = TypeVar("R", bound=Record)
Document: TypeAlias = dict[str, Any]

KEY_SEPARATOR = "\0"
"""Sorts before every character that an id may hold, so that joined keys sort field by field."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A field that must name an existing record of another kind.

    `field` is a path (`floors.id` looks into an array). `same` pairs a field of the owned record
    with one of the owner that must be equal: a unit's floor is a floor of the unit's asset.
    `holds` names a field whose value must be among the owner's: an attribute is one of its group.
    `lends` are fields of the owner that the document repeats, so that reads need no join.
    """

    field: str
    kind: str
    must_match: tuple[tuple[str, str], ...] = ()
    value_in: tuple[str, str] | None = None
    copies: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kind(Generic[R]):
    """One kind of record; `name` is its array in a bundle and its MongoDB collection."""

    name: str
    singular: str
    record_type: type[R]
    key_fields: tuple[str, ...] = ("id",)
    owners: tuple[Owner, ...] = ()
    immutable_fields: tuple[str, ...] = ("asset_id",)
    """Fields that never change once written: members do not move between owners."""
    indexes: tuple[tuple[str, ...], ...] = ()
    scope_field: str = "asset_id"
    """The field that says whose the record is; empty: every key sees it."""
    single_valued_flag: str = ""
    """A lent flag: where it is true the last key field does not count, so that MongoDB's own
    unique `_id` lets a unit hold one attribute of such a group, whoever writes at the same time."""

    derived_fields: tuple[str, ...] = ()
    """Fields that a document has beside the record's and the lent ones."""
    derive: Callable[[Document], Document] | None = None
    """Computes derived fields from the record's, whenever a document is made."""
    keep_on_import: Callable[[Document, Document], Document] | None = None
    """From a new document and the live one: the fields that importing must not take away."""

    def key_of(self, document: Document) -> str:
        """The `_id` of a document: its id, or its key fields joined."""
        fields = self.key_fields[:-1] if document.get(self.single_valued_flag) else self.key_fields
        return KEY_SEPARATOR.join([document[field] for field in fields])

    def decode(self, documents: Sequence[Document]) -> list[R]:
        """Records from their documents."""
        return decoding.decode_records(self.record_type, documents)

    def to_document(self, record: R) -> Document:
        """A record's document, without the fields that owners lend; its key is that of no group
        in particular: `key_of` tells it once the lent fields are known."""
        document: Document = msgspec.to_builtins(record)
        key = self.key_of(document)
        document.pop("id", None)
        derived = self.derive(document) if self.derive else {}
        return {"_id": key, **document, **derived}

    @property
    def stored_fields(self) -> tuple[str, ...]:
        """Every field of a document but its key: the record's, the lent and the derived ones."""
        own = (
            field.name for field in msgspec.structs.fields(self.record_type) if field.name != "id"
        )
        return (
            *own,
            *(field for owner in self.owners for field in owner.copies),
            *self.derived_fields,
        )

    @property
    def projection(self) -> dict[str, int]:
        """Exactly the record's fields: what else a document holds is for the database."""
        return _build_projection(self.record_type)


@cache
def _build_projection(record: type[Record]) -> dict[str, int]:
    return {decoding.stored_name(field.name): 1 for field in msgspec.structs.fields(record)}
