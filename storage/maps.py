"""Unit maps: interactive floor plans."""

from typing import Annotated

from msgspec import Meta

from storage.georeferences import GEOREFERENCE_FIELD
from storage.records.fields import (
    TEXT_PATTERN,
    Id,
    MapTag,
    Text,
    TimestampedRecord,
    WebAddress,
)
from storage.records.kinds import Document, ForeignKey, RecordType
from storage.records.name_search import NAME_WORDS_FIELD, index_name

NO_ROUTING = "no_routing"
"""Routing tier of a map without a network."""
FOOT_ROUTING = "foot_routing"
WHEELCHAIR_ROUTING = "wheelchair_routing"
"""One of these two is the routing tier of a map with a network, set by processing.

See docs/decisions/routing/modes-and-tiers.md.
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


REPORT_FIELD = "routing_report"
"""Field with the report of the map's last processing."""


def _keep_processed(new: Document, live: Document) -> Document:
    """Preserve what processing has set: bundles know nothing of it."""
    has_drawing = new.get("source") or live.get("source")
    kept = {} if has_drawing else {name: live.get(name) for name in PARSED_FIELDS}
    return kept | _keep_routing(new, live)


def _keep_routing(new: Document, live: Document) -> Document:
    network, state = live.get(NETWORK_FIELD), live.get(NETWORK_STATE_FIELD)
    if not network and not state:
        return {}
    kept: Document = {NETWORK_FIELD: network, NETWORK_STATE_FIELD: state}
    has_drawing = new.get("source") or live.get("source")
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
