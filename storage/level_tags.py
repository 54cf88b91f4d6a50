"""Level tags: keys and values that distinguish the levels of a unit map."""

from storage.records.fields import NO_TIMESTAMP, Id, Record, Text, Timestamp, TimestampedRecord
from storage.records.kinds import Kind, Owner


class LevelTagValue(Record, frozen=True, kw_only=True):
    """One value of a level tag; `value` is an id, such as a floor's."""

    name: Text
    value: Id
    created_at: Timestamp = NO_TIMESTAMP
    updated_at: Timestamp = NO_TIMESTAMP


class LevelTag(TimestampedRecord, frozen=True, kw_only=True):
    """A tag key of a map's levels with its values in display order."""

    map_id: Id
    key: Id
    name: Text
    values: list[LevelTagValue] = []


LEVEL_TAGS = Kind(
    "level_tags",
    "level_tag",
    LevelTag,
    key_fields=("map_id", "key"),
    owners=(Owner("map_id", "maps", copies=("asset_id",)),),
    immutable_fields=(),
    indexes=(("map_id", "_id"),),
)
