"""Assets: properties, to which all other records belong."""

from storage.records.fields import Id, Text, TimestampedRecord
from storage.records.kinds import RecordType


class Asset(TimestampedRecord, frozen=True, kw_only=True):
    """A property."""

    id: Id
    name: Text
    market: Text = "multifamily"


ASSETS = RecordType(
    "assets",
    "asset",
    Asset,
    immutable_fields=(),
    scope_field="_id",
    reserved_ids=frozenset({"references"}),
)
