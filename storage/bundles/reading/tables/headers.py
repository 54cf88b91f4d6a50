"""Finding the row with the headers, and what each column of it holds."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import NamedTuple

from storage.bundles.reading.tables.files.sheets import Row, Sheet, TableError, column_letters
from storage.bundles.reading.tables.mapping.structure import IGNORE, SheetMapping
from storage.bundles.reading.tables.names import fold
from storage.bundles.reading.tables.values.cells import Cell, CellError, to_text

HEADER_SEARCH_ROWS = 50
Recognizer = Callable[[str], str | None]
"""Returns what a column with this header holds, None if that is unknown."""


class Column(NamedTuple):
    """A column that is read."""

    at: int
    """Its number, from 0."""
    header: str
    target: str


class Table(NamedTuple):
    """The rows below a header, and the columns that are read."""

    headers: list[str]
    """Of all columns; empty where there is none."""
    columns: list[Column]
    unread: list[str]
    """Headers of columns that nobody said anything of."""
    header_number: int
    rows: Iterator[Row]

    @property
    def targets(self) -> dict[str, Column]:
        """The columns by what they hold."""
        return {column.target: column for column in self.columns}


class SheetStart(NamedTuple):
    """The first rows of a sheet, among them the header, and the others."""

    first: list[Row]
    rest: Iterator[Row]


def read_start(sheet: Sheet, given: SheetMapping) -> SheetStart:
    """Read the rows in which the header may be: one of the first, or the row that is given.

    Raises TableError if there is no such row.
    """
    rows = iter(sheet.rows)
    if given.header_row is None:
        return SheetStart([*islice(rows, HEADER_SEARCH_ROWS)], rows)
    number = 0
    for row in rows:
        number = row.number
        if number >= given.header_row:
            break
    if number == given.header_row and any(cell is not None for cell in row.cells):
        return SheetStart([row], rows)
    size = f"the last row is {number}" if number < given.header_row else "that row is empty"
    raise TableError(f"the mapping says header_row: {given.header_row}, but {size}", sheet.place)


def find_header(start: SheetStart, recognize: Recognizer, sheet: SheetMapping) -> Row | None:
    """Return the row with most headers that are recognised, the first of several."""
    if sheet.header_row is not None:
        return start.first[0]
    counts = [
        (len({recognize(text) for text in read_texts(row.cells) if text and recognize(text)}), row)
        for row in start.first
    ]
    count, row = max(counts, key=lambda pair: pair[0], default=(0, None))
    return row if count else None


def read_header(start: SheetStart, header: Row, recognize: Recognizer, place: str) -> Table:
    """Return the table below a header. Raises TableError if two columns hold the same."""
    columns: list[Column] = []
    unread: list[str] = []
    headers = read_texts(header.cells)
    for index, text in enumerate(headers):
        target = recognize(text) if text else IGNORE
        if target is None:
            unread.append(text)
        elif target != IGNORE:
            columns.append(Column(index, text, target))
    _check_unique(columns, f"{place}, row {header.number}")
    rows = chain((row for row in start.first if row.number > header.number), start.rest)
    return Table(headers, columns, unread, header.number, rows)


def read_texts(cells: Sequence[Cell]) -> list[str]:
    """Return cells as headers; errors of the program are none."""
    try:
        return [to_text(cell) for cell in cells]
    except CellError:
        return [to_text(cell) if isinstance(cell, str) else "" for cell in cells]


def _check_unique(columns: Iterable[Column], place: str) -> None:
    seen: dict[str, Column] = {}
    for column in columns:
        first = seen.setdefault(column.target, column)
        if first is not column:
            raise TableError(
                f'the columns {column_letters(first.at)} "{first.header}" and'
                f' {column_letters(column.at)} "{column.header}" both hold {column.target};'
                " rename one, or map it to ignore",
                place,
            )


def build_recognizer(
    columns: Mapping[str, str],
    known: Mapping[str, str],
    to_target: Callable[[str], str | None],
) -> Recognizer:
    """Return a function that knows the columns of a mapping, then those with known names.

    `known` has folded headers. A header may also be what its column holds: `attribute:Finish`.
    """
    mapped = {_fold(header): target for header, target in columns.items()}

    def recognize(header: str) -> str | None:
        given = mapped.get(_fold(header))
        if given == IGNORE:
            return IGNORE
        target = to_target(given) if given is not None else None
        return target or known.get(_fold(header)) or to_target(header)

    return recognize


def _fold(header: str) -> str:
    return fold(header) or header
