"""What the spreadsheets of one import have said so far."""

from collections.abc import Iterable
from typing import NamedTuple

from storage.bundles.reading.parser import BundleMember
from storage.bundles.reading.tables.groups import Groups
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
        self.floor_ids: dict[tuple[str, str], str] = {}
        """Ids of floors by asset and name."""
        self._first: dict[tuple[str, str], First | None] = {}

    def add(self, kind: str, key: str, name: str, place: str) -> bool:
        """Note a record that a row names; return whether it is the first to do so."""
        if (kind, key) in self._first:
            return False
        self._first[kind, key] = First(name, place)
        return True

    def first(self, kind: str, key: str) -> First | None:
        """Return what named a record first; None if a sheet of its kind has it."""
        return self._first[kind, key]

    def add_explicit(self, member: BundleMember) -> None:
        """Note a record of a sheet that is named after its resource."""
        document = member.document
        name = document.get("name", "")
        if member.kind.name == "assets":
            self.asset_ids.setdefault(name, document["_id"])
        elif member.kind.name == "floors":
            self.floor_ids.setdefault((document["asset_id"], name), document["_id"])
        elif member.kind.name == "attribute_groups":
            self.groups.add_explicit(document)
        if member.kind.name in ("assets", "floors"):
            self._first[member.kind.name, document["_id"]] = None
