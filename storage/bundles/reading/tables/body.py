"""The rows below the headers: which cells are empty, and which have no header above them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from storage.bundles.reading.tables.files.sheets import Row, column_letters
from storage.bundles.reading.tables.headers import Table
from storage.bundles.reading.tables.members import Rows
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
        lost, ignored, first, first_ignored = 0, 0, "", 0
        for row in self.table.rows:
            cells = row.cells
            if empty_words:
                cells = [None if _word_of(cell) in empty_words else cell for cell in cells]
                row = row._replace(cells=cells)
            if self._is_ignored(cells):
                ignored += 1
                first_ignored = first_ignored or row.number
                continue
            beyond = [at for at in range(width, len(cells)) if cells[at] is not None]
            if beyond and self.is_text:
                self._reject(row, beyond[-1] + 1, width)
                continue
            stray = [at for at in untitled if at < len(cells) and cells[at] is not None] + beyond
            if stray:
                first = first or f"row {row.number}, column {column_letters(stray[0])}"
                lost += len(stray)
            yield row
        if ignored:
            rows = "1 row is" if ignored == 1 else f"{ignored:,} rows are"
            self.rows.notes.append(
                f"{self.rows.place}: {rows} ignored, as the mapping says: the first is row"
                f" {first_ignored}"
            )
        if lost:
            count = f"{lost:,} cells were" if lost > 1 else "a cell was"
            self.rows.notes.append(
                f"{self.rows.place}: {count} not read, because there is no header above: the first"
                f" is in {first}"
            )

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


def _word_of(cell: Cell) -> str | None:
    if isinstance(cell, ErrorCell):
        return cell.text.casefold()
    return cell.casefold() if isinstance(cell, str) else None
