"""Making members of rows."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from storage.bundles.reading.members import MemberError
from storage.bundles.reading.parser import BundleMember, build_member
from storage.bundles.reading.partial_records import PARTIAL_STRUCTS
from storage.bundles.reading.tables.files.sheets import Row
from storage.bundles.reading.tables.headers import Column
from storage.bundles.reading.tables.mapping.structure import Mapping as SheetsMapping
from storage.bundles.reading.tables.mapping.use import MappingUse
from storage.bundles.reading.tables.values.cells import Cell, CellError, to_text
from storage.bundles.reading.tables.values.lists import split_items
from storage.bundles.reading.violations import Violations
from storage.records.kinds import RecordType

_TOTAL = re.compile(r"(grand |sub-?)?total|sum\b|count\b|average\b", re.IGNORECASE)
_WHOLE_NUMBER = re.compile(r"(\d+)\.0+")


class CellRejected(Exception):
    """A part of a row is left out; what is wrong with it has been added to the violations."""


@dataclass
class Rows:
    """What the rows of one sheet need."""

    place: str
    use: MappingUse
    violations: Violations
    notes: list[str]
    are_partial: bool = False
    """Whether a record has only the fields of filled cells, as in a merge."""

    @property
    def mapping(self) -> SheetsMapping:
        """The mapping of the file."""
        return self.use.mapping

    def place_of(self, row: Row, column: Column | None = None) -> str:
        """Return where a row is, or a cell of it: `building.xlsx: sheet "Units", row 17`."""
        separator = "," if ': sheet "' in self.place else ":"
        name = f', column "{column.header}"' if column else ""
        return f"{self.place}{separator} row {row.number}{name}"

    def reject(self, row: Row, column: Column | None, message: str) -> None:
        """Add an error."""
        self.violations.add(self.place_of(row, column), message)

    def hint_at_totals(self, row: Row) -> str:
        """Return how rows of totals are skipped, if this seems to be one, else nothing."""
        first = next((cell for cell in row.own_cells() if cell is not None), None)
        total = _TOTAL.match(first) if isinstance(first, str) else None
        remedy = "; if this is a row of totals, say so in the mapping: ignore_rows"
        return f'{remedy}: ["{total[0]}"]' if total else ""

    def text_of(self, row: Row, column: Column, *, exactly: bool = False) -> str:
        """Return a cell as text. Raises CellRejected."""
        try:
            text = to_text(cell_of(row, column))
        except CellError as error:
            self.reject(row, column, str(error))
            raise CellRejected from error
        whole = _WHOLE_NUMBER.fullmatch(text)  # programs write the number 101 as "101.0", too
        return whole[1] if whole and not exactly else text

    def split(self, row: Row, column: Column | None, cell: Cell) -> list[str]:
        """Return the items of a list in a cell. Raises CellRejected."""
        try:
            return split_items(cell)
        except CellError as error:
            self.reject(row, column, str(error))
            raise CellRejected from error

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
