"""Backgrounds of a unit map."""

from storage.records.fields import Id, Text, TimestampedRecord
from storage.records.kinds import ForeignKey, RecordType


class Background(TimestampedRecord, frozen=True, kw_only=True):
    """A picture to show beneath a unit map."""

    id: Id
    unit_map_id: Id
    name: Text


BACKGROUNDS = RecordType(
    "backgrounds",
    "background",
    Background,
    foreign_keys=(ForeignKey("unit_map_id", "maps", copied_fields=("asset_id",)),),
    immutable_fields=("unit_map_id",),
    indexes=(("unit_map_id", "_id"),),
)
