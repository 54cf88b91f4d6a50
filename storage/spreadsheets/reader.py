"""Reading the spreadsheets of an import: members as a bundle has them."""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from storage.bundles.json_bundles import GZIP_MAGIC, BundleMember
from storage.bundles.names import fold, hint_at
from storage.bundles.violations import Violations
from storage.catalog import ASSETS, FLOORS, RECORD_TYPES_BY_NAME, UNITS
from storage.records.kinds import Document, RecordType
from storage.spreadsheets import record_sheets, tables, unit_tables
from storage.spreadsheets.mapping import (
    IGNORE,
    TABLE,
    MappingUse,
    SheetMapping,
    SpreadsheetMapping,
    to_table_target,
)
from storage.spreadsheets.sheets import (
    MAX_SPREADSHEET_BYTES,
    OLD_FORMAT,
    OLE_MAGIC,
    Sheet,
    TableError,
    decode_text,
    is_workbook,
    iter_sheets,
    read_rows,
)
from storage.spreadsheets.unit_tables import KnownRecords

TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".tab")
WORKBOOK_SUFFIXES = (".xlsx", ".xlsm", ".xls", ".ods")
PEEK_BYTES = 1 << 12


@dataclass(frozen=True)
class Spreadsheet:
    """A workbook or text file, and how it is read."""

    path: Path
    mapping: SpreadsheetMapping = SpreadsheetMapping()
    mapping_name: str = "the mapping"
    """Messages call the mapping so."""

    def __str__(self) -> str:
        return str(self.path)


def is_spreadsheet(path: Path) -> bool:
    """Return whether a file is read as a spreadsheet: by its content, and for text by its name.

    A text that begins as JSON is a bundle.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    if path.exists() and not path.is_file():  # what is read from a pipe is gone
        return False
    try:
        start = _read_unpacked(path, PEEK_BYTES)
    except (OSError, EOFError, zlib.error):
        return suffix in (*TEXT_SUFFIXES, *WORKBOOK_SUFFIXES)
    if is_workbook(start) or suffix in WORKBOOK_SUFFIXES:
        return True
    is_json = start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{"
    return suffix in TEXT_SUFFIXES and not is_json


def _read_unpacked(path: Path, size: int) -> bytes:
    """Return the beginning of a file, gzipped or not."""
    with path.open("rb") as file:
        start = file.read(size)
    if start.startswith(GZIP_MAGIC):
        with gzip.open(path) as unpacked:
            return unpacked.read(size)
    return start


class TableReader:
    """Reads the spreadsheets of one import."""

    def __init__(self, groups: Iterable[Document] = ()) -> None:
        self.notes: list[str] = []
        self.known = KnownRecords(groups)
        self._uses: list[MappingUse] = []

    def read(
        self, spreadsheet: Spreadsheet, violations: Violations, *, are_partial: bool = False
    ) -> Iterator[BundleMember]:
        """Yield the members that are valid on their own; add what is wrong to the violations.

        Partial members have only the fields of filled cells.
        """
        name = str(spreadsheet.path)
        try:
            content = _read_content(spreadsheet.path)
            yield from _SheetReader(self, spreadsheet, violations, are_partial).read(content, name)
        except TableError as error:
            violations.add(error.place or name, str(error))
            violations.rejected.add_unknown()
            self.use_of(spreadsheet).is_complete = False

    def finish(self, violations: Violations) -> Iterator[BundleMember]:
        """Yield what the spreadsheets together have made: groups with new attributes.

        What no spreadsheet has of their mapping is added to the violations.
        """
        yield from self.known.groups.build_changed()
        self.notes += self.known.groups.notes()
        for use in self._uses:
            if use.is_complete:
                for error in use.list_errors():
                    violations.add(use.name, error)
                self.notes += [f"{use.name}: {note}" for note in use.list_notes()]

    def use_of(self, spreadsheet: Spreadsheet) -> MappingUse:
        """Return what was used of the mapping of a spreadsheet, which others may share."""
        for use in self._uses:
            if use.mapping is spreadsheet.mapping:
                return use
        self._uses.append(MappingUse(spreadsheet.mapping, spreadsheet.mapping_name))
        return self._uses[-1]


@dataclass
class _SheetReader:
    """Reads the sheets of one file."""

    reader: TableReader
    spreadsheet: Spreadsheet
    violations: Violations
    are_partial: bool
    _sheets_read: int = 0
    _has_tables: bool = False
    _hint: str = ""
    """It says what may be meant by a header of a table without units."""

    def __post_init__(self) -> None:
        self._use = self.reader.use_of(self.spreadsheet)

    def read(self, content: bytes, name: str) -> Iterator[BundleMember]:
        yield from self._read_sheets(content, name, is_first=True)
        if self._has_tables:  # assets and floors with a sheet come before the tables with them
            yield from self._read_sheets(content, name, is_first=False)
        elif not self._sheets_read:
            kinds = ", ".join(RECORD_TYPES_BY_NAME)
            raise TableError(
                f"there is nothing to import: no sheet is named {kinds}, and none has a row of"
                ' headers with "Unit" and another known column; a mapping can name both'
                + self._hint
            )

    def _read_sheets(self, content: bytes, name: str, is_first: bool) -> Iterator[BundleMember]:
        if is_workbook(content):
            if is_first and content.startswith(OLE_MAGIC):
                self.reader.notes.append(f"{name}: {OLD_FORMAT}")
            for sheet in iter_sheets(content, name):
                yield from self._read_sheet(sheet, is_first, is_only=False)
            return
        if self.spreadsheet.path.suffix.lower() in WORKBOOK_SUFFIXES:
            raise TableError("is not a workbook, whatever its name says; open and save it anew")
        text, note = decode_text(content)
        if note and is_first:
            self.reader.notes.append(f"{name}: {note}")
        sheet = Sheet(
            self.spreadsheet.path.name.split(".")[0], name, read_rows(text, name), is_text=True
        )
        yield from self._read_sheet(sheet, is_first, is_only=True)

    def _read_sheet(self, sheet: Sheet, is_first: bool, is_only: bool) -> Iterator[BundleMember]:
        given = self._use.sheet(sheet.name)
        kind = RECORD_TYPES_BY_NAME.get(given.read_as) or record_sheets.KINDS_BY_SHEET.get(
            fold(sheet.name)
        )
        if given.read_as in (IGNORE, TABLE):
            kind = None
        if given.read_as == IGNORE:
            self._sheets_read += 1
            return
        if sheet.is_hidden and not given.read_as:
            self._note(is_first, sheet, "the sheet is hidden, and was not read")
            return
        start = tables.read_start(sheet, given)
        rows = tables.Rows(
            sheet.place, self._use, self.violations, self.reader.notes, self.are_partial
        )
        records = self._find_records(kind, start, given, sheet) if kind else None
        table = None
        if kind is None or (
            records
            and kind is UNITS
            and record_sheets.list_absent_fields(
                kind, records, self.spreadsheet.mapping, self.are_partial
            )
        ):
            table = self._find_unit_table(start, given, sheet)
        self._has_tables |= table is not None
        if table is not None and not is_first:
            self._describe(sheet, table, TABLE)
            kinds = (ASSETS, FLOORS, UNITS)
            table = table._replace(rows=tables.read_body(table, rows, kinds, is_text=sheet.is_text))
            yield from unit_tables.UnitTable(table, rows, self.reader.known).read()
        elif table is None and kind and records and is_first:
            if not records.header_number:
                self._reject_headers(kind, start, sheet)
                return
            self._sheets_read += 1
            self._describe(sheet, records, kind.name)
            body = tables.read_body(records, rows, (kind,), is_text=sheet.is_text)
            for member in record_sheets.read_records(kind, records._replace(rows=body), rows):
                self.reader.known.add_explicit(member)
                yield member
        elif table is None and kind is None:
            if given.read_as == TABLE or given.header_row is not None:
                raise TableError("no row of headers has a column for the units", sheet.place)
            if start.first and not is_only:
                hint = hint_at(sheet.name, RECORD_TYPES_BY_NAME)
                message = "is not named after a resource and has no column with units"
                self._note(is_first, sheet, f"the sheet {message}, so it was not read{hint}")

    def _find_unit_table(
        self, start: tables.SheetStart, given: SheetMapping, sheet: Sheet
    ) -> tables.Table | None:
        recognize = tables.build_recognizer(
            self.spreadsheet.mapping, given, unit_tables.TARGETS_BY_HEADER, to_table_target
        )
        table = tables.find_table(start, recognize, given, sheet.place)
        if table is None:
            return None
        self._use.add_headers(sheet.name, table.headers)
        targets = table.targets
        if targets.keys() & {"unit", "unit_id"} and len(targets) > 1:
            return table  # it has units and something of them
        for unread, meant in tables.find_meant(table).items():
            self._hint = f'; "{unread}" was not read: did you mean "{meant}"?'
        return None

    def _find_records(
        self, kind: RecordType[Any], start: tables.SheetStart, given: SheetMapping, sheet: Sheet
    ) -> tables.Table:
        recognize = record_sheets.record_recognizer(kind, self.spreadsheet.mapping, given)
        table = tables.find_table(start, recognize, given, sheet.place)
        if table is None:
            return tables.Table([], [], [], 0, iter(()))
        self._use.add_headers(sheet.name, table.headers)
        if not table.columns:
            message = f"row {table.header_number} has no header of {kind.name}"
            raise TableError(message, sheet.place)
        return table

    def _reject_headers(
        self, kind: RecordType[Any], start: tables.SheetStart, sheet: Sheet
    ) -> None:
        """Add that no header is known, or note that there is none at all."""
        if all(map(tables.is_blank, start.first)):
            self.reader.notes.append(f"{sheet.place}: there are no headers, so nothing was read")
            return
        self._sheets_read += 1
        fields = ", ".join(field.name for field in record_sheets.column_fields(kind))
        message = f"no header is known; a sheet of {kind.name} has {fields}: rename or map them"
        self.violations.add(sheet.place, message)
        self.violations.rejected.add_unknown(kind)

    def _describe(self, sheet: Sheet, table: tables.Table, read_as: str) -> None:
        """Note what became of the columns: what is not said was lost without a word."""
        renamed = [
            f'"{column.header}" as {column.target}'
            for column in table.columns
            if read_as == TABLE or fold(column.header) != fold(column.target)
        ]
        if renamed or table.header_number > 1:
            columns = f": {', '.join(renamed)}" if renamed else ""
            self.reader.notes.append(
                f"{sheet.place}: read as {read_as}, headers in row {table.header_number}{columns}"
            )
        known: Iterable[str]
        if read_as == TABLE:
            known = tables.find_meant(table).values()
            advice = "map it to attribute:GROUP, reference:KEY or ignore"
        else:
            known = RECORD_TYPES_BY_NAME[read_as].struct.__struct_fields__
            advice = "rename or map it, or map it to ignore"
        for header in table.unread:
            hint = hint_at(header, known)
            self.reader.notes.append(
                f'{sheet.place}: column "{header}" was not read{hint}; {advice}'
            )

    def _note(self, is_first: bool, sheet: Sheet, text: str) -> None:
        if is_first:
            self.reader.notes.append(f"{sheet.place}: {text}")


def _read_content(path: Path) -> bytes:
    try:
        content = _read_unpacked(path, MAX_SPREADSHEET_BYTES + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TableError(f"the gzip data is damaged: {error}") from error
    except OSError as error:
        raise TableError(str(error.strerror)) from error
    if len(content) > MAX_SPREADSHEET_BYTES:
        raise TableError(f"is larger than {MAX_SPREADSHEET_BYTES:,} bytes")
    return content
