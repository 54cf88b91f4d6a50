"""Locations: points of interest on a unit map."""

from typing import Annotated

from msgspec import Meta

from storage.records import location_filter
from storage.records.fields import NO_TIMESTAMP, Id, Record, Text, TimestampedRecord, TimestampText
from storage.records.kinds import ForeignKey, RecordType
from storage.units import SAME_ASSET

MAX_COORDINATE = 1e9

PROCESSED_FIELD = "processed"
"""Field that marks locations which processing has created and may replace."""

MapCoordinate = Annotated[float, Meta(ge=-MAX_COORDINATE, le=MAX_COORDINATE)]


class LocationFloor(Record, frozen=True, kw_only=True):
    """A floor that a location is on."""

    id: Id


class LocationTag(Record, frozen=True, kw_only=True):
    """A key and value that describe a location; keys may contain colons."""

    key: Id
    value: Text
    created_at: TimestampText = NO_TIMESTAMP
    updated_at: TimestampText = NO_TIMESTAMP


class Location(TimestampedRecord, frozen=True, kw_only=True):
    """A point in the coordinates of its map; tags describe what is there."""

    id: Id
    asset_id: Id
    unit_map_id: Id
    name: Text
    x: MapCoordinate
    y: MapCoordinate
    floors: list[LocationFloor] = []
    tags: list[LocationTag] = []


LOCATIONS = RecordType(
    "locations",
    "location",
    Location,
    foreign_keys=(
        ForeignKey("asset_id", "assets"),
        ForeignKey("unit_map_id", "maps", equal_fields=SAME_ASSET),
        ForeignKey("floors.id", "floors", equal_fields=SAME_ASSET),
    ),
    immutable_fields=("asset_id", "unit_map_id"),
    derived_fields=("words",),
    derive=lambda document: {"words": location_filter.index_words(document["tags"])},
    indexes=(("unit_map_id", "_id"), ("unit_map_id", "words", "_id"), ("asset_id", "words", "_id")),
)
