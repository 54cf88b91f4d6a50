"""Decoding MongoDB documents into records, by a function generated for each record type.

Documents are not checked: MongoDB's validators (`storage.setup.validators`) have checked them when
they were written. msgspec.convert, which checks again, takes four times as long.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeAlias, TypeVar, cast

import msgspec
from msgspec.inspect import Field, ListType, StructType

from storage.records.fields import Record

R = TypeVar("R", bound=Record)
Documents: TypeAlias = Sequence[dict[str, Any]]


def decode_records(record_type: type[R], documents: Documents) -> list[R]:
    """Return the records in documents, in the same order.

    Fields that a document lacks, because it was written before they were added, get their default.
    Raises KeyError if a field without default is missing.
    """
    try:
        return _compile_decoder(record_type)(documents)
    except KeyError:
        return _compile_decoder(record_type, lenient=True)(documents)


def decode_each(record_type: type[R], documents: Documents) -> list[R]:
    """Return the records in documents; for one that cannot be decoded, the exception.

    So a damaged document costs nothing but itself. GraphQL reports an exception in the place of a
    value as its error, and reading a field of one fails.
    """
    try:
        return decode_records(record_type, documents)
    except Exception:
        return [_decode_one(record_type, document) for document in documents]


def _decode_one(record_type: type[R], document: dict[str, Any]) -> R:
    try:
        [record] = decode_records(record_type, [document])
    except Exception as error:
        return cast(R, error)
    return record


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
