"""Assets: properties, to which all other records belong."""

from storage.records.fields import Id, Text, TimestampedRecord
from storage.records.kinds import RecordType
from storage.records.name_search import NAME_WORDS_FIELD, index_name


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
    derived_fields=(NAME_WORDS_FIELD,),
    derive=index_name,
    indexes=((NAME_WORDS_FIELD, "_id"), ("updated_at", "_id")),
    scope_field="_id",
    reserved_ids=frozenset({"references"}),
)
