"""Units: apartments, shops, offices."""

from storage.records.fields import Id, Text, TimestampedRecord
from storage.records.kinds import ForeignKey, RecordType
from storage.records.name_search import NAME_WORDS_FIELD, index_name

SAME_ASSET = (("asset_id", "asset_id"),)
"""For `ForeignKey.equal_fields`: owner and member belong to the same asset."""


class Unit(TimestampedRecord, frozen=True, kw_only=True):
    """A unit on a floor, shown on the maps `map_ids`, or on all maps of its asset if None."""

    id: Id
    asset_id: Id
    floor_id: Id
    name: Text
    map_ids: list[Id] | None = None


UNITS = RecordType(
    "units",
    "unit",
    Unit,
    foreign_keys=(
        ForeignKey("asset_id", "assets"),
        ForeignKey("floor_id", "floors", equal_fields=SAME_ASSET),
        ForeignKey("map_ids", "maps", equal_fields=SAME_ASSET, on_removal="clear"),
    ),
    derived_fields=(NAME_WORDS_FIELD,),
    derive=index_name,
    indexes=(
        ("_id", "asset_id"),
        ("asset_id", "_id"),
        ("floor_id", "_id"),
        ("asset_id", "map_ids", "_id"),
        (NAME_WORDS_FIELD, "_id"),
        ("asset_id", NAME_WORDS_FIELD, "_id"),
        ("updated_at", "_id"),
        ("asset_id", "updated_at", "_id"),
        ("floor_id", "updated_at", "_id"),
        ("name", "_id"),
        ("asset_id", "name", "_id"),
        ("floor_id", "name", "_id"),
    ),
    reserved_ids=frozenset({"references", "attribute-groups"}),
)
