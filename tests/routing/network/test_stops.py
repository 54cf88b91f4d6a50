"""A position joins the floor of its own room, or else the nearest."""

from __future__ import annotations

import numpy as np
import pytest
from shapely import MultiPolygon, Polygon, box

from routing.network.levels import build_levels, draft_level
from routing.network.stops import Stops, attach, join_stops
from routing.plan import Level, Space

ROOMS = [Space("room", "0", box(0, 0, 20, 20)), Space("closet", "0", box(12, 12, 20, 20))]
"""A room, and a closet within it."""
ROOM_FLOOR = Polygon([(0, 0), (20, 0), (20, 11), (11, 11), (11, 20), (0, 20)])
FLOOR = MultiPolygon([ROOM_FLOOR, box(14, 14, 20, 20)])


def join(floor: Polygon | MultiPolygon, *places: tuple[float, float]) -> Stops:
    no_portals = np.empty(0, dtype=np.int64), np.empty((0, 2))
    [levels] = build_levels([draft_level(Level("0", 0), floor, ROOMS, [], *no_portals)])
    return attach(levels, np.zeros(len(places), dtype=np.int64), np.array(places), within_feet=6)


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ((5, 5), (5, 5, 0)),
        ((20, 5), (20, 5, 0)),  # on the edge
        ((25, 5), (20, 5, 5)),
        ((11.5, 15), (11, 15, 0.5)),  # in the room, by the closet's wall
        ((12.25, 16), (14, 16, 1.75)),  # in the closet, nearer to the room's floor
    ],
)
def test_a_place_joins_the_floor_of_its_own_room(
    place: tuple[float, float], expected: tuple[float, float, float]
) -> None:
    stop = join(FLOOR, place)
    assert (*stop.near[0].tolist(), stop.offset_feet[0]) == expected
    assert stop.are_attached.all()


def test_a_place_far_from_any_floor_is_not_attached() -> None:
    stop = join(FLOOR, (26.1, 5))
    assert (stop.near.tolist(), stop.offset_feet.tolist()) == ([[26.1, 5]], [0])
    assert not stop.are_attached.any()


def test_a_place_in_a_room_without_floor_joins_the_nearest_floor() -> None:
    stop = join(ROOM_FLOOR, (12.5, 16))
    assert (stop.near.tolist(), stop.offset_feet.tolist()) == ([[11, 16]], [1.5])
    assert not join(Polygon(), (12.5, 16)).are_attached.any()


def test_stops_keep_their_order() -> None:
    places = [(25.0, 5.0), (5.0, 5.0), (26.1, 5.0), (12.25, 16.0)]
    stops = join(FLOOR, *places)
    assert stops.xy.tolist() == [list(place) for place in places]
    assert stops.are_attached.tolist() == [True, True, False, True]
    again = join_stops([stops.take(np.array([2, 3])), stops.take(np.array([0]))])
    assert again.xy.tolist() == [list(places[index]) for index in (2, 3, 0)]
    assert len(again) == 3
