"""Writing workbooks that the import reads."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import xlsxwriter
from xlsxwriter.exceptions import XlsxWriterException
from xlsxwriter.worksheet import Worksheet

from storage.bundles.reading.tables.fields import ColumnField
from storage.bundles.reading.tables.files.sheets import MAX_ROWS, column_letters
from storage.bundles.reading.tables.values.cells import MAX_CELL_CHARACTERS, CellError, clean
from storage.errors import StorageError

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
            if len(self.notes) < MAX_NOTED_CELLS and not _is_read_back(field, member, value):
                self.notes.append(
                    f'"{sheet.title}", cell {column_letters(index)}{sheet.rows + 1}: a cell cannot'
                    f" hold this {field.name} exactly, such as blanks at its ends"
                )


def write_field(field: ColumnField, value: Any) -> CellValue:
    """Return the cell that holds a field; None for one that is not given."""
    return None if value is None else field.write(value)


def _is_read_back(field: ColumnField, member: Mapping[str, Any], value: CellValue) -> bool:
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
    unfinished = path.with_name(f".{path.name}.unfinished")
    book = xlsxwriter.Workbook(str(unfinished), _OPTIONS)
    try:
        try:
            yield Workbook(book)
        finally:
            book.close()
        unfinished.replace(path)
    except (OSError, XlsxWriterException) as error:
        reason = getattr(error, "strerror", None) or error
        raise StorageError(f"{path} cannot be written: {reason}") from error
    finally:
        unfinished.unlink(missing_ok=True)


def title_of(name: str) -> str:
    """Return the title of the sheet of a resource.

    >>> title_of("unit_references")
    'Unit references'
    """
    return name.replace("_", " ").capitalize()
