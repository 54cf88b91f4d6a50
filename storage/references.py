"""References: ids of assets and units in third-party systems."""

from storage.fields import Id, ReferenceKey, Stamped, Text
from storage.kinds import Kind, Owner
from storage.units import OF_ASSET


class AssetReference(Stamped, frozen=True, kw_only=True):
    """An asset's id in the system that `key` names."""

    id: Id
    asset_id: Id
    key: ReferenceKey
    value: Text


class UnitReference(Stamped, frozen=True, kw_only=True):
    """A unit's id in the system that `key` names; some values join two ids by an underscore."""

    group_id: Id
    asset_id: Id
    unit_id: Id
    key: ReferenceKey
    value: Text


ASSET_REFERENCES = Kind(
    "asset_references",
    "asset_reference",
    AssetReference,
    owners=(Owner("asset_id", "assets"),),
    indexes=(("asset_id", "_id"), ("key", "_id")),
)

UNIT_REFERENCES = Kind(
    "unit_references",
    "unit_reference",
    UnitReference,
    key=("unit_id", "key"),
    owners=(Owner("asset_id", "assets"), Owner("unit_id", "units", same=OF_ASSET)),
    indexes=(("asset_id", "_id"), ("key", "_id"), ("unit_id", "_id")),
)
