"""Sheets named after a resource: a row for each record, a column for each field."""

from collections.abc import Iterator
from typing import Any

from storage.bundles.reading.parser import BundleMember
from storage.bundles.reading.tables.derived_ids import ID_SOURCES, derive_id
from storage.bundles.reading.tables.fields import column_fields
from storage.bundles.reading.tables.files.sheets import Row, TableError
from storage.bundles.reading.tables.floors import parse_floor
from storage.bundles.reading.tables.headers import Recognizer, Table, build_recognizer
from storage.bundles.reading.tables.mapping import Mapping, SheetMapping
from storage.bundles.reading.tables.members import Rows, cell_of, is_blank
from storage.bundles.reading.tables.names import fold
from storage.bundles.reading.tables.values.cells import CellError, to_text
from storage.catalog import RECORD_TYPES
from storage.records.kinds import RecordType

KINDS_BY_SHEET = {fold(name): kind for kind in RECORD_TYPES for name in (kind.name, kind.singular)}
DRAWING_FIELD = "source"
"""An empty cell keeps the drawing: a sheet that was exported cannot hold one."""


def record_recognizer(kind: RecordType[Any], mapping: Mapping, sheet: SheetMapping) -> Recognizer:
    """Return what knows the columns of a kind."""
    names = {field.name for field in column_fields(kind)}
    columns = {**mapping.columns, **sheet.columns}
    return build_recognizer(columns, {fold(name): name for name in names}, names.__contains__)


def has_required_columns(kind: RecordType[Any], table: Table, mapping: Mapping) -> bool:
    """Return whether a table has a column for each required field of its records."""
    given = table.targets.keys() | _constants(kind, mapping).keys() | _derivable(kind)
    return all(field.name in given for field in column_fields(kind) if field.is_required)


def read_records(kind: RecordType[Any], table: Table, rows: Rows) -> Iterator[BundleMember]:
    """Yield the members of a sheet; what is wrong with the others is added to the violations.

    The catalog keeps the fields for which the sheet has no column.
    """
    fields = column_fields(kind)
    targets = table.targets
    constants = _constants(kind, rows.mapping)
    rows.violations.mentions.add(kind.name)
    rows.violations.columns.add(rows.place, {name: each.header for name, each in targets.items()})
    given_values = _read_constants(kind, constants)
    given = {*targets, *constants}
    kept = [field.name for field in fields if not field.is_required and field.name not in given]
    for row in table.rows:
        if is_blank(row):
            continue
        value = _read_value(kind, table, row, rows)
        if value is None:
            continue
        value = given_values | value
        if DRAWING_FIELD not in value and DRAWING_FIELD in targets:
            yield from _build(kind, value, row, rows, [*kept, DRAWING_FIELD])
        else:
            yield from _build(kind, value, row, rows, kept)


def _build(
    kind: RecordType[Any], value: dict[str, Any], row: Row, rows: Rows, kept: list[str]
) -> Iterator[BundleMember]:
    _add_id(kind, value)
    missing = [
        field.name for field in column_fields(kind) if field.is_required and field.name not in value
    ]
    for name in missing:
        rows.violations.add(f"{rows.place_of(row)}.{name}", f"a value is required: {name}")
    if missing:
        rows.violations.rejected.add(kind, value)
    else:
        yield from rows.build(kind, value, row, kept_fields=kept)


def _read_value(kind: RecordType[Any], table: Table, row: Row, rows: Rows) -> dict[str, Any] | None:
    value: dict[str, Any] = {}
    is_valid = True
    targets = table.targets
    for field in column_fields(kind):
        column = targets.get(field.name)
        cell = cell_of(row, column)
        if cell is None:
            continue
        try:
            value[field.name] = field.read(cell, rows.mapping.dates)
        except CellError as error:
            is_valid = False
            rows.reject(row, column, str(error))
    if is_valid:
        return value
    rows.violations.rejected.add(kind, value)
    return None


def _constants(kind: RecordType[Any], mapping: Mapping) -> dict[str, str]:
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


def _derivable(kind: RecordType[Any]) -> set[str]:
    return {kind.key_fields[0]} if kind.name in ID_SOURCES else set()


def _add_id(kind: RecordType[Any], value: dict[str, Any]) -> None:
    sources = ID_SOURCES.get(kind.name)
    key = kind.key_fields[0]
    if sources is None or key in value or not all(name in value for name in sources):
        return
    *owners, name = (to_text(value[source]) for source in sources)
    part = parse_floor(name).slug if kind.name == "floors" else name
    if derived := derive_id("".join(owners), part):
        value[key] = derived
