"""A routable map survives as an archive."""

from typing import Any

import numpy as np
import pytest

from resolvers.networks.closable import list_closable, list_closable_ids
from resolvers.networks.routable_maps import (
    ARCHIVE_KIND,
    Placement,
    deserialize_routable_map,
    serialize_routable_map,
    to_placement,
)
from routing.archive import pack_archive
from routing.costing import TravelMode
from routing.errors import ArchiveError
from routing.serialization import serialize_router
from storage.locations import Location, LocationFloor
from tests.routing.ascii_plans import process_drawing
from tests.routing.test_previous_format import ARCHIVE as PREVIOUS_ARCHIVE

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


def pack_previous() -> bytes:
    """Return the archive of a map as the release before has written it."""
    return _pack_now().replace(b'"version":4', b'"version":3')


def _pack_now() -> bytes:
    router = np.frombuffer(PREVIOUS_ARCHIVE, np.uint8)
    return pack_archive(ARCHIVE_KIND, {"placements": PLACEMENTS}, {"router": router})


def test_the_archive_of_the_release_before_is_read() -> None:
    assert deserialize_routable_map(pack_previous()).router.has_location("A")
    with pytest.raises(ArchiveError, match="version 3"):
        deserialize_routable_map(_pack_now())


def test_only_connectors_of_the_release_before_can_be_closed() -> None:
    router = deserialize_routable_map(pack_previous()).router
    connectors = {each.id for each in router.networks[TravelMode.FOOT].connectors}
    listed = list_closable(router, 1.0)
    assert {(each.part, each.part_id) for each in listed} == {("connector", i) for i in connectors}
    assert list_closable_ids(router) == {"connector": connectors, "door": set(), "space": set()}


@pytest.mark.parametrize("archive", [b"", b"something else"])
def test_other_bytes_are_an_error(archive: bytes) -> None:
    with pytest.raises(ArchiveError):
        deserialize_routable_map(archive)


ROUTER = {"router": np.frombuffer(serialize_router(process_drawing("A,,B").router), np.uint8)}


@pytest.mark.parametrize(
    ("values", "arrays"),
    [
        ({}, ROUTER),
        ({"placements": None}, ROUTER),
        ({"placements": [["A", "Gym", 2.0, 2.5]]}, ROUTER),
        ({"placements": []}, {}),
        ({"placements": []}, {"router": np.zeros(64, np.uint8)}),
    ],
)
def test_a_damaged_archive_is_an_error(values: dict[str, Any], arrays: dict[str, Any]) -> None:
    with pytest.raises(ArchiveError):
        deserialize_routable_map(pack_archive(ARCHIVE_KIND, values, arrays))


def test_a_placement_has_the_floors_of_its_location() -> None:
    floors = [LocationFloor(id="f2"), LocationFloor(id="f1")]
    location = Location(id="l", asset_id="a", unit_map_id="m", name="Pool", x=1, y=2, floors=floors)
    assert to_placement(location) == Placement("l", "Pool", 1, 2, ("f2", "f1"))
    assert to_placement(location).floor_id == "f2"
    assert PLACEMENTS[1].floor_id == ""
