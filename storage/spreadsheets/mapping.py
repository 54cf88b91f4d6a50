"""The mapping: which sheets and columns hold what, and what they do not say."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Annotated, Literal, TypeVar

import msgspec

from storage.bundles.names import fold, hint_at
from storage.spreadsheets.cells import DateOrder
from storage.spreadsheets.sheets import MAX_ROWS

T = TypeVar("T")

IGNORE = "ignore"
TABLE = "apartments"
"""A sheet with a row for each unit is read as this."""
KNOWN_HEADERS: Mapping[str, Sequence[str]] = {
    "asset": ("asset", "asset name", "property", "property name", "community"),
    "asset_id": ("asset id", "property id"),
    "building": ("building", "building name", "bldg", "tower"),
    "floor": ("floor", "floor name", "floor number", "level", "storey", "story"),
    "floor_id": ("floor id",),
    "floor_sort": ("floor sort",),
    "unit": ("unit", "unit number", "unit no", "unit name", "apartment", "apartment number", "apt"),
    "unit_id": ("unit id", "apartment id"),
    "map_ids": ("map ids",),
    "attribute:Bedrooms": ("bed", "beds", "bedrooms"),
    "attribute:Bathrooms": ("bath", "baths", "bathrooms"),
    "attribute:Floor plan": ("floor plan", "floor plan name", "unit type", "layout"),
    "attribute:Status": ("status", "unit status"),
    "reference:pms-unit-id": ("pms unit id", "pms id"),
}
"""Without a mapping, columns of a table of apartments with these headers hold this."""
TABLE_TARGETS = tuple(target for target in KNOWN_HEADERS if ":" not in target)
"""A column of a table of apartments holds one of these, an attribute or a reference."""
ATTRIBUTE, ATTRIBUTES, DATE, REFERENCE = "attribute:", "attributes:", "date:", "reference:"
"""Beginnings of what a column holds: one attribute of a group, any number of them, one that is a
date, a reference."""
PREFIXES = (ATTRIBUTE, ATTRIBUTES, DATE, REFERENCE)


class MappingPart(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the file; its fields are the keys that may be in it."""


class AssetMapping(MappingPart, frozen=True):
    """The asset of rows that do not name one."""

    id: str = ""
    name: str = ""
    market: str = ""


class FloorMapping(MappingPart, frozen=True):
    """The facts about a floor of this name."""

    id: str = ""
    name: str = ""
    label: str = ""
    short_label: str = ""
    sort: int | None = None


class SheetMapping(MappingPart, frozen=True):
    """The way in which a sheet, or a file that is one, is read."""

    read_as: str = ""
    header_row: Annotated[int, msgspec.Meta(ge=1, le=MAX_ROWS)] | None = None
    columns: dict[str, str] = {}


class SpreadsheetMapping(MappingPart, frozen=True):
    """A mapping file."""

    asset: AssetMapping = AssetMapping()
    dates: DateOrder | None = None
    sheets: dict[str, SheetMapping] = {}
    columns: dict[str, str] = {}
    defaults: dict[str, str] = {}
    floors: dict[str, FloorMapping] = {}
    empty: list[str] = []
    """Cells with these words count as empty, such as `n/a`."""
    ignore_rows: list[Annotated[str, msgspec.Meta(min_length=1)]] = []
    """A row is ignored if its first filled cell begins with one of these, such as `Total`."""
    unit_ids: Literal["derived", "number"] = "derived"
    """The id of a unit that has none is made of all names, or is its number alone."""


def to_table_target(text: str) -> str | None:
    """Return what a column of a table of apartments holds, None if there is nothing of this name.

    >>> to_table_target("Attribute:Finish"), to_table_target("rent")
    ('attribute:Finish', None)
    """
    prefix, colon, name = text.partition(":")
    prefix = prefix.casefold() + colon
    if prefix in PREFIXES and name.strip():
        return prefix + name
    return text if text in TABLE_TARGETS else None


MAX_MAPPING_NOTES = 100
MAX_MAPPING_HINTS = 100
"""For no more names, one that may be meant is looked for."""
MAX_COMPARED_NAMES = 1000
"""A name is compared with no more than these."""


@dataclass
class MappingUse:
    """A mapping, and the names in it that were found in spreadsheets: the rest may be misspelt.

    >>> use = MappingUse(SpreadsheetMapping(sheets={"Rent rol": SheetMapping("apartments")}))
    >>> use.sheet("Rent roll")
    SheetMapping(read_as='', header_row=None, columns={})
    >>> [*use.list_errors()]
    ['sheets: there is no sheet "Rent rol"; did you mean "Rent roll"?']
    """

    mapping: SpreadsheetMapping
    name: str = "the mapping"
    is_complete: bool = True
    """All files could be read: else what was not found may be in the others."""
    _headers: dict[str, set[str]] = field(default_factory=dict)
    """They are the headers of all sheets, by sheet."""
    _floors: dict[str, FloorMapping] = field(default_factory=dict)
    _fields: set[str] = field(default_factory=set)
    _hints: int = 0

    def sheet(self, name: str) -> SheetMapping:
        """Return how a sheet of this name is read."""
        self._headers.setdefault(name, set())
        return _find_part(self.mapping.sheets, name) or SheetMapping()

    def floor(self, name: str) -> FloorMapping:
        """Return what is said of a floor of this name."""
        if name not in self._floors:
            self._floors[name] = _find_part(self.mapping.floors, name) or FloorMapping()
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
            columns = self.sheet(sheet).columns
            for name in _find_absent(columns, headers):
                yield "columns", name, headers, columns[name]


def _find_part(parts: Mapping[str, T], name: str) -> T | None:
    return next((part for title, part in parts.items() if fold(title) == fold(name)), None)


def _find_absent(names: Iterable[str], found: Iterable[str]) -> list[str]:
    known = {fold(each) or each for each in found}
    return [name for name in names if (fold(name) or name) not in known]
