"""Sheets: rows of cells with their numbers, from workbooks and text files."""

import codecs
import csv
import io
import subprocess
import sys
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from storage.spreadsheets.cells import MAX_CELL_CHARACTERS, Cell, CellError, ErrorCell, clean

MAX_SPREADSHEET_BYTES = 64 << 20
MAX_ROWS = 1_048_576
MAX_COLUMNS = 500


class TableError(Exception):
    """A spreadsheet cannot be read at all. `place` is that of the file unless it is given."""

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message)
        self.place = place


class Row(NamedTuple):
    """A row and its number, as a spreadsheet program shows it."""

    number: int
    cells: Sequence[Cell]
    copied: Collection[int] = ()
    """The columns, from 0, of which the cell is part of a merged one that begins above."""

    def own_cells(self) -> Sequence[Cell]:
        """Return the cells without what merged cells above hold."""
        if not self.copied:
            return self.cells
        return [None if at in self.copied else cell for at, cell in enumerate(self.cells)]


@dataclass
class Sheet:
    """A sheet of a workbook, or a text file."""

    name: str
    """A text file has its own name, without suffixes."""
    place: str
    """Messages call the sheet so: `building.xlsx: sheet "Units"`."""
    rows: Iterable[Row]
    is_hidden: bool = False
    is_text: bool = False


def column_letters(index: int) -> str:
    """Return the name of a column in spreadsheet programs.

    >>> column_letters(0), column_letters(27)
    ('A', 'AB')
    """
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


# Text files are CSV, with any separator and encoding that spreadsheet programs write.

TEXT_SEPARATORS = ",;\t|"
SAMPLE_ROWS = 20
BYTE_ORDER_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def decode_text(content: bytes) -> tuple[str, str | None]:
    """Return the text of a file, and a note if its encoding was guessed. Raises TableError.

    >>> decode_text(b"Caf\\xe9")
    ('Café', 'the text is not UTF-8, so it was read as Windows-1252')
    """
    try:
        if content.startswith(BYTE_ORDER_MARKS):
            return content.decode("utf-16"), None
        if content[1:200:2].count(0) > len(content[1:200:2]) / 2:  # "Unicode text" without its mark
            return content.decode("utf-16-le"), None
    except UnicodeDecodeError as error:
        raise TableError("the text begins as UTF-16, but is damaged; save it as UTF-8") from error
    try:
        return content.decode("utf-8-sig"), None
    except UnicodeDecodeError:
        pass
    try:
        text = content.decode("cp1252")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise TableError(
            f"line {line} is neither UTF-8 nor Windows-1252 (byte 0x{content[error.start]:02x});"
            " save the file as UTF-8"
        ) from error
    return text, "the text is not UTF-8, so it was read as Windows-1252"


def read_rows(text: str, place: str) -> Iterator[Row]:
    """Yield the rows of a text. Raises TableError, with the place of the row.

    The separator is the one that gives the first rows most columns. A first line such as `sep=;`,
    which Excel writes, names it.
    """
    separator = ""
    first, _, rest = text.partition("\n")
    if first.strip().lower().startswith("sep=") and len(first.strip()) <= 5:
        separator, text = first.strip()[4:] or "\t", rest
    separator = separator or detect_separator(text)
    offset = 1 if separator and text is rest else 0
    number = 0
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for number, cells in enumerate(lines, 1 + offset):
            if number > MAX_ROWS:
                raise TableError(f"there are more than {MAX_ROWS:,} rows")
            if len(cells) > MAX_COLUMNS:
                raise TableError(f"there are over {MAX_COLUMNS} columns", f"{place}: row {number}")
            yield Row(number, [clean(cell) for cell in cells])
    except csv.Error as error:
        raise TableError(
            f"it cannot be read: {error}; is a quote missing?", f"{place}: row {number + 1}"
        ) from error
    except CellError as error:
        raise TableError(f"{error}; is a quote missing?", f"{place}: row {number}") from error


def detect_separator(text: str) -> str:
    """Return the separator of a text.

    >>> detect_separator("Unit;Rent\\n101;1,240\\n"), detect_separator("Unit\\n101")
    (';', ',')
    """
    return max(TEXT_SEPARATORS, key=lambda separator: _count_columns(text, separator))


def _count_columns(text: str, separator: str) -> tuple[int, int]:
    """Return the columns that most of the first rows have, if several, and all cells."""
    sample = io.StringIO(text[: 4 * MAX_CELL_CHARACTERS], newline="")
    try:
        widths = [
            len(cells) for cells in islice(csv.reader(sample, delimiter=separator), SAMPLE_ROWS)
        ]
    except csv.Error:
        return 0, 0
    common = max(widths, key=lambda width: (widths.count(width), width), default=0)
    return common, sum(widths)


# Workbooks (.xlsx, .xls, .ods) are read by a process of their own (`workbook_process`).

PROGRAM = Path(__file__).with_name("workbook_process.py")
ZIP_MAGIC, OLE_MAGIC = b"PK\x03\x04", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
ENDED_EARLY = (
    "the workbook needs too much memory or time to read: delete empty rows and columns that have a"
    " stray cell at their end, or save the sheet as CSV"
)
"""A process over its limits is killed, or ends without a word."""
OLD_FORMAT = (
    "errors of cells such as #REF! cannot be told from empty cells in this format; save the"
    " workbook as .xlsx to have them reported"
)


def is_workbook(start: bytes) -> bool:
    """Return whether a file begins as a workbook does."""
    return start.startswith((ZIP_MAGIC, OLE_MAGIC))


def iter_sheets(content: bytes, name: str) -> Iterator[Sheet]:
    """Yield the sheets of a workbook; read the rows of one before the next. Raises TableError."""
    process = subprocess.Popen(
        [sys.executable, "-I", str(PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin and process.stdout
    threading.Thread(target=_feed, args=(process.stdin, content), daemon=True).start()
    try:
        yield from _WorkbookLines(process.stdout, name).iter_sheets()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _feed(pipe: BinaryIO | Any, content: bytes) -> None:
    with suppress(BrokenPipeError), pipe:
        pipe.write(content)


@dataclass
class _WorkbookLines:
    """The lines that the process writes."""

    lines: Any
    name: str
    _next: Any = None

    def iter_sheets(self) -> Iterator[Sheet]:
        self._advance()
        while not self._next.get("end"):
            title = self._next["sheet"]
            place = f'{self.name}: sheet "{title}"'
            rows = self._iter_rows(place)
            is_hidden = self._next["hidden"]
            self._advance()
            yield Sheet(title, place, rows, is_hidden)
            for _ in rows:  # what was not read
                pass

    def _advance(self) -> None:
        line = self.lines.readline()
        if not line.endswith(b"\n"):
            raise TableError(ENDED_EARLY)
        self._next = msgspec.json.decode(line)
        if isinstance(self._next, dict) and "error" in self._next:
            raise TableError(self._next["error"])

    def _iter_rows(self, place: str) -> Iterator[Row]:
        while isinstance(self._next, list):
            number, copied, *cells = self._next
            if number > MAX_ROWS:
                raise TableError(f"there are more than {MAX_ROWS:,} rows", place)
            if len(cells) > MAX_COLUMNS:
                raise TableError(f"row {number} has over {MAX_COLUMNS} columns", place)
            decoded = [_decode(cell, place, number, at) for at, cell in enumerate(cells)]
            yield Row(number, decoded, frozenset(copied))
            self._advance()


def _decode(cell: Any, place: str, row: int, column: int) -> Cell:
    if isinstance(cell, dict):
        return _decode_special(cell)
    try:
        return clean(cell)
    except CellError as error:
        raise TableError(
            str(error), f"{place}, row {row}, column {column_letters(column)}"
        ) from error


def _decode_special(cell: dict[str, Any]) -> Cell:
    if "error" in cell:
        return ErrorCell(cell["error"])
    if "seconds" in cell:
        return timedelta(seconds=cell["seconds"])
    text = cell["date"]
    if "T" in text:
        return datetime.fromisoformat(text)
    return time.fromisoformat(text) if ":" in text else date.fromisoformat(text)
