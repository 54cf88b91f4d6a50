"""Level tags: what the levels of a unit map can be told apart by."""

from storage.fields import NOT_STAMPED, Id, Record, Stamped, Text, Timestamp
from storage.kinds import Kind, Owner


class LevelTagValue(Record, frozen=True, kw_only=True):
    """One value of a level tag; `value` is an id, such as a floor's."""

    name: Text
    value: Id
    created_at: Timestamp = NOT_STAMPED
    updated_at: Timestamp = NOT_STAMPED


class LevelTag(Stamped, frozen=True, kw_only=True):
    """A tag key of a map's levels with its values in display order."""

    map_id: Id
    key: Id
    name: Text
    values: list[LevelTagValue] = []


LEVEL_TAGS = Kind(
    "level_tags",
    "level_tag",
    LevelTag,
    key=("map_id", "key"),
    owners=(Owner("map_id", "maps", lends=("asset_id",)),),
    fixed=(),
    indexes=(("map_id", "_id"),),
)
