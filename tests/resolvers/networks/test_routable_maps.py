"""A routable map survives as an archive."""

from typing import Any

import numpy as np
import pytest

from resolvers.networks.routable_maps import (
    ARCHIVE_KIND,
    Placement,
    deserialize_routable_map,
    serialize_routable_map,
    to_placement,
)
from routing.archive import FORMAT_VERSION, pack_archive
from routing.errors import ArchiveError
from routing.serialization import serialize_router
from storage.catalog import Location, LocationFloor
from storage.routing_inputs import NETWORK_FORMAT, read_format
from tests.routing.ascii_plans import process_drawing

PLACEMENTS = [
    Placement("A", "Gym", 2.0, 2.5, ("0", "1")),
    Placement("B", "", 10.0, 2.0, ()),
]


def test_the_format_of_an_archive_is_recorded_as_that_of_this_release() -> None:
    archive = serialize_routable_map(process_drawing("A,,B").router, [])
    assert read_format(archive) == FORMAT_VERSION == NETWORK_FORMAT
    assert read_format(b"something else") is None


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
