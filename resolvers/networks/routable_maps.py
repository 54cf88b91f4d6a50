"""Routable maps: the result of processing a map, as one archive in the database.

An archive holds the router, and the positions of the locations when the map was processed.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from routing.values import TravelMode
from storage.catalog import Location

if TYPE_CHECKING:
    from routing.search.router import Router

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
        """The location's own floor; empty if it is on none."""
        return self.floor_ids[0] if self.floor_ids else ""


class RoutableMap(NamedTuple):
    """The router of a map, and its locations by id."""

    router: "Router"
    placements: Mapping[str, Placement]
    whole: "Router | None" = None
    """The router of the map with nothing closed or avoided, if `router` is another."""


def to_placement(location: Location) -> Placement:
    """Return where a location is according to its record."""
    floor_ids = tuple(floor.id for floor in location.floors)
    return Placement(location.id, location.name, location.x, location.y, floor_ids)


def serialize_routable_map(router: "Router", placements: Iterable[Placement]) -> bytes:
    """Return an archive for `deserialize_routable_map`."""
    import numpy as np

    from routing.archive import pack_archive
    from routing.serialization import serialize_router

    content = np.frombuffer(serialize_router(router), np.uint8)
    return pack_archive(ARCHIVE_KIND, {"placements": list(placements)}, {"router": content})


def deserialize_routable_map(buffer: Any) -> RoutableMap:
    """Return the map in an archive; its tables stay in `buffer`. Raises ArchiveError."""
    from routing.archive import raise_archive_errors

    with raise_archive_errors():
        return _read_routable_map(buffer)


def is_loadable(archive: bytes | None) -> bool:
    """Return whether there is an archive, whole and of this release's format."""
    from routing.errors import ArchiveError

    try:
        return archive is not None and bool(deserialize_routable_map(archive))
    except ArchiveError:
        return False


def _read_routable_map(buffer: Any) -> RoutableMap:
    from routing.archive import unpack_archive
    from routing.serialization import deserialize_router

    values, arrays = unpack_archive(ARCHIVE_KIND, buffer)
    router = deserialize_router(arrays["router"])
    # One object for each id, and for each list of floors: a third of the memory of placements.
    ids = {key: key for key in router.networks[TravelMode.FOOT].location_ids}
    floors: dict[tuple[str, ...], tuple[str, ...]] = {}
    placements = {}
    for key, name, x, y, floor_ids in values["placements"]:
        location_id, on_floors = ids.get(key, key), tuple(floor_ids)
        on_floors = floors.setdefault(on_floors, on_floors)
        placements[location_id] = Placement(location_id, name, x, y, on_floors)
    return RoutableMap(router, placements)
