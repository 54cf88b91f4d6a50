"""Backgrounds of a unit map."""

from storage.records.fields import Id, Text, TimestampedRecord
from storage.records.kinds import Kind, Owner


class Background(TimestampedRecord, frozen=True, kw_only=True):
    """A picture to show beneath a unit map."""

    id: Id
    unit_map_id: Id
    name: Text


BACKGROUNDS = Kind(
    "backgrounds",
    "background",
    Background,
    owners=(Owner("unit_map_id", "maps", copies=("asset_id",)),),
    immutable_fields=("unit_map_id",),
    indexes=(("unit_map_id", "_id"),),
)
