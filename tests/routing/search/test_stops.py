"""Waypoints are found on a network: by id, or at the walkable space nearest to a position."""

import numpy as np
import pytest

from routing.costing import TravelMode
from routing.errors import WaypointError
from routing.search.stops import Position, find_stop
from tests.routing.ascii_plans import process_drawing

NETWORK = process_drawing("A,,,").networks[TravelMode.FOOT]


def test_a_location_is_a_vertex_of_its_level() -> None:
    stop = find_stop(NETWORK, "A")
    assert (stop.level, stop.location_index, stop.is_attached) == (0, 0, True)
    assert NETWORK.levels[0].xy[stop.vertex].tolist() == [stop.near_x, stop.near_y]


def test_a_position_in_the_walkable_space_is_where_it_is() -> None:
    stop = find_stop(NETWORK, Position("0", 8, 2))
    assert (stop.x, stop.y, stop.near_x, stop.near_y, stop.offset_feet) == (8, 2, 8, 2, 0)
    assert (stop.vertex, stop.location_index) == (-1, -1)


def test_a_position_outside_is_joined_to_the_nearest_walkable_point() -> None:
    stop = find_stop(NETWORK, Position("0", 8, 7))
    assert (stop.x, stop.y) == (8, 7)
    assert stop.offset_feet == pytest.approx(7 - stop.near_y)
    assert stop.near_x == pytest.approx(8)


@pytest.mark.parametrize("position", [Position("0", 8, 99), Position("attic", 8, 2)])
def test_a_position_far_away_or_on_an_unknown_level_is_not_attached(position: Position) -> None:
    assert not find_stop(NETWORK, position).is_attached


@pytest.mark.parametrize("waypoint", ["B", Position("0", np.inf, 0)])
def test_an_unknown_location_or_an_infinite_position_is_an_error(
    waypoint: str | Position,
) -> None:
    with pytest.raises(WaypointError):
        find_stop(NETWORK, waypoint)
