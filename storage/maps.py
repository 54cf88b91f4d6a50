"""Unit maps: interactive floor plans."""

from typing import Annotated

from msgspec import Meta

from storage.records.fields import TEXT_PATTERN, Id, MapTag, Text, TimestampedRecord
from storage.records.kinds import Document, Kind, Owner

NO_ROUTING = "no_routing"
"""The routing tier of a map without a network."""


class Map(TimestampedRecord, frozen=True, kw_only=True):
    """A unit map. In a bundle `source` is the path of its SVG, or the SVG itself as a data URL;
    in the database it is the digest under which `storage.files` keeps it."""

    id: Id
    asset_id: Id
    background_id: Id | None = None
    name: Text
    style: Text = "a"
    style_type: Text = "floor_plate"
    tags: list[MapTag] = []
    routing_tier: Text = NO_ROUTING
    geojson_url: Text | None = None
    url: Text | None = None
    feet_per_unit: Annotated[float, Meta(gt=0, le=1e6)] | None = None
    source: Annotated[str, Meta(pattern=TEXT_PATTERN)] | None = None


PATHFINDING_TAG = "pathfinding"
"""The tag of a map that has been processed for routing."""
NETWORK_FIELD = "network"
"""The field that holds the digest under which `storage.files` keeps what routing needs."""


def _keep_routing(new: Document, live: Document) -> Document:
    """A bundle says nothing of routing: a processed map stays so."""
    if not live.get(NETWORK_FIELD):
        return {}
    tags = new["tags"] if PATHFINDING_TAG in new["tags"] else [*new["tags"], PATHFINDING_TAG]
    return {"tags": tags, "routing_tier": live["routing_tier"], NETWORK_FIELD: live[NETWORK_FIELD]}


MAPS = Kind(
    "maps",
    "map",
    Map,
    owners=(
        Owner("asset_id", "assets"),
        Owner("background_id", "backgrounds", must_match=(("id", "unit_map_id"),)),
    ),
    indexes=(("asset_id", "_id"), ("tags", "_id")),
    derived_fields=("parsed", NETWORK_FIELD),
    keep_on_import=_keep_routing,
)
