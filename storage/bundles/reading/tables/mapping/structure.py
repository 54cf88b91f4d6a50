"""The mapping file: which sheets and columns hold what, and what they do not say."""

from typing import Annotated, Literal

import msgspec

from storage.bundles.reading.tables.files.sheets import MAX_ROWS
from storage.bundles.reading.tables.names import fold
from storage.bundles.reading.tables.values.dates import DateOrder

IGNORE = "ignore"
TABLE = "apartments"
"""What a sheet with a row for each unit is read as."""
TABLE_TARGETS = (
    "asset",
    "asset_id",
    "building",
    "floor",
    "floor_id",
    "floor_sort",
    "unit",
    "unit_id",
    "map_ids",
)
"""What a column of a table of apartments can hold, beside attributes and references."""
ATTRIBUTE, ATTRIBUTES, DATE, REFERENCE = "attribute:", "attributes:", "date:", "reference:"
"""Beginnings of what a column holds: one attribute of a group, any number of them, one that is a
date, a reference."""
PREFIXES = (ATTRIBUTE, ATTRIBUTES, DATE, REFERENCE)


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A part of the file; its fields are the keys that may be in it."""


class AssetMapping(Part, frozen=True):
    """The asset of rows that do not name one."""

    id: str = ""
    name: str = ""
    market: str = ""


class FloorMapping(Part, frozen=True):
    """What a floor of this name is."""

    id: str = ""
    name: str = ""
    label: str = ""
    short_label: str = ""
    sort: int | None = None


class SheetMapping(Part, frozen=True):
    """How a sheet, or a file that is one, is read."""

    read_as: str = ""
    header_row: Annotated[int, msgspec.Meta(ge=1, le=MAX_ROWS)] | None = None
    columns: dict[str, str] = {}


class Mapping(Part, frozen=True):
    """A mapping file."""

    asset: AssetMapping = AssetMapping()
    dates: DateOrder | None = None
    sheets: dict[str, SheetMapping] = {}
    columns: dict[str, str] = {}
    defaults: dict[str, str] = {}
    floors: dict[str, FloorMapping] = {}
    empty: list[str] = []
    """Words of cells that count as empty, such as `n/a`."""
    ignore_rows: list[Annotated[str, msgspec.Meta(min_length=1)]] = []
    """What the first filled cell of rows that are ignored begins with, such as `Total`."""
    unit_ids: Literal["derived", "number"] = "derived"
    """What the id of a unit is that has none: made of all names, or its number alone."""

    def sheet(self, name: str) -> SheetMapping:
        """Return how a sheet of this name is read."""
        found = [part for title, part in self.sheets.items() if fold(title) == fold(name)]
        return found[0] if found else SheetMapping()

    def floor(self, name: str) -> FloorMapping:
        """Return what is said of a floor of this name."""
        found = [part for title, part in self.floors.items() if fold(title) == fold(name)]
        return found[0] if found else FloorMapping()


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
