"""From documents to records, by code made once for each kind of record.

MongoDB's validators have held every document to its record's types when it was written. Checking
again, or handing over each document as keyword arguments, costs four times as much as reading.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec.inspect import Field, ListType, StructType

from storage.records.fields import Record

R = TypeVar("R", bound=Record)


def decode_records(record: type[R], documents: Sequence[dict[str, Any]]) -> list[R]:
    """The records that documents hold, in their order."""
    try:
        return _compile_decoder(record)(documents)
    except KeyError:  # written before a field was added, whose default stands in
        stored = {field.name: stored_name(field.name) for field in msgspec.structs.fields(record)}
        return [
            msgspec.convert(
                {name: each[at] for name, at in stored.items() if at in each}, type=record
            )
            for each in documents
        ]


def stored_name(field: str) -> str:
    """What a record's field is called in its document."""
    return "_id" if field == "id" else field


@cache
def _compile_decoder(record: type[R]) -> Callable[[Sequence[dict[str, Any]]], list[R]]:
    info = msgspec.inspect.type_info(record)
    assert isinstance(info, StructType)
    names: dict[str, Any] = {}
    made = _constructor_expression(info, "each", names, stored_name)
    reader: Callable[[Sequence[dict[str, Any]]], list[R]] = eval(
        f"lambda documents: [{made} for each in documents]", names
    )
    return reader


def _constructor_expression(
    info: StructType, source: str, names: dict[str, Any], stored: Callable[[str], str] = str
) -> str:
    """The expression that makes a record of the document that `source` names."""
    names[info.cls.__name__] = info.cls
    members = [
        f"{field.name}={_value_expression(field, f'{source}[{stored(field.name)!r}]', names)}"
        for field in info.fields
    ]
    return f"{info.cls.__name__}({', '.join(members)})"


def _value_expression(field: Field, source: str, names: dict[str, Any]) -> str:
    if isinstance(field.type, ListType) and isinstance(field.type.item_type, StructType):
        made = _constructor_expression(field.type.item_type, field.name, names)
        return f"[{made} for {field.name} in {source}]"
    return source
