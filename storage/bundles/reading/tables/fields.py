"""Fields of records as columns: what a cell of each holds, and how a value is written into one."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import msgspec
from msgspec.inspect import BoolType, FloatType, IntType, ListType, NoneType, StructType, UnionType

from storage.bundles.reading.tables.values import cells, lists
from storage.bundles.reading.tables.values.cells import Cell, CellError
from storage.bundles.reading.tables.values.dates import DateOrder
from storage.records.kinds import TIMESTAMP_FIELDS, RecordType


class ColumnField(NamedTuple):
    """A field that a column holds."""

    name: str
    is_required: bool
    form: str
    """What its cells hold, for people."""
    read: Callable[[Cell, DateOrder | None], Any]
    write: Callable[[Any], str | float | bool | None]


@cache
def column_fields(kind: RecordType[Any]) -> tuple[ColumnField, ...]:
    """Return the fields of a kind in the order of its columns: times come last."""
    info: Any = msgspec.inspect.type_info(kind.struct)
    fields = sorted(info.fields, key=lambda field: field.encode_name in TIMESTAMP_FIELDS)
    return tuple(
        ColumnField(field.encode_name, field.required, *_form_of(field.encode_name, field.type))
        for field in fields
    )


def _form_of(name: str, type: Any) -> tuple[str, Any, Any]:
    if isinstance(type, UnionType):
        (type,) = [option for option in type.types if not isinstance(option, NoneType)]
    if name in TIMESTAMP_FIELDS:
        return "a date or time", cells.to_timestamp, lambda value: value or None
    if isinstance(type, BoolType):
        return "TRUE or FALSE", _ignoring_order(cells.to_boolean), bool
    if isinstance(type, IntType):
        return "a whole number", _ignoring_order(cells.to_integer), _write_number
    if isinstance(type, FloatType):
        return "a number", _ignoring_order(cells.to_number), _write_number
    if isinstance(type, ListType) and isinstance(type.item_type, StructType):
        return _items_form(type.item_type)
    if isinstance(type, ListType):
        with_commas = name == "tags"  # which have none
        read = _ignoring_order(lambda cell: lists.split_items(cell, with_commas))
        form = "a list: one; two" if name == "tags" else "a list of ids: one; two"
        return form, read, _write_list
    return "text", _ignoring_order(cells.to_text), lambda value: value


def _ignoring_order(read: Callable[[Cell], Any]) -> Callable[[Cell, DateOrder | None], Any]:
    return lambda cell, _: read(cell)


def _write_number(value: float | None) -> float | str | None:
    """XlsxWriter writes 16 digits of a number; one that has 17 is written as text."""
    return value if value is None or float(f"{value:.16G}") == value else repr(value)


def _write_list(items: list[str] | None) -> str | None:
    return None if items is None else lists.join_items(items)


def _items_form(info: StructType) -> tuple[str, Any, Any]:
    names = [
        field.encode_name for field in info.fields if field.encode_name not in TIMESTAMP_FIELDS
    ]
    form = lists.PART_SEPARATOR.join(names)

    def read(cell: Cell, _: DateOrder | None) -> list[dict[str, str]]:
        items = []
        for parts in lists.split_records(cell):
            if len(parts) != len(names):
                item = lists.PART_SEPARATOR.join(parts)
                raise CellError(f'expected {form}, not "{item}"; write a part with "=" in quotes')
            items.append(dict(zip(names, parts, strict=True)))
        return items

    def write(items: list[Any]) -> str:
        rows = msgspec.to_builtins(items)
        return lists.join_records([[item[name] for name in names] for item in rows])

    return f"a list of {form}, separated by semicolons", read, write
