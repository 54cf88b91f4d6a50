"""What processing leaves of a map for requests: its router, and where its locations were then."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from routing.archive import pack_archive, unpack_archive
from routing.search.router import Router
from routing.serialization import deserialize_router, serialize_router
from storage.locations import Location

ARCHIVE_KIND = "routable"


class Placement(NamedTuple):
    """Where a location is, in the map's units; its own floor is the first of `floor_ids`."""

    id: str
    name: str
    x: float
    y: float
    floor_ids: tuple[str, ...]

    @property
    def floor_id(self) -> str:
        """Empty for a location that is on no floor."""
        return self.floor_ids[0] if self.floor_ids else ""


class RoutableMap(NamedTuple):
    """A map that can be routed on, and its locations by id."""

    router: Router
    placements: Mapping[str, Placement]


def placement_of(location: Location) -> Placement:
    """Where a record says that its location is."""
    floor_ids = tuple(floor.id for floor in location.floors)
    return Placement(location.id, location.name, location.x, location.y, floor_ids)


def serialize_routable_map(router: Router, placements: Iterable[Placement]) -> bytes:
    """One archive of a map: bytes for `load`."""
    content = np.frombuffer(serialize_router(router), np.uint8)
    return pack_archive(ARCHIVE_KIND, {"placements": list(placements)}, {"router": content})


def deserialize_routable_map(buffer: Any) -> RoutableMap:
    """A map whose tables stay in `buffer`. Raises FormatError."""
    values, arrays = unpack_archive(ARCHIVE_KIND, buffer)
    placements = (
        Placement(key, name, x, y, tuple(floor_ids))
        for key, name, x, y, floor_ids in values["placements"]
    )
    return RoutableMap(deserialize_router(arrays["router"]), {each.id: each for each in placements})
