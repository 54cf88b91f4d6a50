"""Level tags: keys and values that distinguish the levels of a unit map."""

from storage.records.fields import NO_TIMESTAMP, Id, Record, Text, TimestampedRecord, TimestampText
from storage.records.kinds import ForeignKey, RecordType


class LevelTagValue(Record, frozen=True, kw_only=True):
    """One value of a level tag; `value` is an id, such as a floor's."""

    name: Text
    value: Id
    created_at: TimestampText = NO_TIMESTAMP
    updated_at: TimestampText = NO_TIMESTAMP


class LevelTag(TimestampedRecord, frozen=True, kw_only=True):
    """A tag key of a map's levels with its values in display order."""

    map_id: Id
    key: Id
    name: Text
    values: list[LevelTagValue] = []


LEVEL_TAGS = RecordType(
    "level_tags",
    "level_tag",
    LevelTag,
    key_fields=("map_id", "key"),
    foreign_keys=(ForeignKey("map_id", "maps", copied_fields=("asset_id",)),),
    immutable_fields=(),
    indexes=(("map_id", "_id"),),
)
