"""Sheets named after a resource: a row for each record, a column for each field."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import msgspec
from msgspec.inspect import BoolType, FloatType, IntType, ListType, NoneType, StructType, UnionType

from storage.bundles.json_bundles import BundleMember
from storage.bundles.names import ID_SOURCES, derive_id, fold, header_of, parse_floor, suggest
from storage.catalog import RECORD_TYPES
from storage.records.kinds import TIMESTAMP_FIELDS, RecordType
from storage.spreadsheets import cells, tables
from storage.spreadsheets.cells import Cell, CellError, DateOrder, to_text
from storage.spreadsheets.mapping import SheetMapping, SpreadsheetMapping
from storage.spreadsheets.sheets import Row, TableError


class ColumnField(NamedTuple):
    """A field that a column holds."""

    name: str
    is_required: bool
    form: str
    """It tells people what the cells hold."""
    read: Callable[[Cell, DateOrder | None], Any]
    write: Callable[[Any], str | float | bool | None]
    """It returns the cell with a value that is given."""


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
        read = _ignoring_order(lambda cell: cells.split_items(cell, with_commas))
        form = "a list: one; two" if name == "tags" else "a list of ids: one; two"
        return form, read, cells.join_items
    return "text", _ignoring_order(cells.to_text), lambda value: value


def _ignoring_order(read: Callable[[Cell], Any]) -> Callable[[Cell, DateOrder | None], Any]:
    return lambda cell, _: read(cell)


def _write_number(value: float) -> float | str:
    """XlsxWriter writes 16 digits of a number; one that has 17 is written as text."""
    return value if float(f"{value:.16G}") == value else repr(value)


def _items_form(info: StructType) -> tuple[str, Any, Any]:
    names = [
        field.encode_name for field in info.fields if field.encode_name not in TIMESTAMP_FIELDS
    ]
    form = cells.PART_SEPARATOR.join(names)

    def read(cell: Cell, _: DateOrder | None) -> list[dict[str, str]]:
        items = []
        for parts in cells.split_records(cell):
            if len(parts) != len(names):
                item = cells.PART_SEPARATOR.join(parts)
                raise CellError(f'expected {form}, not "{item}"; write a part with "=" in quotes')
            items.append(dict(zip(names, parts, strict=True)))
        return items

    def write(items: list[Any]) -> str:
        rows = msgspec.to_builtins(items)
        return cells.join_records([[item[name] for name in names] for item in rows])

    return f"a list of {form}, separated by semicolons", read, write


KINDS_BY_SHEET = {fold(name): kind for kind in RECORD_TYPES for name in (kind.name, kind.singular)}
DRAWING_FIELD = "source"
"""An empty cell keeps the drawing: a sheet that was exported cannot hold one."""


def record_recognizer(
    kind: RecordType[Any], mapping: SpreadsheetMapping, sheet: SheetMapping
) -> tables.Recognizer:
    """Return what knows the columns of a kind."""
    names = {field.name: field.name for field in column_fields(kind)}
    known = {fold(name): name for name in names}
    return tables.build_recognizer(mapping, sheet, known, names.get)


def list_absent_fields(
    kind: RecordType[Any], table: tables.Table, mapping: SpreadsheetMapping, are_partial: bool
) -> list[str]:
    """Return the required fields for which there is no column, and no value in the mapping.

    Of an id that is made of other fields, these are required.
    """
    given = table.targets.keys() | _constants(kind, mapping).keys()
    sources = ID_SOURCES.get(kind.name)
    if sources and (given >= {*sources} or not are_partial):
        given |= {kind.key_fields[0]}
    return [field.name for field in _required_fields(kind, are_partial) if field.name not in given]


def _required_fields(kind: RecordType[Any], are_partial: bool) -> list[ColumnField]:
    """Return the fields that each record has; of a partial one, those of its key."""
    return [
        field
        for field in column_fields(kind)
        if (field.name in kind.key_fields if are_partial else field.is_required)
    ]


def read_records(
    kind: RecordType[Any], table: tables.Table, rows: tables.Rows
) -> Iterator[BundleMember]:
    """Yield the members of a sheet; what is wrong with the others is added to the violations.

    The catalog keeps the fields for which the sheet has no column.
    """
    fields = column_fields(kind)
    targets = table.targets
    constants = _constants(kind, rows.mapping)
    rows.use.add_fields(field.name for field in fields)
    rows.violations.mentions.add(kind.name)
    rows.violations.columns.add(rows.place, {name: each.header for name, each in targets.items()})
    given_values = _read_constants(kind, constants)
    given = {*targets, *constants}
    kept = [field.name for field in fields if not field.is_required and field.name not in given]
    fixed = {*kind.key_fields, *kind.immutable_fields}
    for name in list_absent_fields(kind, table, rows.mapping, rows.are_partial):
        meant = suggest(name, table.unread)
        message = tables.describe_absent(header_of(name), ", which is required", meant)
        rows.reject(Row(table.header_number, ()), None, message)
    for row in table.rows:
        if tables.is_blank(row):
            continue
        cells, wrong = _read_value(kind, table, row, rows)
        value = given_values | cells
        if _reject(kind, value, given, wrong, row, rows):
            continue
        if rows.are_partial:
            row_kept = [name for name in constants if name not in {*cells, *fixed}]
        elif DRAWING_FIELD in targets and DRAWING_FIELD not in value:
            row_kept = [*kept, DRAWING_FIELD]
        else:
            row_kept = kept
        yield from rows.build(kind, value, row, kept_fields=row_kept)


def _reject(
    kind: RecordType[Any],
    value: dict[str, Any],
    given: set[str],
    wrong: set[str],
    row: Row,
    rows: tables.Rows,
) -> bool:
    """Add the id of a record; return whether it is rejected, after adding all that is wrong.

    `given` are the fields of the sheet, `wrong` those of which the cell could not be read.
    """
    _add_id(kind, value)
    missing = [
        field.name
        for field in _required_fields(kind, rows.are_partial)
        if field.name not in value and field.name not in wrong
    ]
    for name in missing:
        if name in given:
            message = f"a value is required: {name}{rows.hint_at_totals(row)}"
            rows.violations.add(f"{rows.place_of(row)}.{name}", message)
        elif name in kind.key_fields and _has_id_sources(kind, value):
            source = ID_SOURCES[kind.name][-1]
            message = f'no id can be made of "{value[source]}"; give it one in a column "ID"'
            rows.violations.add(f"{rows.place_of(row)}.{source}", message)
    if not (missing or wrong):
        return False
    rows.reject_record(kind, value, row)
    return True


def _read_value(
    kind: RecordType[Any], table: tables.Table, row: Row, rows: tables.Rows
) -> tuple[dict[str, Any], set[str]]:
    """Return the fields of a record, and those of which the cell could not be read."""
    value: dict[str, Any] = {}
    wrong = set()
    targets = table.targets
    for field in column_fields(kind):
        column = targets.get(field.name)
        cell = tables.cell_of(row, column)
        if cell is None:
            continue
        try:
            value[field.name] = field.read(cell, rows.mapping.dates)
        except CellError as error:
            wrong.add(field.name)
            rows.reject(row, column, str(error))
    return value, wrong


def _constants(kind: RecordType[Any], mapping: SpreadsheetMapping) -> dict[str, str]:
    """Return the fields that the mapping gives to all records of a kind."""
    names = {field.name for field in column_fields(kind)}
    asset = {"asset_id": mapping.asset.id} if mapping.asset.id else {}
    return {name: text for name, text in (asset | mapping.defaults).items() if name in names}


def _read_constants(kind: RecordType[Any], constants: dict[str, str]) -> dict[str, Any]:
    values = {}
    for field in column_fields(kind):
        if field.name in constants:
            try:
                values[field.name] = field.read(constants[field.name], None)
            except CellError as error:
                message = f'the mapping gives "{field.name}" a wrong default: {error}'
                raise TableError(message) from error
    return values


def _add_id(kind: RecordType[Any], value: dict[str, Any]) -> None:
    key = kind.key_fields[0]
    if key in value or not _has_id_sources(kind, value):
        return
    *owners, name = (to_text(value[source]) for source in ID_SOURCES[kind.name])
    part = parse_floor(name).slug if kind.name == "floors" else name
    if derived := derive_id("".join(owners), part):
        value[key] = derived


def _has_id_sources(kind: RecordType[Any], value: dict[str, Any]) -> bool:
    """Return whether a record has what an id is made of."""
    return kind.name in ID_SOURCES and all(name in value for name in ID_SOURCES[kind.name])
