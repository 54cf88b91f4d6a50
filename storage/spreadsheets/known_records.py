"""The records that the spreadsheets of one import have named so far, and attribute groups."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from storage.bundles.json_bundles import BundleMember
from storage.bundles.names import derive_id, floor_key, name_symbol, slug, squeeze
from storage.catalog import ATTRIBUTE_GROUPS
from storage.records.kinds import Document
from storage.spreadsheets.cells import CellError, clean
from storage.spreadsheets.sheets import Row
from storage.spreadsheets.tables import Column, Rows

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
