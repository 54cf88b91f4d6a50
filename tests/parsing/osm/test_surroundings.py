import pytest

from parsing.drawing import AreaGeometry, Tags
from parsing.osm.surroundings import GeoFeature, find_surroundings, is_building, is_site


def square(feature_id: str, west: float, size: float, **tags: str) -> GeoFeature:
    east = west + size
    ring = ((west, 0.0), (east, 0.0), (east, size), (west, size))
    return GeoFeature(feature_id, tags, AreaGeometry((ring,)))


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ({"building": "yes"}, True),
        ({"building:part": "tower"}, True),
        ({"building": "roof"}, False),  # people walk below
        ({"building": "no"}, False),
        ({}, False),
    ],
)
def test_buildings_cover_the_ground(tags: Tags, expected: bool) -> None:
    assert is_building(tags) is expected


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ({"shop": "mall"}, True),
        ({"highway": "pedestrian"}, True),
        ({"shop": "mall", "building": "yes"}, False),
        ({"shop": "mall", "indoor": "room"}, False),
        ({"shop": "bakery"}, False),
    ],
)
def test_sites_are_walkable_grounds(tags: Tags, expected: bool) -> None:
    assert is_site(tags) is expected


def test_sites_around_rooms_are_found_with_their_buildings() -> None:
    mall = square("mall", 0, 10, shop="mall")
    kiosk = square("kiosk", 5, 1, building="yes")
    elsewhere = square("elsewhere", 50, 1, building="yes")
    other_mall = square("other mall", 90, 10, shop="mall")
    room = square("room", 1, 1, indoor="room")
    assert find_surroundings([kiosk, elsewhere, mall, other_mall], [room]) == [mall, kiosk]
    assert find_surroundings([mall], []) == []
