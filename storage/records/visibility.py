"""Restrict every read to the records that a caller may see, by a required argument.

Most reads need no condition for it: the asset of what they ask for is in the condition or in the
documents, and is checked here. See docs/decisions/storage/scopes.md.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from storage.records.kinds import Document, RecordType

MAX_ASSETS_IN_COMMAND = 200
"""Assets of a key that a command names. MongoDB merges the index ranges of as many in the order of
a list (`internalQueryMaxScansToExplode`); of more, it reads the list and drops what does not match.
"""
NOTHING: Document = {"_id": {"$in": []}}
"""The condition that no record meets."""


@dataclass(frozen=True)
class AssetScope:
    """The assets that a caller may see; None means all, including future ones.

    >>> AssetScope(frozenset({"a"})).allows("b")
    False
    """

    asset_ids: frozenset[str] | None
    _shared: ClassVar[WeakValueDictionary[frozenset[str], "AssetScope"]] = WeakValueDictionary()

    @classmethod
    def of(cls, asset_ids: Iterable[str] | None) -> "AssetScope":
        """Return the scope of these assets, the same object while one is in use.

        Caches compare scopes with each lookup: comparing ten thousand ids would take longer than
        what they save.
        """
        if asset_ids is None:
            return ALL_ASSETS
        ids = frozenset(asset_ids)
        return cls._shared.setdefault(ids, cls(ids))

    @cached_property
    def sorted_ids(self) -> Sequence[str]:
        """The assets in the order of MongoDB; none for a scope of all assets."""
        return sorted(self.asset_ids or ())

    def restrict(self, kind: RecordType[Any], where: Document) -> Document:
        """Return a condition that matches what `where` matches and the scope allows.

        >>> from storage.catalog import FLOORS
        >>> AssetScope(frozenset({"a"})).restrict(FLOORS, {"asset_id": "a"})
        {'asset_id': 'a'}
        """
        if self.asset_ids is None or not kind.scope_field:
            return where
        asset_id = _find_equality(kind.scope_field, where)
        if asset_id is not None:
            return where if asset_id in self.asset_ids else NOTHING
        visible = {kind.scope_field: {"$in": self.sorted_ids}}
        return {"$and": [where, visible]} if where else visible

    def needs_scan(self, kind: RecordType[Any], where: Document) -> bool:
        """Return whether `restrict` would name more assets than a command should."""
        return (
            self.asset_ids is not None
            and len(self.asset_ids) > MAX_ASSETS_IN_COMMAND
            and bool(kind.scope_field)
            and _find_equality(kind.scope_field, where) is None
        )

    def allows(self, asset_id: str) -> bool:
        """Return whether the caller may see this asset."""
        return self.asset_ids is None or asset_id in self.asset_ids

    def keep_visible(
        self, kind: RecordType[Any], documents: Sequence[Document]
    ) -> Sequence[Document]:
        """Return the visible ones of documents that were read with the field of their asset."""
        visible, field = self.asset_ids, kind.scope_field
        if visible is None or not field:
            return documents
        # A damaged document may have anything, or nothing, in the place of the asset.
        return [
            each for each in documents if isinstance(id := each.get(field), str) and id in visible
        ]

    def count_visible(self, asset_ids: Sequence[Any]) -> int:
        """Return how many records are visible, given the asset of each.

        >>> AssetScope(frozenset({"a"})).count_visible(["a", "b", "a", None])
        2
        """
        visible = self.asset_ids
        if visible is None:
            return len(asset_ids)
        return sum(isinstance(id, str) and id in visible for id in asset_ids)

    def list_ids_after(self, asset_id: str | None, limit: int) -> Sequence[str]:
        """Return up to `limit` assets that follow one, or the first ones.

        >>> AssetScope(frozenset({"a", "b", "c"})).list_ids_after("a", 5)
        ['b', 'c']
        """
        start = 0 if asset_id is None else bisect_right(self.sorted_ids, asset_id)
        return self.sorted_ids[start : start + limit]

    def is_within(self, other: "AssetScope") -> bool:
        """Return whether a caller of the other scope sees all that one of this scope sees.

        >>> ALL_ASSETS.is_within(AssetScope(frozenset({"a"})))
        False
        """
        if other.asset_ids is None:
            return True
        return self.asset_ids is not None and self.asset_ids <= other.asset_ids


ALL_ASSETS = AssetScope(None)


def project_asset(kind: RecordType[Any], projection: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a projection with the field by which `AssetScope.keep_visible` decides."""
    return {**projection, kind.scope_field: 1} if kind.scope_field else projection


def _find_equality(field: str, where: Document) -> str | None:
    """Return the value that a field has in everything that meets a condition, or None."""
    value = where.get(field)
    if isinstance(value, dict):
        value = value.get("$eq")
    if isinstance(value, str):
        return value
    parts = (_find_equality(field, part) for part in where.get("$and", ()))
    return next((found for found in parts if found is not None), None)
