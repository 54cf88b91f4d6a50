"""Kinds of records in the catalog: collection, key, owners, indexes."""

from collections.abc import Callable, Mapping, Sequence, Set
from copy import copy
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import msgspec

from storage.records import decoding
from storage.records.fields import Record

R = TypeVar("R", bound=Record)
Document: TypeAlias = dict[str, Any]

KEY_SEPARATOR = "\0"
"""Sorts before every character that an id may hold, so that joined keys sort field by field."""


RemovalEffect: TypeAlias = Literal["remove", "clear", "remove_last"]
"""What becomes of a record when an owner of it is removed. `remove`: it is removed too. `clear`:
the field becomes null, or the array loses the owner. `remove_last`: the array loses the owner, and
a record that has lost its last one is removed."""


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """A reference: a field that must name an existing record of another kind."""

    field: str
    """Path of the field; `floors.id` is the `id` of each item of the array `floors`."""
    kind: str
    equal_fields: tuple[tuple[str, str], ...] = ()
    """Pairs of a field here and one of the owner that must be equal, such as both `asset_id`."""
    value_in: tuple[str, str] | None = None
    """A field here, and a path in the owner to the array that must contain its value: an
    assigned attribute is one of its group's."""
    copied_fields: tuple[str, ...] = ()
    """Fields of the owner that are copied into the document, so that reads need no join."""
    on_removal: RemovalEffect = "remove"


@dataclass(frozen=True, slots=True)
class MadeFor:
    """A loose reference: records that were made for one of another kind, and are removed with it,
    although nothing checks that it exists."""

    kind: str
    path: str
    """Of the field among whose values is the owner's key."""
    condition: Callable[[Sequence[str]], Document]
    """Given the keys of owners, returns the condition on the records made for them."""


@dataclass(frozen=True, slots=True)
class RecordType(Generic[R]):
    r"""One kind of record; `name` is its array in a bundle and its MongoDB collection.

    >>> visits = RecordType("visits", "visit", Record, key_fields=("unit_id", "day"))
    >>> visits.key_of({"unit_id": "u1", "day": "2026-01-31"})
    'u1\x002026-01-31'
    """

    name: str
    singular: str
    struct: type[R]
    key_fields: tuple[str, ...] = ("id",)
    foreign_keys: tuple[ForeignKey, ...] = ()
    made_for: tuple[MadeFor, ...] = ()
    immutable_fields: tuple[str, ...] = ("asset_id",)
    """Fields that cannot change once written, so that records do not move between owners."""
    indexes: tuple[tuple[str, ...], ...] = ()
    scope_field: str = "asset_id"
    """Field with the asset that a record belongs to; empty if every API key may read the kind."""
    single_valued_flag: str = ""
    """Name of a boolean copied from the owner. When true, `_id` omits the last key field, so the
    unique index allows one attribute per unit and group even under concurrent writes."""

    derived_fields: tuple[str, ...] = ()
    """Fields of the document that are neither in the record nor copied from an owner."""
    derive: Callable[[Document], Document] | None = None
    """Computes derived fields from those of the record."""
    keep_on_import: Callable[[Document, Document], Document] | None = None
    """Given a new document and the live one, returns the fields that an import must preserve."""
    unique_items: tuple[str, str] | None = None
    """An array field, and the field by which its items must differ."""
    reserved_ids: frozenset[str] = frozenset()
    """Ids that no new record may have: in the path of REST they name an endpoint."""

    def key_of(self, document: Document) -> str:
        """Return the `_id` of a document: its id, or its key fields joined.

        With a `single_valued_flag`, the fields copied from the owner must be filled in.
        """
        fields = self.key_fields[:-1] if document.get(self.single_valued_flag) else self.key_fields
        return KEY_SEPARATOR.join([document[field] for field in fields])

    def decode(self, documents: Sequence[Document]) -> list[R]:
        """Return the records in documents."""
        return decoding.decode_records(self.struct, documents)

    def decode_each(self, documents: Sequence[Document]) -> list[R]:
        """Return the records in documents, or exceptions in the place of damaged ones."""
        return decoding.decode_each(self.struct, documents)

    def to_document(self, record: R, owner_fields: Document | None = None) -> Document:
        """Return a record's document with the fields copied from its owners.

        Without `owner_fields` the `_id` of a kind with a `single_valued_flag` is provisional until
        they are filled in; then call `key_of`.
        """
        document: Document = msgspec.to_builtins(record) | (owner_fields or {})
        key = self.key_of(document)
        document.pop("id", None)
        derived = self.derive(document) if self.derive else {}
        return {"_id": key, **document, **derived}

    @property
    def stored_fields(self) -> tuple[str, ...]:
        """All fields of a document except `_id`."""
        return (
            *(name for name in self.projection if name != "_id"),
            *(field for owner in self.foreign_keys for field in owner.copied_fields),
            *self.derived_fields,
        )

    @property
    def projection(self) -> Mapping[str, int]:
        """The MongoDB projection of the record's own fields."""
        return _build_projection(self.struct)

    @property
    def defaults(self) -> Mapping[str, Any]:
        """The defaults of the fields that have one, by stored name."""
        return _build_defaults(self.struct)

    def build_blank(self, fields: Set[str]) -> Document:
        """Return a document with the fields that were not read, for decoding those that were."""
        unread = self.projection.keys() - fields
        return {name: self.defaults.get(name, ()) for name in unread}

    def complete_documents(self, documents: list[Document], fields: Set[str]) -> list[Document]:
        """Return documents with the defaults of those of these fields that they lack.

        A damaged one, which lacks another field, may still lack these.
        """
        added = fields & self.defaults.keys()
        if not (added and documents):
            return documents
        # In one read, documents of the same length have the same fields.
        if added <= documents[0].keys() and len({*map(len, documents)}) == 1:
            return documents
        return [self.fill_defaults(document) for document in documents]

    def fill_defaults(self, document: Document) -> Document:
        """Return a document with the defaults of fields that were added after it was written."""
        missing = self.defaults.keys() - document.keys()
        return document | {name: copy(self.defaults[name]) for name in missing}


@cache
def _build_projection(record_type: type[Record]) -> Mapping[str, int]:
    fields = msgspec.structs.fields(record_type)
    return {decoding.stored_name(field.name): 1 for field in fields}


@cache
def _build_defaults(record_type: type[Record]) -> Mapping[str, Any]:
    info = msgspec.inspect.type_info(record_type)
    assert isinstance(info, msgspec.inspect.StructType)
    return {
        decoding.stored_name(field.encode_name): decoding.default_of(field)
        for field in info.fields
        if not field.required
    }
