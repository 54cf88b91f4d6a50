"""Which records a caller may see: a required argument of every read."""

from dataclasses import dataclass
from typing import Any

from storage.records.kinds import Document, RecordType


@dataclass(frozen=True, slots=True)
class AssetScope:
    """The assets that a caller may see; None means all, including future ones.

    >>> AssetScope(frozenset({"a"})).allows("b")
    False
    """

    asset_ids: frozenset[str] | None

    def restrict(self, kind: RecordType[Any], where: Document) -> Document:
        """Return a condition that matches what `where` matches and the scope allows."""
        if self.asset_ids is None or not kind.scope_field:
            return where
        visible = {kind.scope_field: {"$in": sorted(self.asset_ids)}}
        return {"$and": [where, visible]} if where else visible

    def allows(self, asset_id: str) -> bool:
        """Return whether the caller may see this asset."""
        return self.asset_ids is None or asset_id in self.asset_ids

    def is_within(self, other: "AssetScope") -> bool:
        """Return whether a caller of the other scope sees all that one of this scope sees.

        >>> ALL_ASSETS.is_within(AssetScope(frozenset({"a"})))
        False
        """
        if other.asset_ids is None:
            return True
        return self.asset_ids is not None and self.asset_ids <= other.asset_ids


ALL_ASSETS = AssetScope(None)
