"""Reads a workbook in a process of its own: standard input to lines of JSON on standard output.

A damaged or hostile workbook may let its reader use any memory and time, or end the process. This
is a program without imports from the project, so that it starts at once.

Lines are `{"sheet": ..., "hidden": ...}`, arrays of the number of a row, its columns that are part
of merged cells from above, and its cells, `{"error": ...}`, and `{"end": true}`. Dates are
`{"date": ...}`, errors of cells `{"error": ...}`.
"""

import contextlib
import io
import posixpath
import re
import resource
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from datetime import date, datetime, time, timedelta
from typing import Any

import msgspec
from lxml import etree
from python_calamine import (
    CalamineError,
    CalamineSheet,
    CalamineWorkbook,
    PasswordError,
    SheetTypeEnum,
    SheetVisibleEnum,
)

MAX_UNPACKED_BYTES = 512 << 20
MAX_PARTS = 5_000
MAX_MEMORY_BYTES = 3 << 30
MAX_CPU_SECONDS = 120
MAX_CELLS = 20_000_000

ZIP_MAGIC = b"PK\x03\x04"
ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
PASSWORD = "the workbook has a password; save it without one"  # noqa: S105
WORKBOOK, RELATIONS = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
OPEN_DOCUMENT = "content.xml"
TABLE_NAMES = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
CELL_TYPE = "{urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0}value-type"
RELATION_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
ERROR_CELL = re.compile(
    rb"<(?:\w+:)?c\b(?=[^>]*\bt=[\"']e[\"'])[^>]*\br=[\"']([A-Z]{1,3})(\d{1,7})[\"'][^>]*>"
    rb"(?:(?!</(?:\w+:)?c>).)*?<(?:\w+:)?v>([^<]{1,40})<",
    re.DOTALL,
)
UNSAVED_FORMULA = re.compile(
    rb"<(?:\w+:)?c\b(?![^>]*\bt=[\"'](?!n[\"']))[^>]*\br=[\"']([A-Z]{1,3})(\d{1,7})[\"'][^>]*>"
    rb"\s*<(?:\w+:)?f\b[^>]*(?:/>|>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
"""A cell with a formula and no value, as programs write it that do not calculate."""
UNSAVED = "no saved value"
Position = tuple[int, int]


class WorkbookError(Exception):
    """The workbook cannot be read."""


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_SECONDS, MAX_CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    output = io.BufferedWriter(io.FileIO(1, "w", closefd=False), 1 << 20)
    try:
        for item in read_workbook(sys.stdin.buffer.read()):
            output.write(msgspec.json.encode(item, enc_hook=str) + b"\n")
    except WorkbookError as error:
        output.write(msgspec.json.encode({"error": str(error)}) + b"\n")
    except PasswordError:
        output.write(msgspec.json.encode({"error": PASSWORD}) + b"\n")
    except BrokenPipeError:
        return
    except (CalamineError, zipfile.BadZipFile, zlib.error, etree.LxmlError, ValueError) as error:
        message = f"the workbook is damaged, or of a form that is not read: {error}"
        output.write(msgspec.json.encode({"error": message}) + b"\n")
    with contextlib.suppress(BrokenPipeError):
        output.flush()


def read_workbook(content: bytes) -> Iterator[Any]:
    """Yield what the parent reads."""
    errors: dict[str, dict[Position, str]] = {}
    if content.startswith(ZIP_MAGIC):
        errors = _check_archive(content)
    elif ENCRYPTED_PACKAGE in content:
        raise WorkbookError(PASSWORD)
    workbook = CalamineWorkbook.from_filelike(io.BytesIO(content))
    cells = 0
    for metadata in workbook.sheets_metadata:
        if metadata.typ != SheetTypeEnum.WorkSheet:
            continue
        sheet = workbook.get_sheet_by_name(metadata.name)
        cells += sheet.height * sheet.width
        if cells > MAX_CELLS:
            raise WorkbookError(
                f'up to sheet "{metadata.name}" there are over {MAX_CELLS:,} cells: delete empty'
                " rows and columns that have a stray cell at their end"
            )
        is_hidden = metadata.visible != SheetVisibleEnum.Visible
        yield {"sheet": metadata.name, "hidden": is_hidden}
        yield from _iter_rows(sheet, errors.get(metadata.name, {}))
    yield {"end": True}


def _iter_rows(sheet: CalamineSheet, errors: dict[Position, str]) -> Iterator[list[Any]]:
    """Yield the rows. The reader takes cells with errors for empty ones."""
    by_row: dict[int, list[tuple[int, str]]] = {}
    for (row, column), text in errors.items():
        by_row.setdefault(row, []).append((column, text))
    merged: dict[int, list[tuple[int, int]]] = {}
    for (row, column), (last_row, _) in sheet.merged_cell_ranges or ():
        merged.setdefault(row, []).append((column, last_row))
    filled: dict[int, tuple[int, Any]] = {}
    left = sheet.start[1] if sheet.start else 0
    for number, values in enumerate(sheet.iter_rows() if sheet.start else ()):
        cells = [None] * left + [_encode(value) for value in values]
        _add_errors(cells, by_row.pop(number, ()))
        copied = [*filled]
        for column, (last_row, value) in [*filled.items()]:
            cells[column] = value  # merged cells are one: what it holds counts for each row
            if last_row <= number:
                del filled[column]
        for column, last_row in merged.get(number, ()):
            if number < last_row and column < len(cells):
                filled[column] = last_row, cells[column]
        yield [number + 1, copied, *cells]
    for number in sorted(by_row):
        cells = []
        _add_errors(cells, by_row[number])
        yield [number + 1, [], *cells]


def _add_errors(cells: list[Any], errors: Iterable[tuple[int, str]]) -> None:
    for column, text in errors:
        cells += [None] * (column + 1 - len(cells))
        cells[column] = {"error": text}


def _encode(value: Any) -> Any:
    """Return a cell as JSON."""
    if value == "":
        return None
    if isinstance(value, datetime | date | time):
        return {"date": value.isoformat()}
    if isinstance(value, timedelta):
        return {"seconds": value.total_seconds()}
    return value


def _check_archive(content: bytes) -> dict[str, dict[Position, str]]:
    """Check what a workbook unpacks to; return the error cells by sheet and position."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = archive.infolist()
        if len(parts) > MAX_PARTS:
            raise WorkbookError(f"the workbook has {len(parts):,} parts; at most {MAX_PARTS:,}")
        remaining = MAX_UNPACKED_BYTES
        for part in parts:
            if part.flag_bits & 1:
                raise WorkbookError(PASSWORD)
            with archive.open(part) as stream:  # the sizes in its directory may be lies
                while block := stream.read(1 << 20):
                    remaining -= len(block)
                    if remaining < 0:
                        raise WorkbookError(
                            f"the workbook unpacks to more than {MAX_UNPACKED_BYTES:,} bytes"
                        )
        names = set(archive.namelist())
        if OPEN_DOCUMENT in names:
            return _find_open_document_errors(archive.read(OPEN_DOCUMENT))
        if WORKBOOK in names and RELATIONS in names:
            return {
                name: _find_errors(archive.read(path))
                for name, path in _list_sheet_parts(archive)
                if path in names
            }
    return {}


def _find_open_document_errors(xml: bytes) -> dict[str, dict[Position, str]]:
    """Return the cells of LibreOffice whose type is an error, by sheet and position."""
    if b'value-type="error"' not in xml:
        return {}
    found: dict[str, dict[Position, str]] = {}
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    for table in etree.fromstring(xml, parser).iter("{*}table"):
        errors: dict[Position, str] = {}
        row = 0
        for element in table.iter("{*}table-row"):
            column = 0
            for cell in element.iter("{*}table-cell", "{*}covered-table-cell"):
                if cell.get(CELL_TYPE) == "error":
                    errors[row, column] = "".join(map(str, cell.itertext())) or "of its formula"
                column += int(cell.get(f"{TABLE_NAMES}number-columns-repeated", 1))
            row += int(element.get(f"{TABLE_NAMES}number-rows-repeated", 1))
        found[table.get(f"{TABLE_NAMES}name", "")] = errors
    return found


def _list_sheet_parts(archive: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    relations = {
        element.get("Id"): element.get("Target", "")
        for element in etree.fromstring(archive.read(RELATIONS), parser)
        if isinstance(element.tag, str)
    }
    for element in etree.fromstring(archive.read(WORKBOOK), parser).iter("{*}sheet"):
        target = relations.get(element.get(RELATION_ID), "")
        yield element.get("name", ""), posixpath.normpath(posixpath.join("/xl", target)).lstrip("/")


def _find_errors(xml: bytes) -> dict[Position, str]:
    """Return the cells that show an error, and those that would show the value of a formula."""
    found = []
    if b"f>" in xml or b"<f" in xml:
        found += [(*place, UNSAVED.encode()) for place in UNSAVED_FORMULA.findall(xml)]
    if b't="e"' in xml or b"t='e'" in xml:
        found += ERROR_CELL.findall(xml)
    return {
        (int(row) - 1, _column_index(letters)): text.decode("ascii", "replace")
        for letters, row, text in found
    }


def _column_index(letters: bytes) -> int:
    index = 0
    for letter in letters:
        index = index * 26 + letter - ord("A") + 1
    return index - 1


if __name__ == "__main__":
    main()
