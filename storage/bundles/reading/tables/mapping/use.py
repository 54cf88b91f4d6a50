"""What of a mapping the spreadsheets of an import have used: the rest may be misspelt."""

from collections.abc import Iterable, Iterator
from itertools import islice

from storage.bundles.reading.tables.mapping.structure import (
    IGNORE,
    FloorMapping,
    Mapping,
    SheetMapping,
)
from storage.bundles.reading.tables.names import fold, hint_at

MAX_MAPPING_NOTES = 100
MAX_MAPPING_HINTS = 100
"""Names for which one that was meant is looked for."""
MAX_COMPARED_NAMES = 1000
"""With each of them."""


class MappingUse:
    """A mapping, and the names in it that were found.

    >>> use = MappingUse(Mapping(sheets={"Rent rol": SheetMapping("apartments")}))
    >>> use.sheet("Rent roll")
    SheetMapping(read_as='', header_row=None, columns={})
    >>> [*use.list_errors()]
    ['sheets: there is no sheet "Rent rol"; did you mean "Rent roll"?']
    """

    def __init__(self, mapping: Mapping, name: str = "the mapping") -> None:
        self.mapping = mapping
        self.name = name
        self.is_complete = True
        """Whether all files could be read: else what was not found may be in the others."""
        self._headers: dict[str, set[str]] = {}
        """By sheet, all sheets and their headers."""
        self._floors: dict[str, FloorMapping] = {}
        self._fields: set[str] = set()
        self._hints = 0

    def sheet(self, name: str) -> SheetMapping:
        """Return how a sheet of this name is read."""
        self._headers.setdefault(name, set())
        return self.mapping.sheet(name)

    def floor(self, name: str) -> FloorMapping:
        """Return what is said of a floor of this name."""
        if name not in self._floors:
            self._floors[name] = self.mapping.floor(name)
        return self._floors[name]

    def add_headers(self, sheet: str, headers: Iterable[str]) -> None:
        """Add the headers of a sheet."""
        self._headers.setdefault(sheet, set()).update(filter(None, headers))

    def add_fields(self, names: Iterable[str]) -> None:
        """Add fields of records that the sheets hold, which may have defaults."""
        self._fields.update(names)

    def list_errors(self) -> Iterator[str]:
        """Yield which sheets and columns are in none of the files, but for ignored ones."""
        for place, name, names, target in self._list_unused():
            if target != IGNORE:
                yield f'{place}: there is no {place[:-1]} "{name}"{self._hint_at(name, names)}'

    def list_notes(self) -> Iterator[str]:
        """Yield what else was not found, up to a number: it may come and go with the rows."""
        notes = self._iter_notes()
        yield from islice(notes, MAX_MAPPING_NOTES)
        if more := sum(1 for _ in notes):
            yield f"... and {more:,} more names that are in none of the files"

    def _iter_notes(self) -> Iterator[str]:
        for place, name, names, target in self._list_unused():
            if target == IGNORE:
                hint = self._hint_at(name, names)
                yield f'{place}: there is no {place[:-1]} "{name}" to ignore{hint}'
        for name in _find_absent(self.mapping.floors, self._floors):
            yield f'floors: no row has the floor "{name}"{self._hint_at(name, self._floors)}'
        for name in self.mapping.defaults:
            if name not in self._fields:
                yield f'defaults: no sheet has records with the field "{name}"'

    def _hint_at(self, name: str, names: Iterable[str]) -> str:
        self._hints += 1
        compared = islice(names, MAX_COMPARED_NAMES)
        return hint_at(name, compared) if self._hints <= MAX_MAPPING_HINTS else ""

    def _list_unused(self) -> Iterator[tuple[str, str, Iterable[str], str]]:
        """Yield a part of the mapping, a name in it, the names that there are, and what it gives
        the name."""
        sheets = self.mapping.sheets
        for name in _find_absent(sheets, self._headers):
            yield "sheets", name, self._headers, sheets[name].read_as
        everywhere = sorted(set().union(*self._headers.values()))
        for name in _find_absent(self.mapping.columns, everywhere):
            yield "columns", name, everywhere, self.mapping.columns[name]
        for sheet, headers in self._headers.items():
            columns = self.mapping.sheet(sheet).columns
            for name in _find_absent(columns, headers):
                yield "columns", name, headers, columns[name]


def _find_absent(names: Iterable[str], found: Iterable[str]) -> list[str]:
    known = {fold(each) or each for each in found}
    return [name for name in names if (fold(name) or name) not in known]
