"""Locations: points of interest on a unit map."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from storage.records import location_filter
from storage.records.fields import NO_TIMESTAMP, Id, Record, Text, TimestampedRecord, TimestampText
from storage.records.kinds import Document, ForeignKey, MadeFor, RecordType
from storage.records.name_search import NAME_WORDS_FIELD, index_name
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


UNIT_ID_TAG, TYPE_TAG = "svc:id", "svc:type"
"""Tags of a location that stands for a unit: the unit's id, and the type `unit`."""


def _stand_for_units(unit_ids: Sequence[str]) -> Document:
    """Return the condition on the locations that stand for these units."""
    words = [location_filter.index_word(UNIT_ID_TAG, unit_id) for unit_id in unit_ids]
    return {
        "words": {"$in": words},  # these are indexed, but ignore case
        "$and": [
            {"tags": {"$elemMatch": {"key": UNIT_ID_TAG, "value": {"$in": [*unit_ids]}}}},
            {"tags": {"$elemMatch": {"key": TYPE_TAG, "value": "unit"}}},
        ],
    }


def _derive_words(document: Document) -> Document:
    words = location_filter.index_words(document["tags"])
    return {"words": words} | index_name(document)


LOCATIONS = RecordType(
    "locations",
    "location",
    Location,
    foreign_keys=(
        ForeignKey("asset_id", "assets"),
        ForeignKey("unit_map_id", "maps", equal_fields=SAME_ASSET),
        ForeignKey("floors.id", "floors", equal_fields=SAME_ASSET, on_removal="remove_last"),
    ),
    made_for=(MadeFor("units", "tags.value", _stand_for_units),),
    immutable_fields=("asset_id", "unit_map_id"),
    derived_fields=("words", NAME_WORDS_FIELD),
    derive=_derive_words,
    indexes=(
        ("unit_map_id", "_id"),
        ("unit_map_id", "words", "_id"),
        ("asset_id", "words", "_id"),
        ("unit_map_id", NAME_WORDS_FIELD, "_id"),
        ("unit_map_id", "updated_at", "_id"),
    ),
)
