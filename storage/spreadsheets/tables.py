"""The table in a sheet: its headers, what the columns hold, and members made of its rows."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

from storage.bundles.json_bundles import PARTIAL_STRUCTS, BundleMember, MemberError, build_member
from storage.bundles.names import fold, header_of, suggest
from storage.bundles.violations import Violations
from storage.records.kinds import RecordType
from storage.spreadsheets.cells import Cell, CellError, ErrorCell, to_text
from storage.spreadsheets.mapping import (
    IGNORE,
    KNOWN_HEADERS,
    MappingUse,
    SheetMapping,
    SpreadsheetMapping,
)
from storage.spreadsheets.sheets import Row, Sheet, TableError, column_letters

T = TypeVar("T")

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
    """All columns have one, which is empty where there is none."""
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


def find_table(
    start: SheetStart, recognize: Recognizer, sheet: SheetMapping, place: str
) -> Table | None:
    """Return the table below the row with most headers that are recognised, the first of several.

    Raises TableError if two columns hold the same.
    """
    counts = [
        (len({recognize(text) for text in read_texts(row.cells) if text and recognize(text)}), row)
        for row in start.first
    ]
    count, header = max(counts, key=lambda pair: pair[0], default=(0, None))
    if header is None or not (count or sheet.header_row is not None):
        return None
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
    mapping: SpreadsheetMapping,
    sheet: SheetMapping,
    known: Mapping[str, str],
    to_target: Callable[[str], str | None],
) -> Recognizer:
    """Return a function that knows the columns of a mapping, then those with known names.

    `known` has folded headers. A header may also be what its column holds: `attribute:Finish`.
    """
    columns = {**mapping.columns, **sheet.columns}
    mapped = {_fold_header(header): target for header, target in columns.items()}

    def recognize(header: str) -> str | None:
        given = mapped.get(_fold_header(header))
        if given == IGNORE:
            return IGNORE
        target = to_target(given) if given is not None else None
        return target or known.get(_fold_header(header)) or to_target(header)

    return recognize


def _fold_header(header: str) -> str:
    return fold(header) or header


NEEDED_COLUMNS = {
    "asset": ("asset", "asset_id"),
    "floor": ("floor", "floor_id"),
    "unit": ("unit",),
}
"""A table of apartments needs these to make units, each in one of these columns."""
MIN_RESEMBLANCE = 0.82
"""A misspelt header is at least so similar: "Flooring" is not meant to be "Floor"."""


def describe_absent(header: str, remedy: str, meant: str | None) -> str:
    """Return the message for a table without a column that it needs.

    >>> describe_absent("Name", ", which is required", "Nmae")
    'there is no column "Name", which is required; "Nmae" was not read: did you mean that?'
    """
    hint = f'; "{meant}" was not read: did you mean that?' if meant else ""
    return f'there is no column "{header}"{remedy}{hint}'


def find_meant(table: Table) -> dict[str, str]:
    """Return the known header that each unread one resembles, of what no column holds."""
    known = [
        header
        for target, headers in KNOWN_HEADERS.items()
        if target not in table.targets
        for header in headers
    ]
    found = {each: suggest(fold(each), known, MIN_RESEMBLANCE) for each in table.unread}
    return {header: meant for header, meant in found.items() if meant}


def find_absent(table: Table, *, has_asset: bool) -> Iterator[tuple[str, str]]:
    """Yield what a table of apartments needs and no column holds, and the message for it.

    A table of facts about units needs no floors, so they are absent only if a header is misspelt.
    The mapping may have the asset.
    """
    by_name = {meant: header for header, meant in find_meant(table).items()}
    for needed, targets in NEEDED_COLUMNS.items():
        if table.targets.keys() & {*targets}:
            continue
        names = [name for target in targets for name in KNOWN_HEADERS[target]]
        header = next((by_name[name] for name in names if name in by_name), None)
        if needed == "asset" and not has_asset:
            remedy = "; add one, or name it in the mapping: asset: ID"
            yield needed, describe_absent("Property", remedy, header)
        elif needed != "asset" and header:
            message = describe_absent(header_of(needed), ", which is required", header)
            yield needed, f"{message} If not, map it to ignore"


_TOTAL = re.compile(r"(grand |sub-?)?total|sum\b|count\b|average\b", re.IGNORECASE)
_WHOLE_NUMBER = re.compile(r"(\d+)\.0+")


class CellRejected(Exception):
    """A part of a row is left out; what is wrong with it has been added to the violations."""


@dataclass
class Rows:
    """The state that the rows of one sheet share, and the members that they make."""

    place: str
    use: MappingUse
    violations: Violations
    notes: list[str]
    are_partial: bool = False
    """A record has only the fields of filled cells, as in a merge."""

    @property
    def mapping(self) -> SpreadsheetMapping:
        """The mapping of the file."""
        return self.use.mapping

    def place_of(self, row: Row, column: Column | None = None) -> str:
        """Return where a row is, or a cell of it: `building.xlsx: sheet "Units", row 17`."""
        separator = "," if ': sheet "' in self.place else ":"
        name = f', column "{column.header}"' if column else ""
        return f"{self.place}{separator} row {row.number}{name}"

    def reject(self, row: Row, column: Column | None, message: str) -> CellRejected:
        """Add an error, and return what to raise if the part of the row is left out."""
        self.violations.add(self.place_of(row, column), message)
        return CellRejected()

    def hint_at_totals(self, row: Row) -> str:
        """Return how rows of totals are skipped, if this seems to be one, else nothing."""
        first = next((cell for cell in row.own_cells() if cell is not None), None)
        total = _TOTAL.match(first) if isinstance(first, str) else None
        remedy = "; if this is a row of totals, say so in the mapping: ignore_rows"
        return f'{remedy}: ["{total[0]}"]' if total else ""

    def text_of(self, row: Row, column: Column, *, exactly: bool = False) -> str:
        """Return a cell as text. Raises CellRejected."""
        text = self.convert(row, column, cell_of(row, column), to_text)
        whole = _WHOLE_NUMBER.fullmatch(text)  # programs write the number 101 as "101.0", too
        return whole[1] if whole and not exactly else text

    def convert(self, row: Row, column: Column | None, cell: Cell, read: Callable[[Cell], T]) -> T:
        """Return what `read` makes of a cell. Raises CellRejected."""
        try:
            return read(cell)
        except CellError as error:
            raise self.reject(row, column, str(error)) from error

    def reject_record(self, kind: RecordType[Any], value: Mapping[str, Any], row: Row) -> None:
        """Add what is wrong with the fields that a record has, whatever it lacks."""
        error = MemberError(kind, PARTIAL_STRUCTS[kind.name], value)
        place, paths = self.place_of(row), []
        for fault in error.find_faults(self.violations.suggestions.find):
            if fault.path:
                self.violations.add(place + fault.path, fault.message)
                paths.append(fault.path)
        self.violations.reject(kind, value, place)
        self.violations.rejected.keep(kind, value, place, paths)

    def build(
        self,
        kind: RecordType[Any],
        value: Mapping[str, Any],
        row: Row,
        column: Column | None = None,
        kept_fields: Sequence[str] = (),
    ) -> Iterator[BundleMember]:
        """Yield the member if it is valid on its own; add what is wrong with it."""
        length = sum(len(each) if isinstance(each, str) else 20 for each in value.values())
        place = self.place_of(row, column)
        for member in build_member(
            place, kind, {**value}, [], length, self.violations, self.are_partial
        ):
            yield member._replace(kept_fields=tuple(kept_fields))


def cell_of(row: Row, column: Column | None) -> Cell:
    """Return the cell of a row in a column; None if it has none."""
    if column is None or column.at >= len(row.cells):
        return None
    return row.cells[column.at]


def is_blank(row: Row) -> bool:
    """Return whether a row has no value of its own."""
    return all(cell is None for cell in row.own_cells())


def read_body(
    table: Table, rows: Rows, kinds: Sequence[RecordType[Any]], *, is_text: bool
) -> Iterator[Row]:
    """Yield the rows below the headers as the mapping has them; say what is lost of the others.

    They hold records of these kinds. A row of a text with more cells than headers has a separator
    too many.
    """
    empty_words = {word.casefold() for word in rows.mapping.empty}
    width = len(table.headers)
    untitled = [at for at, header in enumerate(table.headers) if not header]
    spanned = {at for at, header in enumerate(table.headers) if header}
    beginnings = tuple(map(str.casefold, rows.mapping.ignore_rows))
    counts: Counter[str] = Counter()
    firsts: dict[str, str] = {}

    def count(what: str, row: Row, column: str = "", number: int = 1) -> None:
        counts[what] += number
        firsts.setdefault(what, f"row {row.number}{column}")

    for row in table.rows:
        spanned.intersection_update(row.copied)  # merged cells make it part of the headers
        if spanned or _repeats_headers(table, row):
            count("rows skipped, because headers are repeated or have several rows", row)
            continue
        if empty_words:
            filled = [None if _word_of(cell) in empty_words else cell for cell in row.cells]
            row = row._replace(cells=filled)
        cells = row.own_cells()
        first = next((cell for cell in cells if cell is not None), None)
        if isinstance(first, str) and first.casefold().startswith(beginnings):
            count("rows ignored, as the mapping says", row)
            continue
        beyond = [at for at in range(width, len(cells)) if cells[at] is not None]
        if beyond and is_text:
            message = (
                f"there are {beyond[-1] + 1} cells below {width} headers; a cell that has the"
                ' separator in it must be in quotes: "1,500"'
            )
            rows.reject(row, None, message)
            for kind in kinds:
                rows.violations.rejected.add_unknown(kind)
            continue
        stray = [at for at in untitled if at < len(cells) and cells[at] is not None] + beyond
        if stray:
            lost = "cells not read, because there is no header above"
            count(lost, row, f", column {column_letters(stray[0])}", len(stray))
        yield row
    for what, number in counts.items():
        rows.notes.append(f"{rows.place}: {what}: {number:,}, first at {firsts[what]}")


def _repeats_headers(table: Table, row: Row) -> bool:
    """Return whether a row is that of the headers again, as on each page of a report."""
    first = table.columns[0]
    if cell_of(row, first) != first.header:
        return False
    return [*filter(None, read_texts(row.cells))] == [*filter(None, table.headers)]


def _word_of(cell: Cell) -> str | None:
    if isinstance(cell, ErrorCell):
        return cell.text.casefold()
    return cell.casefold() if isinstance(cell, str) else None
