"""Unit maps: interactive floor plans."""

from typing import Annotated

from msgspec import Meta

from storage.fields import TEXT, Id, Stamped, Tag, Text
from storage.kinds import Document, Kind, Owner

NO_ROUTING = "no_routing"
"""The routing tier of a map without a network."""


class Map(Stamped, frozen=True, kw_only=True):
    """A unit map. In a bundle `source` is the path of its SVG, or the SVG itself as a data URL;
    in the database it is the digest under which `storage.files` keeps it."""

    id: Id
    asset_id: Id
    background_id: Id | None = None
    name: Text
    style: Text = "a"
    style_type: Text = "floor_plate"
    tags: list[Tag] = []
    routing_tier: Text = NO_ROUTING
    geojson_url: Text | None = None
    url: Text | None = None
    feet_per_unit: Annotated[float, Meta(gt=0, le=1e6)] | None = None
    source: Annotated[str, Meta(pattern=TEXT)] | None = None


PATHFINDING = "pathfinding"
"""The tag of a map that has been processed for routing."""
NETWORK = "network"
"""The field that holds the digest under which `storage.files` keeps what routing needs."""


def _routing(new: Document, live: Document) -> Document:
    """A bundle says nothing of routing: a processed map stays so."""
    if not live.get(NETWORK):
        return {}
    tags = new["tags"] if PATHFINDING in new["tags"] else [*new["tags"], PATHFINDING]
    return {"tags": tags, "routing_tier": live["routing_tier"], NETWORK: live[NETWORK]}


MAPS = Kind(
    "maps",
    "map",
    Map,
    owners=(
        Owner("asset_id", "assets"),
        Owner("background_id", "backgrounds", same=(("id", "unit_map_id"),)),
    ),
    indexes=(("asset_id", "_id"), ("tags", "_id")),
    derived=("parsed", NETWORK),
    inherit=_routing,
)
