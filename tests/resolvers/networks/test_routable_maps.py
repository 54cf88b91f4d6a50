"""A routable map survives as an archive."""

import pytest

from resolvers.networks.routable_maps import (
    Placement,
    deserialize_routable_map,
    serialize_routable_map,
    to_placement,
)
from routing.errors import ArchiveError
from storage.locations import Location, LocationFloor
from tests.routing.ascii_plans import process_drawing

PLACEMENTS = [
    Placement("A", "Gym", 2.0, 2.5, ("0", "1")),
    Placement("B", "", 10.0, 2.0, ()),
]


def test_router_and_placements_are_read_back() -> None:
    router = process_drawing("A,,B").router
    archive = serialize_routable_map(router, PLACEMENTS)
    read = deserialize_routable_map(memoryview(archive))
    assert read.placements == {placement.id: placement for placement in PLACEMENTS}
    assert read.router.matrix(["A"], ["B"]).feet == router.matrix(["A"], ["B"]).feet


@pytest.mark.parametrize("archive", [b"", b"something else"])
def test_other_bytes_are_an_error(archive: bytes) -> None:
    with pytest.raises(ArchiveError):
        deserialize_routable_map(archive)


def test_a_placement_has_the_floors_of_its_location() -> None:
    floors = [LocationFloor(id="f2"), LocationFloor(id="f1")]
    location = Location(id="l", asset_id="a", unit_map_id="m", name="Pool", x=1, y=2, floors=floors)
    assert to_placement(location) == Placement("l", "Pool", 1, 2, ("f2", "f1"))
    assert to_placement(location).floor_id == "f2"
    assert PLACEMENTS[1].floor_id == ""
