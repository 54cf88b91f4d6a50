"""The rows below the headers: which cells are empty, and which have no header above them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from storage.bundles.reading.tables.files.sheets import Row, column_letters
from storage.bundles.reading.tables.headers import Table, read_texts
from storage.bundles.reading.tables.members import Rows, cell_of
from storage.bundles.reading.tables.values.cells import Cell, ErrorCell
from storage.records.kinds import RecordType


@dataclass
class Body:
    """The rows below the headers of one table."""

    table: Table
    rows: Rows
    kinds: Sequence[RecordType[Any]]
    """Of the records that the rows hold."""
    is_text: bool
    """Whether a row with more cells than headers has a separator too many."""

    def read(self) -> Iterator[Row]:
        """Yield the rows as the mapping has them; say what is lost of the others."""
        empty_words = {word.casefold() for word in self.rows.mapping.empty}
        width = len(self.table.headers)
        untitled = [at for at, header in enumerate(self.table.headers) if not header]
        spanned = {at for at, header in enumerate(self.table.headers) if header}
        lost, ignored, repeated = _Counted(), _Counted(), _Counted()
        for row in self.table.rows:
            spanned.intersection_update(row.copied)  # merged cells make it part of the headers
            if spanned or self._repeats_headers(row):
                repeated.add(f"row {row.number}")
                continue
            if empty_words:
                filled = [None if _word_of(cell) in empty_words else cell for cell in row.cells]
                row = row._replace(cells=filled)
            cells = row.own_cells()
            if self._is_ignored(cells):
                ignored.add(f"row {row.number}")
                continue
            beyond = [at for at in range(width, len(cells)) if cells[at] is not None]
            if beyond and self.is_text:
                self._reject(row, beyond[-1] + 1, width)
                continue
            stray = [at for at in untitled if at < len(cells) and cells[at] is not None] + beyond
            if stray:
                lost.add(f"in row {row.number}, column {column_letters(stray[0])}", len(stray))
            yield row
        rows = ("1 row is", "rows are")
        self._note(repeated, rows, "skipped, because headers are repeated or have several rows")
        self._note(ignored, rows, "ignored, as the mapping says")
        self._note(lost, ("a cell was", "cells were"), "not read, because there is no header above")

    def _note(self, counted: "_Counted", nouns: tuple[str, str], what: str) -> None:
        if counted.count:
            noun = nouns[0] if counted.count == 1 else f"{counted.count:,} {nouns[1]}"
            self.rows.notes.append(
                f"{self.rows.place}: {noun} {what}: the first is {counted.first}"
            )

    def _repeats_headers(self, row: Row) -> bool:
        """Return whether a row is that of the headers again, as on each page of a report."""
        first, headers = self.table.columns[0], self.table.headers
        if cell_of(row, first) != first.header:
            return False
        return [*filter(None, read_texts(row.cells))] == [*filter(None, headers)]

    def _is_ignored(self, cells: Sequence[Cell]) -> bool:
        """Return whether a row is one that the mapping ignores, such as one of totals."""
        beginnings = tuple(map(str.casefold, self.rows.mapping.ignore_rows))
        first = next((cell for cell in cells if cell is not None), None)
        return isinstance(first, str) and first.casefold().startswith(beginnings)

    def _reject(self, row: Row, cells: int, headers: int) -> None:
        self.rows.reject(
            row,
            None,
            f"there are {cells} cells below {headers} headers; a cell that has the separator in it"
            ' must be in quotes: "1,500"',
        )
        for kind in self.kinds:
            self.rows.violations.rejected.add_unknown(kind)


class _Counted:
    """Rows or cells of which a note says how many there are, and where the first is."""

    def __init__(self) -> None:
        self.count, self.first = 0, ""

    def add(self, place: str, count: int = 1) -> None:
        self.first = self.first or place
        self.count += count


def _word_of(cell: Cell) -> str | None:
    if isinstance(cell, ErrorCell):
        return cell.text.casefold()
    return cell.casefold() if isinstance(cell, str) else None
