"""Units: apartments, shops, offices."""

from storage.records.fields import Id, Text, TimestampedRecord
from storage.records.kinds import Kind, Owner

SAME_ASSET = (("asset_id", "asset_id"),)
"""For `Owner.must_match`: owner and member belong to the same asset."""


class Unit(TimestampedRecord, frozen=True, kw_only=True):
    """A unit on a floor, shown on the maps `map_ids`, or on all maps of its asset if None."""

    id: Id
    asset_id: Id
    floor_id: Id
    name: Text
    map_ids: list[Id] | None = None


UNITS = Kind(
    "units",
    "unit",
    Unit,
    owners=(
        Owner("asset_id", "assets"),
        Owner("floor_id", "floors", must_match=SAME_ASSET),
        Owner("map_ids", "maps", must_match=SAME_ASSET),
    ),
    indexes=(("asset_id", "_id"), ("floor_id", "_id"), ("asset_id", "map_ids", "_id")),
)
