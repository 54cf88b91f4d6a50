"""Tables in text files: CSV, with any separator and encoding that spreadsheet programs write."""

import codecs
import csv
import io
from collections.abc import Iterator
from itertools import islice

from storage.bundles.reading.tables.files.sheets import MAX_COLUMNS, MAX_ROWS, Row, TableError
from storage.bundles.reading.tables.values.cells import MAX_CELL_CHARACTERS, CellError, clean

SEPARATORS = ",;\t|"
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
    return max(SEPARATORS, key=lambda separator: _count_columns(text, separator))


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
