"""Floors of an asset."""

from msgspec.structs import force_setattr

from storage.records.fields import Id, Int32, Text, TimestampedRecord
from storage.records.kinds import ForeignKey, RecordType


class Floor(TimestampedRecord, frozen=True, kw_only=True):
    """A storey of an asset; `sort` orders them from the lowest up. Labels default to `name`."""

    id: Id
    asset_id: Id
    name: Text
    label: Text = ""
    short_label: Text = ""
    sort: Int32 = 0

    def __post_init__(self) -> None:
        for label in ("label", "short_label"):
            if not getattr(self, label):
                force_setattr(self, label, self.name)


FLOORS = RecordType(
    "floors",
    "floor",
    Floor,
    foreign_keys=(ForeignKey("asset_id", "assets"),),
    indexes=(("asset_id", "_id"), ("asset_id", "sort", "_id")),
)
