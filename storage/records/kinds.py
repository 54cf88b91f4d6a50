"""Kinds of records in the catalog: collection, key, owners, indexes."""

import json
import re
from collections.abc import Callable, Mapping, Sequence, Set
from copy import copy
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar, cast

import msgspec
from msgspec import Meta, Struct
from msgspec.inspect import Field, ListType, StructType

# Base classes of records, and the constrained types of their fields.


TEXT_PATTERN = r"\A[^\x00\ud800-\udfff]*\Z"
"""No NUL, which joins ids in keys, and no lone surrogate, which UTF-8 cannot encode."""
_TEXT_REGEX = re.compile(TEXT_PATTERN)
TEXT_JSON_PATTERN = r"^[^\x00]+$"
"""`TEXT_PATTERN` in JSON Schema, without surrogates: UTF-8 cannot encode them."""

REFERENCE_KEY_PATTERN = "[a-z][a-z0-9-]{1,254}"
REFERENCE_KEY_FORM = "a lowercase letter, then 1 to 254 lowercase letters, digits or hyphens"

MAX_ID_CHARACTERS = 255
MAX_TEXT_CHARACTERS = 2048
MAX_INT32 = 2**31 - 1

Id: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=MAX_ID_CHARACTERS, pattern=TEXT_PATTERN)
]
"""An opaque, case-sensitive id: 1 to 255 characters."""

Text: TypeAlias = Annotated[str, Meta(max_length=MAX_TEXT_CHARACTERS, pattern=TEXT_PATTERN)]
"""A name, a label, an address: up to 2,048 characters."""

WEB_ADDRESS_PATTERN = r"\A(?:[Hh][Tt][Tt][Pp][Ss]?://[^\x00-\x20\x7f\"<>\\^`{|}\ud800-\udfff]+)?\Z"

WebAddress: TypeAlias = Annotated[
    str, Meta(max_length=MAX_TEXT_CHARACTERS, pattern=WEB_ADDRESS_PATTERN)
]
"""An http or https URL. Clients make links of it: `javascript:` would run in their pages."""

MapTag: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=255, pattern=r"\A[^\x00\ud800-\udfff,]*\Z")
]
"""A tag of a map; a comma separates tags in a filter."""

ReferenceKey: TypeAlias = Annotated[
    str, Meta(min_length=2, max_length=255, pattern=rf"\A{REFERENCE_KEY_PATTERN}\Z")
]
"""The name of a third-party system."""

Int32: TypeAlias = Annotated[int, Meta(ge=-MAX_INT32 - 1, le=MAX_INT32)]

TimestampText: TypeAlias = Annotated[
    str, Meta(pattern=r"\A(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d))?\Z")
]
"""ISO 8601 with an offset. Stored in the form in which it is served: UTC,
`2026-01-31T12:00:00+00:00` (docs/decisions/storage/records.md)."""

NO_TIMESTAMP = ""
"""Placeholder for a timestamp missing in a bundle; the import replaces it."""


def is_storable(text: str) -> bool:
    """Return whether a text has no NUL and no lone surrogate."""
    # isprintable() is a fast test that most texts pass.
    return text.isprintable() or _TEXT_REGEX.match(text) is not None


class Record(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """Base class of records: one MongoDB document, one member of a bundle.

    `gc=False`, because records contain no reference cycles and pages have thousands of them.
    """


class TimestampedRecord(Record, frozen=True, kw_only=True):
    """A record with the times of its creation and last change."""

    created_at: TimestampText = NO_TIMESTAMP
    updated_at: TimestampText = NO_TIMESTAMP


# Decoding MongoDB documents into records, by a function generated for each record type.
#
# Documents are not checked: MongoDB's validators (`storage.setup.preparation`) have checked them
# when they were written. msgspec.convert, which checks again, takes four times as long.


R = TypeVar("R", bound=Record)
Documents: TypeAlias = Sequence[dict[str, Any]]


def stored_name(field: str) -> str:
    """Return the name of a record's field in its document.

    >>> stored_name("id"), stored_name("name")
    ('_id', 'name')
    """
    return "_id" if field == "id" else field


@cache
def _compile_decoder(record_type: type[R], lenient: bool = False) -> Callable[[Documents], list[R]]:
    """Generate `lambda documents: [Unit(id=document['_id'], ...) for document in documents]`.

    Generated, because a loop over the fields or `Unit(**document)` costs more than everything else
    that is done with a document. The source is made of the names in our own record types alone.
    """
    info = msgspec.inspect.type_info(record_type)
    assert isinstance(info, StructType)
    generator = _Generator(lenient)
    record = generator.record_expression(info, "document", stored_name)
    decoder: Callable[[Documents], list[R]] = eval(  # noqa: S307
        f"lambda documents: [{record} for document in documents]", generator.names
    )
    return decoder


class _Generator:
    """Builds Python expressions, and collects in `names` what they refer to."""

    def __init__(self, lenient: bool) -> None:
        self.names: dict[str, Any] = {}
        self._lenient = lenient

    def record_expression(
        self, info: StructType, source: str, to_stored: Callable[[str], str] = str
    ) -> str:
        """Return a call that constructs a record from the document that `source` names."""
        name = info.cls.__name__
        self.names[name] = info.cls
        arguments = [
            f"{field.name}={self._field_expression(name, field, source, to_stored(field.name))}"
            for field in info.fields
        ]
        return f"{name}({', '.join(arguments)})"

    def _field_expression(self, record: str, field: Field, source: str, stored: str) -> str:
        value = f"{source}[{stored!r}]"
        if isinstance(field.type, ListType) and isinstance(field.type.item_type, StructType):
            item = self.record_expression(field.type.item_type, field.name)
            value = f"[{item} for {field.name} in {value}]"
        if not self._lenient or field.required:
            return value
        make_default = f"default_{record}_{field.name}"
        self.names[make_default] = lambda: default_of(field)
        return f"{value} if {stored!r} in {source} else {make_default}()"


def default_of(field: Field) -> Any:
    """Return the default of a field that has one; each call returns a new list."""
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return field.default


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
    """The place of the field among whose values is the owner's key."""
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

    def decode(self, documents: Documents) -> list[R]:
        """Return the records in documents, in the same order.

        Fields that a document lacks, because it was written before they were added, get their
        default. Raises KeyError if a field without default is missing.
        """
        try:
            return _compile_decoder(self.struct)(documents)
        except KeyError:
            return _compile_decoder(self.struct, lenient=True)(documents)

    def decode_each(self, documents: Documents) -> list[R]:
        """Return the records in documents; for one that cannot be decoded, the exception.

        So a damaged document costs nothing but itself. GraphQL reports an exception in the place of
        a value as its error, and reading a field of one fails.
        """
        try:
            return self.decode(documents)
        except Exception:
            return [self._decode_one(document) for document in documents]

    def _decode_one(self, document: Document) -> R:
        try:
            [record] = self.decode([document])
        except Exception as error:
            return cast(R, error)
        return record

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
    return {stored_name(field.name): 1 for field in fields}


@cache
def _build_defaults(record_type: type[Record]) -> Mapping[str, Any]:
    info = msgspec.inspect.type_info(record_type)
    assert isinstance(info, msgspec.inspect.StructType)
    return {
        stored_name(field.encode_name): default_of(field)
        for field in info.fields
        if not field.required
    }


CREATED_AT, UPDATED_AT = TIMESTAMP_FIELDS = ("created_at", "updated_at")


def current_second() -> datetime:
    """Return the time now in UTC, without microseconds."""
    return datetime.now(UTC).replace(microsecond=0)


def current_timestamp() -> str:
    """Return the time now as it is stored."""
    return current_second().isoformat()


# Keys as people write and read them: an id, or the identifying fields with slashes between them.
#
# Fields that hold a slash themselves are written as a JSON array.


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
