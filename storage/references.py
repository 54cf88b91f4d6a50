"""References: ids of assets and units in third-party systems."""

from storage.records.fields import Id, ReferenceKey, Text, TimestampedRecord
from storage.records.kinds import ForeignKey, RecordType
from storage.units import SAME_ASSET


class AssetReference(TimestampedRecord, frozen=True, kw_only=True):
    """An asset's id in the system that `key` names."""

    id: Id
    asset_id: Id
    key: ReferenceKey
    value: Text


class UnitReference(TimestampedRecord, frozen=True, kw_only=True):
    """A unit's id in the system that `key` names; some systems join two ids by an underscore."""

    group_id: Id
    asset_id: Id
    unit_id: Id
    key: ReferenceKey
    value: Text


ASSET_REFERENCES = RecordType(
    "asset_references",
    "asset_reference",
    AssetReference,
    foreign_keys=(ForeignKey("asset_id", "assets"),),
    indexes=(
        ("asset_id", "_id"),
        ("key", "_id"),
        ("value", "_id"),
        ("asset_id", "value", "_id"),
        ("updated_at", "_id"),
        ("asset_id", "updated_at", "_id"),
    ),
)

UNIT_REFERENCES = RecordType(
    "unit_references",
    "unit_reference",
    UnitReference,
    key_fields=("unit_id", "key"),
    foreign_keys=(
        ForeignKey("asset_id", "assets"),
        ForeignKey("unit_id", "units", equal_fields=SAME_ASSET),
    ),
    indexes=(
        ("asset_id", "_id"),
        ("key", "_id"),
        ("unit_id", "_id"),
        ("value", "_id"),
        ("asset_id", "value", "_id"),
        ("updated_at", "_id"),
        ("asset_id", "updated_at", "_id"),
    ),
)
