"""References and attributes of units, as columns of a table of apartments have them."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from storage.bundles.reading.parser import BundleMember
from storage.bundles.reading.tables.derived_ids import derive_id
from storage.bundles.reading.tables.files.sheets import Row
from storage.bundles.reading.tables.groups import Group, Groups
from storage.bundles.reading.tables.headers import Column, Table
from storage.bundles.reading.tables.mapping.structure import ATTRIBUTE, ATTRIBUTES, DATE, REFERENCE
from storage.bundles.reading.tables.members import CellRejected, Rows
from storage.bundles.reading.tables.names import slug
from storage.bundles.reading.tables.values.cells import CellError, to_day
from storage.catalog import ASSIGNMENTS, UNIT_REFERENCES
from storage.records.kinds import REFERENCE_KEY_FORM, REFERENCE_KEY_PATTERN, Document, RecordType

MAX_WRONG_VALUES = 1000
"""Of which the rows are counted; each row with another is an error."""


class _Fact(NamedTuple):
    """A reference or an attribute of a unit that is yet unknown."""

    column: Column
    kind: RecordType[Any]
    fields: Document


class UnitFacts:
    """The columns of one table that hold references and attributes."""

    def __init__(self, table: Table, rows: Rows, groups: Groups) -> None:
        self._rows = rows
        self._wrong: dict[tuple[Column, str], Any] = {}
        """By column and value: the first place, what is wrong, and how often."""
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

    def _check_key(self, column: Column, key: str) -> bool:
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
            with suppress(CellRejected):
                if text := self._rows.text_of(row, column):
                    yield _Fact(column, UNIT_REFERENCES, {"key": key, "value": text})
        for column, group in self._groups:
            with suppress(CellRejected):
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

    def _list_attributes(self, row: Row, column: Column, group: Group) -> list[str]:
        text = self._rows.text_of(row, column)
        if not text:
            return []
        exact = self._rows.text_of(row, column, exactly=True)
        if group.find(exact):
            text = exact
        values = [text] if group.is_single else self._rows.split(row, column, text)
        found: dict[str, None] = {}
        for value in values:
            try:
                is_date = column.target.startswith(DATE)
                name = to_day(value, self._rows.mapping.dates) if is_date else value
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
