"""Sheets: rows of cells with their numbers, whatever file they come from."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from storage.bundles.reading.tables.values.cells import Cell

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
    """Of the sheet; of a text file, its name without suffixes."""
    place: str
    """For messages, such as `building.xlsx: sheet "Units"`."""
    rows: Iterable[Row]
    is_hidden: bool = False
    notes: list[str] = field(default_factory=list)
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
