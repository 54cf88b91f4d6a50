"""Looks of features: what is drawn, in which colour, and what is on top."""

import pytest

from parsing.drawing import AreaGeometry, Feature, Geometry, LinesGeometry, PointGeometry
from resolvers.plans.drawings.looks import (
    CORRIDOR,
    DEFAULT_ROOM_COLOUR,
    DOOR,
    OUTDOORS,
    PATH,
    STOREY,
    WALL,
    Band,
    Look,
    choose_look,
)

AREA = AreaGeometry((((0, 0), (9, 0), (9, 9)),))
LINE = LinesGeometry((((0, 0), (9, 0)),))
POINT = PointGeometry((0, 0))


def look_of(geometry: Geometry, **tags: str) -> Look | None:
    return choose_look(Feature("1", ("0",), geometry, tags))


@pytest.mark.parametrize(
    ("geometry", "tags", "look"),
    [
        (AREA, {"indoor": "corridor"}, CORRIDOR),
        (AREA, {"indoor": "level"}, STOREY),
        (AREA, {"indoor": "area", "outdoor": "yes"}, OUTDOORS),
        (AREA, {"indoor": "room"}, Look(Band.ROOM, DEFAULT_ROOM_COLOUR)),
        (LINE, {"indoor": "wall"}, WALL),
        (LINE, {"highway": "footway"}, PATH),
        (POINT, {"door": "yes"}, DOOR),
        (AREA, {"door": "yes"}, DOOR),
        (POINT, {"amenity": "bench"}, None),
        (AREA, {"landuse": "grass"}, None),
    ],
)
def test_a_look_follows_from_the_tags(
    geometry: Geometry, tags: dict[str, str], look: Look | None
) -> None:
    assert look_of(geometry, **tags) == look


@pytest.mark.parametrize(
    "tags", [{"amenity": "toilets"}, {"shop": "books"}, {"amenity": "cafe"}, {"office": "it"}]
)
def test_what_a_room_is_shows_in_its_colour(tags: dict[str, str]) -> None:
    look = look_of(AREA, indoor="room", **tags)
    assert look is not None
    assert look.colour != DEFAULT_ROOM_COLOUR


def test_stairs_are_on_the_floor_and_doors_on_the_walls() -> None:
    looks = [
        look_of(AREA, indoor="level"),
        look_of(AREA, indoor="corridor"),
        look_of(AREA, indoor="room"),
        look_of(LINE, highway="steps"),
        look_of(LINE, indoor="wall"),
        look_of(POINT, door="yes"),
    ]
    bands = [look.band for look in looks if look is not None]
    assert len(bands) == len(looks)
    assert bands == sorted(bands)
