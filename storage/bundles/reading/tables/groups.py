"""Attribute groups and their attributes, as columns and their values name them."""

from collections.abc import Iterable, Iterator

from storage.bundles.reading.parser import BundleMember
from storage.bundles.reading.tables.derived_ids import derive_id
from storage.bundles.reading.tables.files.sheets import Row
from storage.bundles.reading.tables.headers import Column
from storage.bundles.reading.tables.members import Rows
from storage.bundles.reading.tables.names import name_symbol, slug, squeeze
from storage.bundles.reading.tables.values.cells import CellError, clean
from storage.catalog import ATTRIBUTE_GROUPS
from storage.records.kinds import Document

MAX_NAMES_IN_NOTE = 12
NONE_WORDS = frozenset({"n/a", "na", "none", "null", "tbd"})
"""Names of attributes that may mean none."""


class Group:
    """A group, to which columns may add attributes."""

    def __init__(self, document: Document, *, is_closed: bool = False) -> None:
        self.group_id: str = document.get("_id") or document["group_id"]
        self.name: str = document["group_name"]
        self.is_single: bool = document.get("one_attribute_per_unit", False)
        self.attributes: list[dict[str, str]] = [*document.get("attributes", ())]
        self.added: list[str] = []
        self.is_closed = is_closed
        """Whether a sheet of this import has it, so that columns add nothing."""
        self.first: tuple[Rows, Row, Column] | None = None
        """What has changed it first."""
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

    def build(self) -> Iterator[BundleMember]:
        """Yield the group if it is new or has more attributes than before."""
        if self.first is None:
            return
        rows, row, column = self.first
        yield from rows.build(ATTRIBUTE_GROUPS, self.to_value(), row, column)

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


class Groups:
    """The groups of the catalog and of one import."""

    def __init__(self, documents: Iterable[Document] = ()) -> None:
        self._groups: dict[str, Group] = {}
        self._by_name: dict[str, Group] = {}
        for document in documents:
            self._add(Group(document))

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups.values())

    def name_of(self, group: Group) -> str:
        """Return a text by which `find_or_add` finds a group: its name, or else its id."""
        is_found = self._find(group.name) is group and clean(group.name) == group.name
        return group.name if is_found else group.group_id

    def _find(self, name: str) -> Group | None:
        return self._groups.get(name) or self._by_name.get(name.casefold())

    def add_explicit(self, document: Document) -> None:
        """Add a group of a sheet of this import. What the sheet lacks is as in the catalog."""
        known = self._groups.get(document["_id"])
        kept = known.to_value() if known else {"group_name": document["_id"]}
        self._add(Group(kept | document, is_closed=True))

    def find_or_add(self, name: str, is_single: bool) -> Group:
        """Return the group with this id or name; `is_single` is for a new one."""
        found = self._find(name)
        if found is None:
            group_id = slug(name) or name
            document = {
                "group_id": group_id,
                "group_name": name,
                "one_attribute_per_unit": is_single,
            }
            found = self._groups.get(group_id) or self._add(Group(document))
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
            yield from group.build()

    def _add(self, group: Group) -> Group:
        self._groups[group.group_id] = group
        self._by_name[group.name.casefold()] = group
        return group
