"""Unit maps: interactive floor plans."""

from typing import Annotated

from msgspec import Meta

from storage.records.fields import (
    TEXT_PATTERN,
    Id,
    MapTag,
    Text,
    TimestampedRecord,
    WebAddress,
)
from storage.records.kinds import Document, ForeignKey, RecordType

NO_ROUTING = "no_routing"
"""Routing tier of a map without a network."""
FOOT_ROUTING = "foot_routing"
WHEELCHAIR_ROUTING = "wheelchair_routing"
ROUTING_TIERS = (FOOT_ROUTING, WHEELCHAIR_ROUTING)
"""Routing tiers of maps with a network, set by processing.

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
    source: Annotated[str, Meta(pattern=TEXT_PATTERN)] | None = None


PATHFINDING_TAG = "pathfinding"
"""Tag of a map that has been processed for routing."""
NETWORK_FIELD = "network"
"""Field with the digest of the file that holds the routing network."""


def _keep_routing(new: Document, live: Document) -> Document:
    """Preserve what processing has set: bundles know nothing of routing."""
    if not live.get(NETWORK_FIELD):
        return {}
    tags = new["tags"] if PATHFINDING_TAG in new["tags"] else [*new["tags"], PATHFINDING_TAG]
    return {"tags": tags, "routing_tier": live["routing_tier"], NETWORK_FIELD: live[NETWORK_FIELD]}


MAPS = RecordType(
    "maps",
    "map",
    Map,
    foreign_keys=(
        ForeignKey("asset_id", "assets"),
        ForeignKey("background_id", "backgrounds", equal_fields=(("id", "unit_map_id"),)),
    ),
    indexes=(("asset_id", "_id"), ("tags", "_id")),
    derived_fields=("parsed", NETWORK_FIELD),
    keep_on_import=_keep_routing,
    reserved_ids=frozenset({"parse"}),
)
