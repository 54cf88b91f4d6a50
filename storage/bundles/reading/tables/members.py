"""Making members of rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from storage.bundles.reading.parser import BundleMember, build_member
from storage.bundles.reading.tables.files.sheets import Row
from storage.bundles.reading.tables.headers import Column
from storage.bundles.reading.tables.mapping import Mapping as SheetsMapping
from storage.bundles.reading.tables.values.cells import Cell
from storage.bundles.reading.violations import Violations
from storage.records.kinds import RecordType


@dataclass
class Rows:
    """What the rows of one sheet need."""

    place: str
    mapping: SheetsMapping
    violations: Violations
    notes: list[str] = field(default_factory=list)

    def place_of(self, row: Row, column: Column | None = None) -> str:
        """Return where a row is, or a cell of it: `building.xlsx: sheet "Units", row 17`."""
        separator = "," if ': sheet "' in self.place else ":"
        name = f', column "{column.header}"' if column else ""
        return f"{self.place}{separator} row {row.number}{name}"

    def reject(self, row: Row, column: Column | None, message: str) -> None:
        """Add an error."""
        self.violations.add(self.place_of(row, column), message)

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
        for member in build_member(place, kind, {**value}, [], length, self.violations):
            yield member._replace(kept_fields=tuple(kept_fields))


def cell_of(row: Row, column: Column | None) -> Cell:
    """Return the cell of a row in a column; None if it has none."""
    if column is None or column.at >= len(row.cells):
        return None
    return row.cells[column.at]


def is_blank(row: Row) -> bool:
    """Return whether a row has no value."""
    return all(cell is None for cell in row.cells)
