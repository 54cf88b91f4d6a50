"""Tables of apartments, as property managers have them: a row for each unit."""

import re
from collections.abc import Generator, Iterator, Sequence
from typing import Any, NamedTuple

from storage.assets import ASSETS
from storage.attributes import ASSIGNMENTS
from storage.bundles.reading.parser import BundleMember
from storage.bundles.reading.tables.derived_ids import derive_id
from storage.bundles.reading.tables.files.sheets import Row
from storage.bundles.reading.tables.floors import parse_floor
from storage.bundles.reading.tables.groups import Group
from storage.bundles.reading.tables.headers import Column, Recognizer, Table, build_recognizer
from storage.bundles.reading.tables.mapping import (
    ATTRIBUTE,
    ATTRIBUTES,
    REFERENCE,
    Mapping,
    SheetMapping,
    is_table_target,
)
from storage.bundles.reading.tables.members import Rows, cell_of, is_blank
from storage.bundles.reading.tables.names import fold
from storage.bundles.reading.tables.seen import Seen
from storage.bundles.reading.tables.values.cells import CellError, to_integer, to_text
from storage.bundles.reading.tables.values.lists import split_items
from storage.floors import FLOORS
from storage.references import UNIT_REFERENCES
from storage.units import UNITS

KNOWN_HEADERS = {
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
"""What columns hold without a mapping, by their headers."""
_BY_HEADER = {fold(header): target for target, names in KNOWN_HEADERS.items() for header in names}

_WHOLE_NUMBER = re.compile(r"(\d+)\.0+")


class _RowError(Exception):
    """A row is left out; what is wrong with it has been added to the violations."""


class _Unit(NamedTuple):
    asset_id: str
    unit_id: str
    name: str
    floor_id: str


def table_recognizer(mapping: Mapping, sheet: SheetMapping) -> Recognizer:
    """Return what knows the columns of a table of apartments."""
    columns = {**mapping.columns, **sheet.columns}
    return build_recognizer(columns, _BY_HEADER, is_table_target)


def is_unit_table(table: Table) -> bool:
    """Return whether a table has units and something of them."""
    targets = table.targets
    return bool(targets.keys() & {"unit", "unit_id"}) and len(targets) > 1


class UnitTable:
    """One table of apartments."""

    def __init__(self, table: Table, rows: Rows, seen: Seen) -> None:
        self._table = table
        self._rows = rows
        self._seen = seen
        self._columns = table.targets
        self._asset_ids: set[str] = set()
        self._has_units = {"unit"} <= self._columns.keys() and bool(
            {"floor", "floor_id"} & self._columns.keys()
        )
        self._references = [
            (column, column.target.removeprefix(REFERENCE).strip())
            for column in table.columns
            if column.target.startswith(REFERENCE)
        ]
        self._groups = [
            (column, seen.groups.find_or_add(name.strip(), prefix == ATTRIBUTE))
            for column in table.columns
            for prefix in (ATTRIBUTE, ATTRIBUTES)
            if (name := column.target.removeprefix(prefix)) != column.target
        ]

    def read(self) -> Iterator[BundleMember]:
        """Yield what the rows say; what is wrong with them is added to the violations."""
        self._rows.violations.columns.add(self._rows.place, self._headers())
        if not self._has_units:
            self._rows.notes.append(
                f"{self._rows.place}: without columns for both units and floors, only attributes"
                " and references of units are read"
            )
        for row in self._table.rows:
            if is_blank(row):
                continue
            try:
                yield from self._read_row(row)
            except _RowError:
                for kind in (ASSETS, FLOORS, UNITS):
                    self._rows.violations.rejected.add_unknown(kind)
        self._add_mentions()

    def _add_mentions(self) -> None:
        """Say what a mirror may remove: of these assets, what the columns of the table hold."""
        mentions, of_assets = self._rows.violations.mentions, {"$in": sorted(self._asset_ids)}
        if self._has_units:
            # With a column for ids alone, floors are listed elsewhere.
            for kind in (FLOORS, UNITS) if "floor" in self._columns else (UNITS,):
                mentions.add(kind.name, {"asset_id": of_assets})
        for _, key in self._references:
            mentions.add(UNIT_REFERENCES.name, {"asset_id": of_assets, "key": key})
        for _, group in self._groups:
            condition = {"asset_id": of_assets, "group_id": group.group_id}
            mentions.add(ASSIGNMENTS.name, condition)

    def _headers(self) -> dict[str, str]:
        names = {"id": "unit_id", "name": "unit", "floor_id": "floor", "asset_id": "asset"}
        fields = names | {field: field for field in self._columns if field.endswith("_id")}
        return {
            field: self._columns[target].header
            for field, target in (names | fields).items()
            if target in self._columns
        } | {field: column.header for field, column in self._columns.items() if field == "map_ids"}

    def _read_row(self, row: Row) -> Iterator[BundleMember]:
        asset_id = yield from self._read_asset(row)
        self._asset_ids.add(asset_id)
        building = self._text(row, "building")
        floor_id = ""
        if self._has_units:
            floor_id = yield from self._read_floor(row, asset_id, building)
        unit = self._identify(row, asset_id, building, floor_id)
        if self._has_units:
            yield from self._build_unit(row, unit)
        yield from self._read_references(row, unit)
        yield from self._read_attributes(row, unit)

    def _read_asset(self, row: Row) -> Generator[BundleMember, None, str]:
        given = self._rows.mapping.asset
        name = self._text(row, "asset") or ("" if "asset_id" in self._columns else given.name)
        asset_id = self._text(row, "asset_id") or self._seen.asset_ids.get(name, "")
        if not asset_id and given.id:
            asset_id = given.id
        column = self._columns.get("asset") or self._columns.get("asset_id")
        asset_id = asset_id or derive_id("", name) or ""
        if not asset_id:
            if column:
                raise self._reject(row, column, "a property is required")
            raise self._reject(
                row, None, "there is no column with the property; name it in the mapping: asset: ID"
            )
        if name and self._seen.add("assets", asset_id, name, self._place(row, column)):
            self._seen.asset_ids.setdefault(name, asset_id)
            market = given.market or self._rows.mapping.defaults.get("market")
            value = {"id": asset_id, "name": name} | ({"market": market} if market else {})
            yield from self._rows.build(ASSETS, value, row, column, () if market else ("market",))
        else:
            self._check_alike(row, column, "assets", asset_id, name)
        return asset_id

    def _read_floor(
        self, row: Row, asset_id: str, building: str
    ) -> Generator[BundleMember, None, str]:
        text = self._text(row, "floor")
        floor_id = self._text(row, "floor_id")
        column = self._columns.get("floor") or self._columns["floor_id"]
        if not text:
            if not floor_id:
                raise self._reject(row, column, "a floor is required")
            return floor_id
        floor, given = parse_floor(text), self._rows.mapping.floor(text)
        named = given.name or floor.name
        name = f"{named}, {building}" if building and not given.name else named
        floor_id = floor_id or given.id
        floor_id = floor_id or self._seen.floor_ids.get((asset_id, name), "")
        floor_id = floor_id or derive_id(asset_id, building, floor.slug) or ""
        if not floor.slug and not floor_id:
            raise self._reject(row, column, f'no id can be made of "{text}"; give it one')
        if self._seen.add("floors", floor_id, floor.slug or name, self._place(row, column)):
            sort = self._read_sort(row) if "floor_sort" in self._columns else given.sort
            fields: dict[str, Any] = {"label": given.label, "short_label": given.short_label}
            kept = [field for field, value in fields.items() if not value]
            fields["short_label"] = given.short_label or floor.short_label
            if sort is None:
                kept.append("sort")
                if floor.sort is None:
                    self._rows.notes.append(
                        f'{self._place(row, column)}: the height of floor "{text}" is unknown, so a'
                        f" new one has sort 0; say it in the mapping: floors: {{{text}: 3}}"
                    )
            fields["sort"] = sort if sort is not None else floor.sort or 0
            value = {"id": floor_id, "asset_id": asset_id, "name": name, **fields}
            yield from self._rows.build(FLOORS, value, row, column, kept)
        else:
            self._check_alike(row, column, "floors", floor_id, floor.slug or name)
        return floor_id

    def _read_sort(self, row: Row) -> int | None:
        column = self._columns["floor_sort"]
        cell = cell_of(row, column)
        try:
            return None if cell is None else to_integer(cell)
        except CellError as error:
            raise self._reject(row, column, str(error)) from error

    def _identify(self, row: Row, asset_id: str, building: str, floor_id: str) -> _Unit:
        name = self._text(row, "unit")
        unit_id = self._text(row, "unit_id")
        column = self._columns.get("unit") or self._columns["unit_id"]
        if not name and (self._has_units or not unit_id):
            raise self._reject(row, column, "a unit is required")
        if not unit_id and self._rows.mapping.unit_ids == "number":
            unit_id = name
        if not unit_id:
            unit_id = derive_id(asset_id, building, name) or ""
            if not unit_id:
                message = f'no id can be made of "{name}"; give the unit one in a column "Unit ID"'
                raise self._reject(row, column, message)
        identity = f"{building} {name}".strip() or unit_id
        if not self._seen.add("units", unit_id, identity, self._place(row, None)):
            first = self._seen.first("units", unit_id)
            assert first is not None
            if first.name == identity:
                message = f'the unit "{identity}" is already at {first.place}'
            else:
                message = (
                    f'"{identity}" and "{first.name}" at {first.place} get the same id'
                    f' "{unit_id}"; give one of them another in a column "Unit ID"'
                )
            raise self._reject(row, column, message)
        return _Unit(asset_id, unit_id, name, floor_id)

    def _build_unit(self, row: Row, unit: _Unit) -> Iterator[BundleMember]:
        value: dict[str, Any] = {
            "id": unit.unit_id,
            "asset_id": unit.asset_id,
            "floor_id": unit.floor_id,
            "name": unit.name,
        }
        column = self._columns.get("map_ids")
        default = self._rows.mapping.defaults.get("map_ids")
        cell = cell_of(row, column) or default
        if cell is not None:
            value["map_ids"] = self._split(row, column, cell)
        kept = () if column or default else ("map_ids",)
        yield from self._rows.build(UNITS, value, row, kept_fields=kept)

    def _read_references(self, row: Row, unit: _Unit) -> Iterator[BundleMember]:
        for column, key in self._references:
            if text := self._text_of(row, column):
                value = {
                    "group_id": derive_id(unit.asset_id, key) or key,
                    "asset_id": unit.asset_id,
                    "unit_id": unit.unit_id,
                    "key": key,
                    "value": text,
                }
                kept = ("group_id",)
                yield from self._rows.build(UNIT_REFERENCES, value, row, column, kept)

    def _read_attributes(self, row: Row, unit: _Unit) -> Iterator[BundleMember]:
        for column, group in self._groups:
            for attribute_id in self._list_attributes(row, column, group):
                value = {
                    "group_id": group.group_id,
                    "attribute_id": attribute_id,
                    "asset_id": unit.asset_id,
                    "unit_id": unit.unit_id,
                }
                yield from self._rows.build(ASSIGNMENTS, value, row, column)

    def _list_attributes(self, row: Row, column: Column, group: Group) -> Sequence[str]:
        text = self._text_of(row, column)
        if not text:
            return ()
        exact = self._text_of(row, column, exactly=True)
        if group.find(exact):
            text = exact
        values = [text] if group.is_single else self._split(row, column, text)
        try:
            found = [group.find_or_add(value, self._rows, row, column) for value in values]
        except CellError as error:
            raise self._reject(row, column, str(error)) from error
        return [*dict.fromkeys(found)]

    def _check_alike(self, row: Row, column: Column | None, kind: str, key: str, name: str) -> None:
        first = self._seen.first(kind, key) if name else None
        if first and first.name != name:
            self._rows.reject(
                row,
                column,
                f'"{name}" and "{first.name}" at {first.place} are both the {kind[:-1]} "{key}";'
                " write them alike, or give one an id of its own",
            )

    def _text(self, row: Row, target: str) -> str:
        column = self._columns.get(target)
        return self._text_of(row, column) if column else ""

    def _text_of(self, row: Row, column: Column, *, exactly: bool = False) -> str:
        try:
            text = to_text(cell_of(row, column))
        except CellError as error:
            raise self._reject(row, column, str(error)) from error
        whole = _WHOLE_NUMBER.fullmatch(text)  # programs write the number 101 as "101.0", too
        return whole[1] if whole and not exactly else text

    def _split(self, row: Row, column: Column | None, cell: Any) -> list[str]:
        try:
            return split_items(cell)
        except CellError as error:
            raise self._reject(row, column, str(error)) from error

    def _place(self, row: Row, column: Column | None) -> str:
        return self._rows.place_of(row, column)

    def _reject(self, row: Row, column: Column | None, message: str) -> _RowError:
        self._rows.reject(row, column, message)
        return _RowError()
