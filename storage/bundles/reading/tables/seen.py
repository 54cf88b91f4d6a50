"""What the spreadsheets of one import have said so far."""

from collections.abc import Iterable
from typing import NamedTuple

from storage.bundles.reading.parser import BundleMember
from storage.bundles.reading.tables.floors import floor_key
from storage.bundles.reading.tables.groups import Groups
from storage.bundles.reading.tables.names import squeeze
from storage.records.kinds import Document


class First(NamedTuple):
    """What a record was called where it came up first."""

    name: str
    place: str


class Seen:
    """Records by key, of all spreadsheets of one import: tables name the same ones again."""

    def __init__(self, groups: Iterable[Document] = ()) -> None:
        self.groups = Groups(groups)
        self.asset_ids: dict[str, str] = {}
        """Ids of assets by name."""
        self._floor_ids: dict[tuple[str, ...], str] = {}
        """Ids of floors by asset and name, and by asset and key; empty if several have a key."""
        self._first: dict[tuple[str, str], First | None] = {}

    def add(self, kind: str, key: str, name: str, place: str) -> bool:
        """Note a record that a row names; return whether it is the first to do so."""
        if (kind, key) in self._first:
            return False
        self._first[kind, key] = First(name, place)
        return True

    def has(self, kind: str, key: str) -> bool:
        """Return whether a row names this record, or a sheet of its kind has it."""
        return (kind, key) in self._first

    def first(self, kind: str, key: str) -> First | None:
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
