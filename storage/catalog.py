"""The kinds of records of the catalog: their fields, keys, owners and indexes.

`RECORD_TYPES` lists them, owners before the records that refer to them. Imports write in this
order, so that a reader never meets a reference to a missing record. Only backgrounds and maps refer
to each other; backgrounds come first, because clients reach them through their map.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import orjson
from msgspec import Meta
from msgspec.structs import force_setattr

from storage.records import filters
from storage.records.filters import NAME_WORDS_FIELD, index_name
from storage.records.kinds import (
    NO_TIMESTAMP,
    TEXT_PATTERN,
    Document,
    ForeignKey,
    Id,
    Int32,
    MadeFor,
    MapTag,
    Record,
    RecordType,
    ReferenceKey,
    Text,
    TimestampedRecord,
    TimestampText,
    WebAddress,
)


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


SAME_ASSET = (("asset_id", "asset_id"),)
"""The field of `ForeignKey.equal_fields` by which owner and member belong to the same asset."""


class Unit(TimestampedRecord, frozen=True, kw_only=True):
    """A unit on a floor, shown on the maps `map_ids`, or on all maps of its asset if None."""

    id: Id
    asset_id: Id
    floor_id: Id
    name: Text
    map_ids: list[Id] | None = None


UNITS = RecordType(
    "units",
    "unit",
    Unit,
    foreign_keys=(
        ForeignKey("asset_id", "assets"),
        ForeignKey("floor_id", "floors", equal_fields=SAME_ASSET),
        ForeignKey("map_ids", "maps", equal_fields=SAME_ASSET, on_removal="clear"),
    ),
    derived_fields=(NAME_WORDS_FIELD,),
    derive=index_name,
    indexes=(
        ("_id", "asset_id"),
        ("asset_id", "_id"),
        ("floor_id", "_id"),
        ("asset_id", "map_ids", "_id"),
        (NAME_WORDS_FIELD, "_id"),
        ("asset_id", NAME_WORDS_FIELD, "_id"),
        ("updated_at", "_id"),
        ("asset_id", "updated_at", "_id"),
        ("floor_id", "updated_at", "_id"),
        ("name", "_id"),
        ("asset_id", "name", "_id"),
        ("floor_id", "name", "_id"),
    ),
    reserved_ids=frozenset({"references", "attribute-groups"}),
)


class AssetReference(TimestampedRecord, frozen=True, kw_only=True):
    """An asset's id in the system that `key` names."""

    id: Id
    asset_id: Id
    key: ReferenceKey
    value: Text


class UnitReference(TimestampedRecord, frozen=True, kw_only=True):
    """A unit's id in the system that `key` names; some systems join two ids by an underscore."""

    group_id: Id
    asset_id: Id
    unit_id: Id
    key: ReferenceKey
    value: Text


ASSET_REFERENCES = RecordType(
    "asset_references",
    "asset_reference",
    AssetReference,
    foreign_keys=(ForeignKey("asset_id", "assets"),),
    indexes=(
        ("asset_id", "_id"),
        ("key", "_id"),
        ("value", "_id"),
        ("asset_id", "value", "_id"),
        ("updated_at", "_id"),
        ("asset_id", "updated_at", "_id"),
    ),
)

UNIT_REFERENCES = RecordType(
    "unit_references",
    "unit_reference",
    UnitReference,
    key_fields=("unit_id", "key"),
    foreign_keys=(
        ForeignKey("asset_id", "assets"),
        ForeignKey("unit_id", "units", equal_fields=SAME_ASSET),
    ),
    indexes=(
        ("asset_id", "_id"),
        ("key", "_id"),
        ("unit_id", "_id"),
        ("value", "_id"),
        ("asset_id", "value", "_id"),
        ("updated_at", "_id"),
        ("asset_id", "updated_at", "_id"),
    ),
)


class Attribute(Record, frozen=True, kw_only=True):
    """An attribute that units of any asset can have."""

    attribute_id: Id
    attribute_name: Text
    attribute_key: Text


class AttributeGroup(Record, frozen=True, kw_only=True):
    """A group of attributes; a unit has any number of them, or at most one."""

    group_id: Id
    group_name: Text
    one_attribute_per_unit: bool = False
    attributes: list[Attribute] = []


class Assignment(Record, frozen=True, kw_only=True):
    """The fact that a unit has an attribute."""

    group_id: Id
    attribute_id: Id
    asset_id: Id
    unit_id: Id


ATTRIBUTE_GROUPS = RecordType(
    "attribute_groups",
    "attribute_group",
    AttributeGroup,
    key_fields=("group_id",),
    immutable_fields=(),
    scope_field="",
    unique_items=("attributes", "attribute_id"),
)

ASSIGNMENTS = RecordType(
    "attribute_assignments",
    "attribute_assignment",
    Assignment,
    key_fields=("group_id", "unit_id", "attribute_id"),
    foreign_keys=(
        ForeignKey(
            "group_id",
            "attribute_groups",
            value_in=("attribute_id", "attributes.attribute_id"),
            copied_fields=("one_attribute_per_unit",),
        ),
        ForeignKey("asset_id", "assets"),
        ForeignKey("unit_id", "units", equal_fields=SAME_ASSET),
    ),
    single_valued_flag="one_attribute_per_unit",
    indexes=(
        ("group_id", "_id"),
        ("group_id", "asset_id", "_id"),
        ("unit_id", "_id"),
        ("group_id", "attribute_id", "_id"),
        ("group_id", "attribute_id", "asset_id", "_id"),
    ),
)


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


# The georeference of a parsed map: kept in the map's document, so that lists read no drawings.


GEOREFERENCE_FIELD = "georeference"
"""Field of a map with the georeference of its parsed map, beside its digest."""
MAX_LATITUDE = 85.0
"""Beyond it web maps end, and zoom says nothing."""
MAX_LONGITUDE = 180.0
MAX_ZOOM = 24.0
METRES_PER_PIXEL = 156_543.03392
"""A pixel of a web map has this size at the equator, at zoom 0."""

# A quote within a text has a backslash in front of it, so this begins no text.
_START = b'{"type":"Georeference",'


class Georeference(msgspec.Struct, frozen=True):
    """The place of the centre of a drawing, in degrees of WGS 84.

    At `zoom` a unit of the drawing is a pixel of a web map with tiles of 256 pixels; 0 says
    nothing. `bearing` is the direction of the drawing's upper edge, in degrees clockwise from
    north.
    """

    latitude: float
    longitude: float
    zoom: float = 0.0
    bearing: float = 0.0

    def has_scale(self, feet_per_unit: float | None) -> bool:
        """Return whether the size of a unit of the drawing is known, by its map or by the zoom."""
        return feet_per_unit is not None or self.zoom > 0


def find_georeference(parsed: bytes) -> Document | None:
    """Return the first georeference in the JSON of a parsed map; None if it is out of range.

    >>> find_georeference(b'{"elements":[{"type":"Georeference","latitude":56,"longitude":10}]}')
    {'latitude': 56.0, 'longitude': 10.0, 'zoom': 0.0, 'bearing': 0.0}
    """
    start = parsed.find(_START)
    if start < 0:
        return None
    members: dict[str, Any] = orjson.loads(parsed[start : parsed.index(b"}", start) + 1])
    found = msgspec.convert(members, Georeference)
    is_in_range = (
        abs(found.latitude) <= MAX_LATITUDE
        and abs(found.longitude) <= MAX_LONGITUDE
        and found.zoom <= MAX_ZOOM
    )
    return msgspec.to_builtins(found) if is_in_range else None


def read_georeference(unit_map: Document) -> Georeference | None:
    """Return the georeference in the document of a map."""
    found = unit_map.get(GEOREFERENCE_FIELD)
    return None if found is None else msgspec.convert(found, Georeference)


NO_ROUTING = "no_routing"
"""Routing tier of a map without a network."""
FOOT_ROUTING = "foot_routing"
WHEELCHAIR_ROUTING = "wheelchair_routing"
"""One of these two is the routing tier of a map with a network, set by processing.

See docs/decisions/routing/publishing.md.
"""


class Map(TimestampedRecord, frozen=True, kw_only=True):
    """A unit map.

    In a bundle `source` is the path of its SVG, or the SVG as a data URL; in the database, the
    digest of the file (`storage.mongo.files`).
    """

    id: Id
    asset_id: Id
    background_id: Id | None = None
    name: Text
    style: Text = "a"
    style_type: Text = "floor_plate"
    tags: list[MapTag] = []
    routing_tier: Text = NO_ROUTING
    geojson_url: WebAddress | None = None
    url: WebAddress | None = None
    feet_per_unit: Annotated[float, Meta(gt=0, le=1e6)] | None = None
    source: Annotated[str, Meta(min_length=1, pattern=TEXT_PATTERN)] | None = None


PARSED_FIELD = "parsed"
"""Field with the digest of the file that holds the parsed map: of the drawing (`source`), or of the
plan that the map was processed from."""
PARSED_FIELDS = (PARSED_FIELD, GEOREFERENCE_FIELD)
"""Fields that change with the parsed map."""
PATHFINDING_TAG = "pathfinding"
"""Tag of a map that has been processed for routing."""
NETWORK_FIELD = "network"
"""Field with the digest of the file that holds the routing network."""
NETWORK_STATE_FIELD = "network_state"
"""Field with what the network was built from (`storage.routing_inputs.NetworkState`)."""
PLAN_FIELD = f"{NETWORK_STATE_FIELD}.plan"
"""Field with the digest of the file that holds the plan that the network was built from, if that is
not the map's own drawing: a zip."""
MAP_FILE_FIELDS = ("source", PARSED_FIELD, NETWORK_FIELD, PLAN_FIELD)
"""These fields of a map hold the digest of a file."""

REPORT_FIELD = "routing_report"
"""Field with the report of the map's last processing."""


def _keep_processed(new: Document, live: Document) -> Document:
    """Preserve what processing has set: bundles know nothing of it."""
    has_drawing = new.get("source") or live.get("source")
    kept: Document = {} if has_drawing else {name: live.get(name) for name in PARSED_FIELDS}
    network, state = live.get(NETWORK_FIELD), live.get(NETWORK_STATE_FIELD)
    if not network and not state:
        return kept
    kept |= {NETWORK_FIELD: network, NETWORK_STATE_FIELD: state}
    keeps_scale = state and (
        state.get("is_scale_given") or not (has_drawing and state.get("is_from_drawing", True))
    )
    if keeps_scale and new["feet_per_unit"] is None:
        kept["feet_per_unit"] = live["feet_per_unit"]
    if not network:  # withdrawn: a bundle that was exported before still has the tag
        tags = [tag for tag in new["tags"] if tag != PATHFINDING_TAG]
        return {**kept, "tags": tags, "routing_tier": NO_ROUTING}
    tags = new["tags"] if PATHFINDING_TAG in new["tags"] else [*new["tags"], PATHFINDING_TAG]
    return {**kept, "tags": tags, "routing_tier": live["routing_tier"]}


MAPS = RecordType(
    "maps",
    "map",
    Map,
    foreign_keys=(
        ForeignKey("asset_id", "assets"),
        ForeignKey(
            "background_id",
            "backgrounds",
            equal_fields=(("id", "unit_map_id"),),
            on_removal="clear",
        ),
    ),
    indexes=(
        ("asset_id", "_id"),
        ("tags", "_id"),
        (NAME_WORDS_FIELD, "_id"),
        ("asset_id", NAME_WORDS_FIELD, "_id"),
        ("updated_at", "_id"),
        ("asset_id", "updated_at", "_id"),
    ),
    derived_fields=(*PARSED_FIELDS, NETWORK_FIELD, NETWORK_STATE_FIELD, NAME_WORDS_FIELD),
    derive=index_name,
    keep_on_import=_keep_processed,
    reserved_ids=frozenset({"parse"}),
)


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
    words = [filters.index_word(UNIT_ID_TAG, unit_id) for unit_id in unit_ids]
    return {
        "words": {"$in": words},  # these are indexed, but ignore case
        "$and": [
            {"tags": {"$elemMatch": {"key": UNIT_ID_TAG, "value": {"$in": [*unit_ids]}}}},
            {"tags": {"$elemMatch": {"key": TYPE_TAG, "value": "unit"}}},
        ],
    }


def _derive_words(document: Document) -> Document:
    words = filters.index_words(document["tags"])
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


RECORD_TYPES: tuple[RecordType[Any], ...] = (
    ASSETS,
    FLOORS,
    BACKGROUNDS,
    MAPS,
    UNITS,
    LEVEL_TAGS,
    ASSET_REFERENCES,
    UNIT_REFERENCES,
    ATTRIBUTE_GROUPS,
    ASSIGNMENTS,
    LOCATIONS,
)

RECORD_TYPES_BY_NAME = {kind.name: kind for kind in RECORD_TYPES}
