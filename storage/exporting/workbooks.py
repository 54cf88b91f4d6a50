"""Workbooks that the import reads: the catalog as one, the attributes of units, and templates."""

import contextlib
import csv
import io
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import xlsxwriter
from xlsxwriter.exceptions import XlsxWriterException
from xlsxwriter.worksheet import Worksheet

from storage.bundles.description import describe_field
from storage.bundles.names import ID_SOURCES, header_of
from storage.catalog import ATTRIBUTE_GROUPS, RECORD_TYPES
from storage.errors import StorageError
from storage.exporting.bundles import iter_members, iter_units_with_attributes
from storage.importing.import_bundles import open_settled_snapshot
from storage.mongo import driver
from storage.records.kinds import TIMESTAMP_FIELDS, RecordType
from storage.records.visibility import ALL_ASSETS, AssetScope
from storage.spreadsheets.cells import MAX_CELL_CHARACTERS, CellError, clean, join_items
from storage.spreadsheets.mapping import ATTRIBUTE, ATTRIBUTES
from storage.spreadsheets.record_sheets import DRAWING_FIELD, ColumnField, column_fields
from storage.spreadsheets.sheets import MAX_ROWS, column_letters
from storage.spreadsheets.unit_tables import KnownGroups
from storage.written_files import write_file

CellValue: TypeAlias = str | float | bool | None
MAX_NOTED_CELLS = 20
COLUMN_WIDTH = 22
_OPTIONS = {
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_numbers": False,
    "strings_to_urls": False,
}


class WorkbookSheet:
    """One sheet: a row of headers that stays in view, and rows."""

    def __init__(
        self, sheet: Worksheet, title: str, headers: Sequence[str], formats: Sequence[Any]
    ) -> None:
        self.sheet = sheet
        self.title = title
        self.rows = 0
        self._headers = headers
        sheet.freeze_panes(1, 0)
        if headers:
            sheet.set_column(0, len(headers) - 1, COLUMN_WIDTH)
        for column, (header, format) in enumerate(zip(headers, formats, strict=True)):
            sheet.write_string(0, column, header, format)

    def offer(self, column: int, source: str | Sequence[str]) -> None:
        """Offer values in a column: a list, or a range of cells; other values are accepted."""
        options = {"validate": "list", "source": source, "error_type": "information"}
        self.sheet.data_validation(1, column, CHOICE_ROWS, column, options)

    def add_row(self, values: Sequence[CellValue]) -> None:
        """Write the next row. Raises StorageError if it does not fit."""
        self.rows += 1
        if self.rows >= MAX_ROWS:
            raise StorageError(
                f'"{self.title}" has more than {MAX_ROWS - 1:,} rows, the limit of a sheet; use'
                " floorgate export without --xlsx"
            )
        for column, value in enumerate(values):
            if isinstance(value, str) and len(value) > MAX_CELL_CHARACTERS:
                raise StorageError(
                    f'"{self.title}", row {self.rows + 1}, {self._headers[column]}: a cell holds'
                    f" {MAX_CELL_CHARACTERS:,} characters, and this has {len(value):,}; use"
                    " floorgate export without --xlsx"
                )
            if isinstance(value, bool):
                self.sheet.write_boolean(self.rows, column, value)
            elif isinstance(value, str):
                self.sheet.write_string(self.rows, column, value)
            elif value is not None:
                self.sheet.write_number(self.rows, column, value)


class Workbook:
    """A workbook that is being written."""

    def __init__(self, book: xlsxwriter.Workbook) -> None:
        self.book = book
        self.notes: list[str] = []
        self._optional = book.add_format({"bold": True, "bottom": 1, "bg_color": "#EFEFEF"})
        self._required = book.add_format({"bold": True, "bottom": 1, "bg_color": "#FFE699"})

    def add_sheet(
        self, title: str, headers: Sequence[str], required: Sequence[str] = ()
    ) -> WorkbookSheet:
        """Add a sheet; the headers of required columns have another colour."""
        formats = [self._required if each in required else self._optional for each in headers]
        return WorkbookSheet(self.book.add_worksheet(title), title, headers, formats)

    def add_record(
        self, sheet: WorkbookSheet, fields: Sequence[ColumnField], member: Mapping[str, Any]
    ) -> None:
        """Write a record as the next row, and note what its cells cannot hold."""
        values = [write_field(field, member.get(field.name)) for field in fields]
        sheet.add_row(values)
        for index, (field, value) in enumerate(zip(fields, values, strict=True)):
            if len(self.notes) < MAX_NOTED_CELLS and not _is_read_back(field, value):
                self.notes.append(
                    f'"{sheet.title}", cell {column_letters(index)}{sheet.rows + 1}: a cell cannot'
                    f" hold this {field.name} exactly, such as blanks at its ends"
                )


def write_field(field: ColumnField, value: Any) -> CellValue:
    """Return the cell that holds a field; None for one that is not given."""
    return None if value is None else field.write(value)


def _is_read_back(field: ColumnField, value: CellValue) -> bool:
    if not isinstance(value, str):
        return True
    try:
        cell = clean(value)
        return cell is not None and field.write(field.read(cell, None)) == value
    except CellError:
        return False


@contextlib.contextmanager
def create_workbook(path: Path) -> Iterator[Workbook]:
    """Yield a workbook that is saved at the end; if that fails, the file stays as it was.

    Raises StorageError.
    """
    content = io.BytesIO()
    book = xlsxwriter.Workbook(content, _OPTIONS)
    try:
        try:
            yield Workbook(book)
        finally:
            book.close()
        write_file(path, content.getvalue())
    except (OSError, XlsxWriterException) as error:
        reason = getattr(error, "strerror", None) or error
        raise StorageError(f"{path} cannot be written: {reason}") from error


def title_of(name: str) -> str:
    """Return the title of the sheet of a resource.

    >>> title_of("unit_references")
    'Unit references'
    """
    return name.replace("_", " ").capitalize()


ATTRIBUTE_HEADERS = ("Asset ID", "Unit ID", "Unit")


async def export_workbook(
    database: driver.Database, path: Path, scope: AssetScope = ALL_ASSETS
) -> list[str]:
    """Write the catalog to a workbook with a sheet for each resource, without drawings.

    Returns notes. Raises UnavailableError, ImportRunningError, and StorageError if it does not fit.
    """
    with driver.translate_errors(), create_workbook(path) as workbook:
        async with open_settled_snapshot(database) as session:
            for kind in RECORD_TYPES:
                fields = [each for each in column_fields(kind) if each.name != DRAWING_FIELD]
                required = [header_of(each.name) for each in fields if each.is_required]
                headers = [header_of(each.name) for each in fields]
                sheet = workbook.add_sheet(title_of(kind.name), headers, required)
                members = iter_members(database, kind, scope, session, with_drawings=False)
                async for member in members:
                    workbook.add_record(sheet, fields, member)
    more = ["... and more cells"] if len(workbook.notes) == MAX_NOTED_CELLS else []
    return workbook.notes + more


async def export_attributes(
    database: driver.Database, path: Path, scope: AssetScope = ALL_ASSETS
) -> None:
    """Write a table with a row for each unit and a column for each attribute group.

    A workbook if the file's name says so, else CSV. Raises as `export_workbook`.
    """
    with driver.translate_errors():
        async with open_settled_snapshot(database) as session:
            rows = _iter_attribute_rows(database, scope, session)
            if path.suffix.lower() == ".xlsx":
                with create_workbook(path) as workbook:
                    sheet = workbook.add_sheet("Attributes", await anext(rows), ATTRIBUTE_HEADERS)
                    async for row in rows:
                        sheet.add_row(row)
            else:
                text = io.StringIO(newline="")
                csv.writer(text).writerows([row async for row in rows])
                write_file(path, text.getvalue().encode("utf-8-sig"))


async def _iter_attribute_rows(
    database: driver.Database, scope: AssetScope, session: driver.Session
) -> AsyncIterator[list[str]]:
    """Yield the headers, then a row for each unit."""
    documents = iter_members(database, ATTRIBUTE_GROUPS, ALL_ASSETS, session)
    groups = KnownGroups([msgspec.to_builtins(member) async for member in documents])
    columns = {group.group_id: group for group in groups}
    prefixes = [ATTRIBUTE if group.is_single else ATTRIBUTES for group in groups]
    headers = [
        prefix + groups.name_of(group) for prefix, group in zip(prefixes, groups, strict=True)
    ]
    yield [*ATTRIBUTE_HEADERS, *headers]
    async for unit, assignments in iter_units_with_attributes(database, scope, session):
        names: dict[str, list[str]] = {}
        for group_id, attribute_id in assignments:
            names.setdefault(group_id, []).append(columns[group_id].name_of(attribute_id))
        cells = [_join(names.get(group.group_id, ()), group.is_single) for group in groups]
        yield [unit.asset_id, unit.id, unit.name, *cells]


def _join(names: Sequence[str], is_single: bool) -> str:
    if is_single:
        return names[0] if names else ""
    return join_items(names) if names else ""


Members = Mapping[str, Sequence[Mapping[str, Any]]]
"""Examples by kind, as a bundle has them."""
CHOICE_ROWS = 10_000
MAX_CHOICE_CHARACTERS = 255
"""All choices of a list that is not in cells have no more: Excel has this limit."""
COMMENT_SIZE = {"x_scale": 2.2, "y_scale": 1.4}
DRAWING_NOTE = (
    "The path of an SVG file, relative to this workbook. An empty cell keeps the drawing that the"
    " map has."
)
ABOUT = (
    "One sheet for each kind of record; a sheet that you do not need can be deleted.",
    "Replace the rows, which are examples, and keep the headers. Yellow ones are required.",
    "Each header has a note on what its cells hold. A column that you delete changes nothing.",
    "Ids may be left empty where they can be made of names: of assets, floors, units, maps, ...",
    "Load the workbook: floorgate import --dry-run FILE, then floorgate import FILE",
)
TABLE_NAME = "Apartments"


def write_template(path: Path, members: Members) -> None:
    """Write a workbook with a sheet for each resource and these examples. Raises StorageError."""
    with create_workbook(path) as workbook:
        about = workbook.add_sheet("About", ["A catalog for Floorgate"])
        about.sheet.set_column(0, 0, 110)
        for line in ABOUT:
            about.add_row([line])
        for kind in RECORD_TYPES:
            fields = [each for each in column_fields(kind) if each.name not in TIMESTAMP_FIELDS]
            required = [header_of(each.name) for each in fields if _is_required(kind, each)]
            headers = [header_of(each.name) for each in fields]
            sheet = workbook.add_sheet(title_of(kind.name), headers, required)
            for column, field in enumerate(fields):
                sheet.sheet.write_comment(0, column, _describe(kind, field), COMMENT_SIZE)
                _add_choices(sheet, column, kind, field)
            for member in members.get(kind.name, ()):
                given = {name: value for name, value in member.items() if name != "source"}
                sheet.add_row([write_field(each, given.get(each.name)) for each in fields])


def _describe(kind: RecordType[Any], field: ColumnField) -> str:
    description = describe_field(kind.struct, field.name)
    if field.name == "source":
        return DRAWING_NOTE
    required = "Required. " if _is_required(kind, field) else ""
    text = description.text.replace("null", "empty")
    sources = " and ".join(map(header_of, _list_sources(kind, field)))
    derived = f"\nMade of {sources} if the cell is empty." if sources else ""
    example = "" if isinstance(description.example, list) else f"\nExample: {description.example}"
    return f"{required}{text}{derived}\nCells hold {field.form}.{example}"


def _is_required(kind: RecordType[Any], field: ColumnField) -> bool:
    return field.is_required and not _list_sources(kind, field)


def _list_sources(kind: RecordType[Any], field: ColumnField) -> tuple[str, ...]:
    """Return the fields of which a field is made if it is not given: an id of names."""
    return ID_SOURCES.get(kind.name, ()) if field.name == kind.key_fields[0] else ()


def _add_choices(
    sheet: WorkbookSheet, column: int, kind: RecordType[Any], field: ColumnField
) -> None:
    """Offer the ids of the sheet with its owners, or TRUE and FALSE."""
    if field.form == "TRUE or FALSE":
        sheet.offer(column, ["TRUE", "FALSE"])
    for owner in kind.foreign_keys:
        if owner.field == field.name and field.form == "text":
            sheet.offer(column, f"='{title_of(owner.kind)}'!$A$2:$A${CHOICE_ROWS + 1}")


def write_table_template(path: Path, members: Members) -> None:
    """Write a workbook with one table of apartments. Raises StorageError."""
    assets = {each["id"]: each["name"] for each in members.get("assets", ())}
    floors = {each["id"]: each["name"] for each in members.get("floors", ())}
    groups = members.get("attribute_groups", ())
    keys = sorted({each["key"] for each in members.get("unit_references", ())})
    names = {
        (group["group_id"], each["attribute_id"]): each["attribute_name"]
        for group in groups
        for each in group["attributes"]
    }
    assigned: dict[tuple[str, str], list[str]] = {}
    for each in members.get("attribute_assignments", ()):
        name = names[each["group_id"], each["attribute_id"]]
        assigned.setdefault((each["unit_id"], each["group_id"]), []).append(name)
    references = {
        (each["unit_id"], each["key"]): each["value"] for each in members.get("unit_references", ())
    }
    prefixes = [ATTRIBUTE if each["one_attribute_per_unit"] else ATTRIBUTES for each in groups]
    headers = [
        *("Property", "Asset ID", "Floor", "Floor ID", "Unit #", "Unit ID"),
        *(prefix + each["group_name"] for prefix, each in zip(prefixes, groups, strict=True)),
        *(f"reference:{key}" for key in keys),
    ]
    with create_workbook(path) as workbook:
        sheet = workbook.add_sheet(TABLE_NAME, headers, ("Property", "Floor", "Unit #"))
        notes = [*TABLE_NOTES, *map(_describe_group, groups), *map(REFERENCE_NOTE.format, keys)]
        for column, note in enumerate(notes):
            sheet.sheet.write_comment(0, column, note, COMMENT_SIZE)
        for column, group in enumerate(groups, len(TABLE_NOTES)):
            _add_names(sheet, column, [each["attribute_name"] for each in group["attributes"]])
        for unit in members.get("units", ()):
            lists = [assigned.get((unit["id"], group["group_id"]), []) for group in groups]
            sheet.add_row(
                [
                    *(assets[unit["asset_id"]], unit["asset_id"]),
                    *(floors[unit["floor_id"]], unit["floor_id"]),
                    *(unit["name"], unit["id"]),
                    *(join_items(each) if each else None for each in lists),
                    *(references.get((unit["id"], key)) for key in keys),
                ]
            )


TABLE_NOTES = (
    "Required. The name of the property.",
    "The id of the property. Made of its name if there is none; then delete the column.",
    "Required. The floor: its number, or a name such as Ground, Basement or Roof.",
    "The id of the floor. Made of the property and the floor if there is none.",
    "Required. The number or name of the unit.",
    "The id of the unit. Made of the property and the unit if there is none.",
)
REFERENCE_NOTE = "The id of the unit in another system, which is called {}."


def _describe_group(group: Mapping[str, Any]) -> str:
    name = group["group_name"]
    if group["one_attribute_per_unit"]:
        return f"The attribute of the unit in the group {name}. A name that is new is added."
    return (
        f"The attributes of the unit in the group {name}: one; two. Names that are new are added."
    )


def _add_names(sheet: WorkbookSheet, column: int, names: Sequence[str]) -> None:
    is_short = sum(len(name) + 1 for name in names) <= MAX_CHOICE_CHARACTERS
    if is_short and not any("," in name for name in names):
        sheet.offer(column, names)
