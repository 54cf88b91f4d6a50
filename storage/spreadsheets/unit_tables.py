"""Tables of apartments, as property managers have them: a row for each unit."""

import re
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from storage.bundles.json_bundles import BundleMember
from storage.bundles.names import (
    derive_id,
    floor_key,
    fold,
    is_same_name,
    name_symbol,
    parse_floor,
    slug,
    squeeze,
)
from storage.catalog import ASSETS, ASSIGNMENTS, ATTRIBUTE_GROUPS, FLOORS, UNIT_REFERENCES, UNITS
from storage.records.kinds import REFERENCE_KEY_FORM, REFERENCE_KEY_PATTERN, Document, RecordType
from storage.spreadsheets import tables
from storage.spreadsheets.cells import CellError, clean, parse_day, split_items, to_integer
from storage.spreadsheets.mapping import (
    ATTRIBUTE,
    ATTRIBUTES,
    DATE,
    KNOWN_HEADERS,
    REFERENCE,
)
from storage.spreadsheets.sheets import Row
from storage.spreadsheets.tables import Column, Rows

# The records that the spreadsheets of one import have named so far, and attribute groups.


MAX_NAMES_IN_NOTE = 12
NONE_WORDS = frozenset({"n/a", "na", "none", "null", "tbd"})
"""An attribute with such a name may mean that there is none."""


class KnownGroup:
    """A group, to which columns may add attributes."""

    def __init__(self, document: Document, *, is_closed: bool = False) -> None:
        self.group_id: str = document.get("_id") or document["group_id"]
        self.name: str = document["group_name"]
        self.is_single: bool = document.get("one_attribute_per_unit", False)
        self.attributes: list[dict[str, str]] = [*document.get("attributes", ())]
        self.added: list[str] = []
        self.is_closed = is_closed
        """A sheet of this import has it, so that columns add nothing."""
        self.first: tuple[Rows, Row, Column] | None = None
        """This cell has changed it first."""
        self._by_name: dict[str, dict[str, str]] = {}
        self._by_key: dict[str, dict[str, str]] = {}
        self._places: dict[str, str] = {}
        for attribute in self.attributes:
            self._index(attribute)

    def find(self, text: str) -> str | None:
        """Return the id of the attribute with this id or name."""
        found = self._by_name.get(text) or self._by_name.get(text.casefold())
        return found["attribute_id"] if found else None

    def name_of(self, attribute_id: str) -> str:
        """Return a text by which `find` finds an attribute: its name, or else its id."""
        names = (each for each in self.attributes if each["attribute_id"] == attribute_id)
        name = next(names, {}).get("attribute_name", attribute_id)
        is_found = self.find(name) == attribute_id and clean(name) == name
        return name if is_found else attribute_id

    def find_or_add(self, text: str, rows: Rows, row: Row, column: Column) -> str:
        """Return the id of the attribute with this id or name. Raises CellError."""
        if found := self.find(text) or self.find(text := squeeze(text)):
            return found
        key = slug(text) or slug(*map(name_symbol, text))
        if not key:
            raise CellError(
                f'no id can be made of "{text}": it has neither letters nor digits; if it means'
                f' that there is none, say so in the mapping: empty: ["{text}"]'
            )
        attribute_id = derive_id(self.group_id, key) or key
        if other := self._by_key.get(key) or self._by_name.get(attribute_id):
            place = self._places.get(other["attribute_id"], "the catalog")
            raise CellError(
                f'"{text}" and "{other["attribute_name"]}" ({place}) would both be'
                f' the attribute "{key}": write them alike, or make them more different'
            )
        if self.is_closed:
            raise CellError(f'the attribute group "{self.group_id}" has no attribute "{text}"')
        attribute = {"attribute_id": attribute_id, "attribute_name": text, "attribute_key": key}
        self.attributes.append(attribute)
        self.added.append(text)
        self._places[attribute_id] = rows.place_of(row, column)
        self._index(attribute)
        if self.first is None:
            self.first = rows, row, column
        return attribute_id

    def to_value(self) -> Document:
        """Return the group as a bundle has it."""
        return {
            "group_id": self.group_id,
            "group_name": self.name,
            "one_attribute_per_unit": self.is_single,
            "attributes": self.attributes,
        }

    def _index(self, attribute: dict[str, str]) -> None:
        # Not by its key: that of "A+" is "a", and "A" is another attribute.
        self._by_key.setdefault(attribute["attribute_key"], attribute)
        self._by_name.setdefault(attribute["attribute_id"], attribute)
        self._by_name.setdefault(attribute["attribute_name"], attribute)
        self._by_name.setdefault(attribute["attribute_name"].casefold(), attribute)


class KnownGroups:
    """The groups of the catalog and of one import."""

    def __init__(self, documents: Iterable[Document] = ()) -> None:
        self._groups: dict[str, KnownGroup] = {}
        self._by_name: dict[str, KnownGroup] = {}
        for document in documents:
            self._add(KnownGroup(document))

    def __iter__(self) -> Iterator[KnownGroup]:
        return iter(self._groups.values())

    def name_of(self, group: KnownGroup) -> str:
        """Return a text by which `find_or_add` finds a group: its name, or else its id."""
        is_found = self._find(group.name) is group and clean(group.name) == group.name
        return group.name if is_found else group.group_id

    def _find(self, name: str) -> KnownGroup | None:
        return self._groups.get(name) or self._by_name.get(name.casefold())

    def add_explicit(self, document: Document) -> None:
        """Add a group of a sheet of this import. What the sheet lacks is as in the catalog."""
        known = self._groups.get(document["_id"])
        kept = known.to_value() if known else {"group_name": document["_id"]}
        self._add(KnownGroup(kept | document, is_closed=True))

    def find_or_add(self, name: str, is_single: bool) -> KnownGroup:
        """Return the group with this id or name; `is_single` is for a new one."""
        found = self._find(name)
        if found is None:
            group_id = slug(name) or name
            document = {
                "group_id": group_id,
                "group_name": name,
                "one_attribute_per_unit": is_single,
            }
            found = self._groups.get(group_id) or self._add(KnownGroup(document))
        return found

    def notes(self) -> Iterator[str]:
        """Yield which attributes columns have added to groups: a new one may be a typing error."""
        for group in self._groups.values():
            if group.first is not None:
                rows, row, column = group.first
                more = ", ..." if len(group.added) > MAX_NAMES_IN_NOTE else ""
                plural = "s" if len(group.added) > 1 else ""
                none = next((each for each in group.added if each.casefold() in NONE_WORDS), "")
                hint = (
                    f'; if "{none}" means that there is none, say so in the mapping: empty:'
                    f' ["{none}"]'
                )
                yield (
                    f'{rows.place_of(row, column)}: the attribute group "{group.name}" gets'
                    f" {len(group.added)} new attribute{plural}:"
                    f" {', '.join(group.added[:MAX_NAMES_IN_NOTE])}{more}{hint if none else ''}"
                )

    def build_changed(self) -> Iterator[BundleMember]:
        """Yield the groups that columns have added to."""
        for group in self._groups.values():
            if group.first is not None:
                rows, row, column = group.first
                yield from rows.build(ATTRIBUTE_GROUPS, group.to_value(), row, column)

    def _add(self, group: KnownGroup) -> KnownGroup:
        self._groups[group.group_id] = group
        self._by_name[group.name.casefold()] = group
        return group


class FirstMention(NamedTuple):
    """The name of a record, and the place, where it came up first."""

    name: str
    place: str


class KnownRecords:
    """Records by key, of all spreadsheets of one import: tables name the same ones again."""

    def __init__(self, groups: Iterable[Document] = ()) -> None:
        self.groups = KnownGroups(groups)
        self.asset_ids: dict[str, str] = {}
        """Ids of assets by name."""
        self._floor_ids: dict[tuple[str, ...], str] = {}
        """Ids of floors by asset and name, and by asset and key; empty if several have a key."""
        self._first: dict[tuple[str, str], FirstMention | None] = {}

    def add(self, kind: str, key: str, name: str, place: str) -> bool:
        """Note a record that a row names; return whether it is the first to do so."""
        if (kind, key) in self._first:
            return False
        self._first[kind, key] = FirstMention(name, place)
        return True

    def has(self, kind: str, key: str) -> bool:
        """Return whether a row names this record, or a sheet of its kind has it."""
        return (kind, key) in self._first

    def first(self, kind: str, key: str) -> FirstMention | None:
        """Return what named a record first; None if a sheet of its kind has it."""
        return self._first[kind, key]

    def add_explicit(self, member: BundleMember) -> None:
        """Note a record of a sheet that is named after its resource. It may lack fields."""
        given = {
            field: value
            for field, value in member.document.items()
            if field not in member.kept_fields
        }
        key, name = given["_id"], given.get("name")
        if member.kind.name == "attribute_groups":
            self.groups.add_explicit(given)
        elif member.kind.name == "assets":
            if name:
                self.asset_ids.setdefault(squeeze(name), key)
            self._first[member.kind.name, key] = None
        elif member.kind.name == "floors":
            if name and "asset_id" in given:
                self._add_floor(given["asset_id"], name, key)
            self._first[member.kind.name, key] = None

    def find_floor(self, asset_id: str, name: str) -> str:
        """Return the id of the floor of a sheet with this name, or else with one that means the
        same; empty if there is none."""
        exact = self._floor_ids.get((asset_id, name))
        return exact or self._floor_ids.get((asset_id, *floor_key(name)), "")

    def _add_floor(self, asset_id: str, name: str, floor_id: str) -> None:
        self._floor_ids.setdefault((asset_id, name), floor_id)
        number, building = floor_key(name)
        if (
            number
            and self._floor_ids.setdefault((asset_id, number, building), floor_id) != floor_id
        ):
            self._floor_ids[asset_id, number, building] = ""


MAX_WRONG_VALUES = 1000
"""The rows of no more are counted; each row with another is an error."""


class _Fact(NamedTuple):
    """A reference or an attribute of a unit that is yet unknown."""

    column: tables.Column
    kind: RecordType[Any]
    fields: Document


class FactColumns:
    """The columns of one table that hold references and attributes."""

    def __init__(self, table: tables.Table, rows: tables.Rows, groups: KnownGroups) -> None:
        self._rows = rows
        self._wrong: dict[tuple[tables.Column, str], Any] = {}
        """They have the first place, what is wrong, and how often, by column and value."""
        self._header_row = Row(table.header_number, ())
        self._references = [
            (column, key)
            for column in table.columns
            if column.target.startswith(REFERENCE)
            if self._check_key(column, key := column.target.removeprefix(REFERENCE).strip())
        ]
        self._groups = [
            (column, groups.find_or_add(name.strip(), prefix != ATTRIBUTES))
            for column in table.columns
            for prefix in (ATTRIBUTE, ATTRIBUTES, DATE)
            if (name := column.target.removeprefix(prefix)) != column.target
        ]

    def _check_key(self, column: tables.Column, key: str) -> bool:
        """Return whether the key of a column is valid; add an error, once, if it is not."""
        if _is_key(key):
            return True
        hint = f"; {REFERENCE}{slug(key)} is one" if _is_key(slug(key)) else ""
        message = f'"{key}" is no key of references: expected {REFERENCE_KEY_FORM}{hint}'
        self._rows.reject(self._header_row, column, message)
        return False

    def add_mentions(self, of_assets: Document) -> None:
        """Say what a mirror may remove of these assets: what the columns hold."""
        mentions = self._rows.violations.mentions
        for _, key in self._references:
            mentions.add(UNIT_REFERENCES.name, {**of_assets, "key": key})
        for _, group in self._groups:
            mentions.add(ASSIGNMENTS.name, {**of_assets, "group_id": group.group_id})

    def find(self, row: Row) -> Iterator[_Fact]:
        """Yield what a row says of its unit; add what is wrong to the violations."""
        for column, key in self._references:
            with suppress(tables.CellRejected):
                if text := self._rows.text_of(row, column):
                    yield _Fact(column, UNIT_REFERENCES, {"key": key, "value": text})
        for column, group in self._groups:
            with suppress(tables.CellRejected):
                for attribute_id in self._list_attributes(row, column, group):
                    fields = {"group_id": group.group_id, "attribute_id": attribute_id}
                    yield _Fact(column, ASSIGNMENTS, fields)

    def build(
        self, facts: Iterable[_Fact], row: Row, asset_id: str, unit_id: str
    ) -> Iterator[BundleMember]:
        """Yield the members that give a unit what its row says of it."""
        unit = {"asset_id": asset_id, "unit_id": unit_id}
        for column, kind, fields in facts:
            if kind is UNIT_REFERENCES:
                key = fields["key"]
                value = {"group_id": derive_id(asset_id, key) or key, **unit, **fields}
                yield from self._rows.build(kind, value, row, column, ("group_id",))
            else:
                yield from self._rows.build(kind, unit | fields, row, column)

    def _list_attributes(self, row: Row, column: tables.Column, group: KnownGroup) -> list[str]:
        text = self._rows.text_of(row, column)
        if not text:
            return []
        exact = self._rows.text_of(row, column, exactly=True)
        if group.find(exact):
            text = exact
        is_single = group.is_single
        values = [text] if is_single else self._rows.convert(row, column, text, split_items)
        found: dict[str, None] = {}
        for value in values:
            try:
                is_date = column.target.startswith(DATE)
                name = parse_day(value, self._rows.mapping.dates) if is_date else value
                found[group.find_or_add(name, self._rows, row, column)] = None
            except CellError as error:
                if len(self._wrong) < MAX_WRONG_VALUES or (column, value) in self._wrong:
                    place = self._rows.place_of(row, column)
                    self._wrong.setdefault((column, value), [place, str(error), 0])[2] += 1
                else:
                    self._rows.reject(row, column, str(error))
        return [*found]

    def add_wrong_values(self) -> None:
        """Add the values that are no attributes to the violations, each with its first place."""
        for place, message, count in self._wrong.values():
            more = f" (and in {count - 1:,} more rows)" if count > 1 else ""
            self._rows.violations.add(place, message + more)


def _is_key(text: str) -> bool:
    return re.fullmatch(REFERENCE_KEY_PATTERN, text) is not None


TARGETS_BY_HEADER = {
    fold(header): target for target, names in KNOWN_HEADERS.items() for header in names
}
NOT_UNIQUE = (
    '; "unit_ids: number" in the mapping needs numbers that no two units have, also of different'
    " properties and buildings"
)

_T = TypeVar("_T")


class _Owner(NamedTuple):
    """The asset and the building that floors and units belong to."""

    asset_id: str
    building: str


class _UnitRow(NamedTuple):
    asset_id: str
    unit_id: str
    name: str
    floor_id: str


class UnitTable:
    """One table of apartments."""

    def __init__(self, table: tables.Table, rows: tables.Rows, known: KnownRecords) -> None:
        self._table = table
        self._rows = rows
        self._known = known
        self._columns = table.targets
        self._asset_ids: set[str] = set()
        self._floors_by_id: set[tuple[str, str]] = set()
        """Assets, and floors of which a row has only the id: something else lists them."""
        asset = rows.mapping.asset
        has_asset = bool(asset.id or derive_id("", asset.name))
        self._absent = dict(tables.find_absent(table, has_asset=has_asset))
        """No column holds these, though they are needed; the values are the messages."""
        given = self._columns.keys() | self._absent.keys()
        self._has_floors = bool({"floor", "floor_id"} & given)
        self._has_units = (
            self._has_floors or "map_ids" in given
            if rows.are_partial
            else self._has_floors and "unit" in given
        )
        self._facts = FactColumns(table, rows, known.groups)

    def read(self) -> Iterator[BundleMember]:
        """Yield what the rows say; what is wrong with them is added to the violations."""
        for message in self._absent.values():
            self._rows.reject(Row(self._table.header_number, ()), None, message)
        self._rows.violations.columns.add(self._rows.place, self._headers())
        self._rows.use.add_fields(("market", "map_ids"))
        if not self._has_units:
            self._rows.notes.append(
                f"{self._rows.place}: without columns for both units and floors, only attributes"
                " and references of units are read"
            )
        for row in self._table.rows:
            if tables.is_blank(row):
                continue
            yield from self._read_row(row)
        self._facts.add_wrong_values()
        self._add_mentions()

    def _add_mentions(self) -> None:
        """Say what a mirror may remove: of these assets, what the columns of the table hold.

        The table does not list the floors of an asset if a row has the id of one that no row
        describes.
        """
        mentions, of_assets = self._rows.violations.mentions, {"$in": sorted(self._asset_ids)}
        if self._has_units:
            mentions.add(UNITS.name, {"asset_id": of_assets})
            listed = self._asset_ids - {
                asset_id
                for asset_id, floor_id in self._floors_by_id
                if not self._known.has(FLOORS.name, floor_id)
            }
            if listed:
                mentions.add(FLOORS.name, {"asset_id": {"$in": sorted(listed)}})
        self._facts.add_mentions({"asset_id": of_assets})

    def _headers(self) -> dict[str, str]:
        """Return the headers of the columns that fields of units are read from."""
        fields = {"id": "unit_id", "name": "unit", "floor_id": "floor", "asset_id": "asset"}
        fields |= {each: each for each in self._columns if each.endswith(("_id", "_ids"))}
        return {
            field: self._columns[target].header
            for field, target in fields.items()
            if target in self._columns
        }

    def _read_row(self, row: Row) -> Iterator[BundleMember]:
        """Yield what a row says. What is wrong with one cell does not hide what is with others."""
        facts = [*self._facts.find(row)]
        unit = yield from self._read_unit(row)
        if unit is not None:
            yield from self._facts.build(facts, row, unit.asset_id, unit.unit_id)
            return
        for kind in (ASSETS, FLOORS, UNITS):
            self._rows.violations.rejected.add_unknown(kind)

    def _read_unit(self, row: Row) -> Generator[BundleMember, None, _UnitRow | None]:
        """Return the unit of a row, after its asset, its floor and itself; None if one is wrong."""
        map_ids = self._read_map_ids(row)
        owner = yield from self._try(self._read_owner(row))
        floor_id: str | None = ""
        if self._has_units and self._has_floors:
            floor_id = yield from self._try(self._read_floor(row, owner))
        unit = None
        with suppress(tables.CellRejected):
            unit = self._identify(row, owner, floor_id or "")
        if unit is None or floor_id is None:
            return None
        if self._has_units:
            yield from self._build_unit(row, unit, map_ids)
        return unit

    def _try(
        self, part: Generator[BundleMember, None, _T]
    ) -> Generator[BundleMember, None, _T | None]:
        """Return what a part of a row says, None if it is wrong."""
        try:
            return (yield from part)
        except tables.CellRejected:
            return None

    def _read_owner(self, row: Row) -> Generator[BundleMember, None, _Owner]:
        asset_id = yield from self._try(self._read_asset(row))
        building = self._text(row, "building")
        if asset_id is None:
            raise tables.CellRejected
        self._asset_ids.add(asset_id)
        return _Owner(asset_id, building)

    def _read_asset(self, row: Row) -> Generator[BundleMember, None, str]:
        if "asset" in self._absent:
            raise tables.CellRejected
        given = self._rows.mapping.asset
        text = self._text(row, "asset")
        name = text or ("" if "asset_id" in self._columns else given.name)
        asset_id = self._text(row, "asset_id")
        column = self._columns.get("asset") or self._columns.get("asset_id")
        if not asset_id:
            asset_id = self._find_asset_id(name) if name else given.id
            if text:
                self._check_mapped_asset(row, column, text, asset_id)
        if not asset_id:
            raise self._reject_missing(row, column, "a property")
        if name and self._known.add("assets", asset_id, name, self._rows.place_of(row, column)):
            self._known.asset_ids.setdefault(name, asset_id)
            market = given.market or self._rows.mapping.defaults.get("market")
            value = {"id": asset_id, "name": name} | ({"market": market} if market else {})
            is_given = given.market or (market and not self._rows.are_partial)
            kept = () if is_given else ("market",)
            yield from self._rows.build(ASSETS, value, row, column, kept)
        else:
            self._check_alike(row, column, "assets", asset_id, name)
        return asset_id

    def _find_asset_id(self, name: str) -> str:
        """Return the id of a property: that of the mapping, of its sheet, or made of its name."""
        given = self._rows.mapping.asset
        is_mapped = is_same_name(name, given.name)
        found = (given.id if is_mapped else "") or self._known.asset_ids.get(name)
        return found or derive_id("", name) or ""

    def _check_mapped_asset(
        self, row: Row, column: tables.Column | None, name: str, asset_id: str
    ) -> None:
        """Reject a property that is not the one of the mapping: either may be misspelt."""
        given = self._rows.mapping.asset
        mapped_id = given.id or self._find_asset_id(given.name)
        if mapped_id in ("", asset_id):
            return
        if self._known.add("assets beside the mapping", name, name, ""):
            self._rows.reject(
                row,
                column,
                f'{self._rows.use.name} says that the property is "{mapped_id}", and this row that'
                f' it is "{name}": remove asset from the mapping, or, if both are one property, say'
                f" there asset: {{id: {mapped_id}, name: {name}}}",
            )
        raise tables.CellRejected

    def _read_floor(self, row: Row, owner: _Owner | None) -> Generator[BundleMember, None, str]:
        if "floor" in self._absent:
            raise tables.CellRejected
        text = self._text(row, "floor")
        floor_id = self._text(row, "floor_id")
        column = self._columns.get("floor") or self._columns["floor_id"]
        if not text:
            if not floor_id and not self._rows.are_partial:
                raise self._reject_missing(row, column, "a floor")
            if owner:
                self._floors_by_id.add((owner.asset_id, floor_id))
            return floor_id
        if owner is None:
            return ""
        asset_id, building = owner
        floor, given = parse_floor(text), self._rows.use.floor(text)
        named = given.name or floor.name
        name = f"{named}, {building}" if building and not given.name else named
        floor_id = floor_id or given.id
        floor_id = floor_id or self._known.find_floor(asset_id, name)
        floor_id = floor_id or derive_id(asset_id, building, floor.slug) or ""
        if not floor.slug and not floor_id:
            raise self._rows.reject(row, column, f'no id can be made of "{text}"; give it one')
        if self._known.add(
            "floors", floor_id, floor.slug or name, self._rows.place_of(row, column)
        ):
            sort = self._read_sort(row) if "floor_sort" in self._columns else given.sort
            fields: dict[str, Any] = {"label": given.label, "short_label": given.short_label}
            kept = [field for field, value in fields.items() if not value]
            fields["short_label"] = given.short_label or floor.short_label
            if sort is None:
                kept.append("sort")
                if floor.sort is None:
                    place = self._rows.place_of(row, column)
                    self._rows.notes.append(
                        f'{place}: the height of floor "{text}" is unknown, so a new one has'
                        f" sort 0; say it in the mapping: floors: {{{text}: 3}}"
                    )
            fields["sort"] = sort if sort is not None else floor.sort or 0
            value = {"id": floor_id, "asset_id": asset_id, "name": name, **fields}
            yield from self._rows.build(FLOORS, value, row, column, kept)
        else:
            self._check_alike(row, column, "floors", floor_id, floor.slug or name)
        return floor_id

    def _read_sort(self, row: Row) -> int | None:
        column = self._columns["floor_sort"]
        cell = tables.cell_of(row, column)
        return None if cell is None else self._rows.convert(row, column, cell, to_integer)

    def _identify(self, row: Row, owner: _Owner | None, floor_id: str) -> _UnitRow:
        if "unit" in self._absent:
            raise tables.CellRejected
        name = self._text(row, "unit")
        unit_id = self._text(row, "unit_id")
        column = self._columns.get("unit") or self._columns["unit_id"]
        if not name and not (unit_id and (self._rows.are_partial or not self._has_units)):
            raise self._reject_missing(row, column, "a unit")
        if owner is None:
            raise tables.CellRejected
        asset_id, building = owner
        is_number = not unit_id and self._rows.mapping.unit_ids == "number"
        unit_id = name if is_number else unit_id
        if not unit_id:
            unit_id = derive_id(asset_id, building, name) or ""
            if not unit_id:
                message = f'no id can be made of "{name}"; give the unit one in a column "Unit ID"'
                raise self._rows.reject(row, column, message)
        identity = f"{building} {name}".strip() or unit_id
        # Several tables may speak of one unit, if only one of them makes it.
        seen_as = UNITS.name if self._has_units else self._rows.place
        if not self._known.add(seen_as, unit_id, identity, self._rows.place_of(row, None)):
            first = self._known.first(seen_as, unit_id)
            assert first is not None
            if first.name == identity:
                message = f'the unit "{identity}" is already at {first.place}'
            else:
                message = (
                    f'"{identity}" and "{first.name}" at {first.place} get the same id'
                    f' "{unit_id}"; give one of them another in a column "Unit ID"'
                )
            raise self._rows.reject(row, column, message + (NOT_UNIQUE if is_number else ""))
        return _UnitRow(asset_id, unit_id, name, floor_id)

    def _read_map_ids(self, row: Row) -> Document:
        column = self._columns.get("map_ids")
        cell = tables.cell_of(row, column)
        cell = cell if cell is not None else self._rows.mapping.defaults.get("map_ids")
        with suppress(tables.CellRejected):
            if cell is not None:
                return {"map_ids": self._rows.convert(row, column, cell, split_items)}
        return {}

    def _build_unit(self, row: Row, unit: _UnitRow, map_ids: Document) -> Iterator[BundleMember]:
        fields = {"floor_id": unit.floor_id, "name": unit.name}  # empty ones only in a merge
        given = {name: value for name, value in fields.items() if value}
        value = {"id": unit.unit_id, "asset_id": unit.asset_id, **given, **map_ids}
        has_maps = "map_ids" in self._columns or "map_ids" in self._rows.mapping.defaults
        is_given = tables.cell_of(row, self._columns.get("map_ids")) is not None
        kept = () if is_given or (has_maps and not self._rows.are_partial) else ("map_ids",)
        yield from self._rows.build(UNITS, value, row, kept_fields=kept)

    def _check_alike(
        self, row: Row, column: tables.Column | None, kind: str, key: str, name: str
    ) -> None:
        first = self._known.first(kind, key) if name else None
        if first and first.name != name:
            self._rows.reject(
                row,
                column,
                f'"{name}" and "{first.name}" at {first.place} are both the {kind[:-1]} "{key}";'
                " write them alike, or give one an id of its own",
            )

    def _text(self, row: Row, target: str) -> str:
        column = self._columns.get(target)
        text = self._rows.text_of(row, column) if column else ""
        return text if target.endswith("_id") else squeeze(text)

    def _reject_missing(
        self, row: Row, column: tables.Column | None, what: str
    ) -> tables.CellRejected:
        message = f"{what} is required{self._rows.hint_at_totals(row)}"
        return self._rows.reject(row, column, message)
