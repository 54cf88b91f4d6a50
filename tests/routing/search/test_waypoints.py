"""Waypoints are found on a network: by id, or at the walkable space nearest to a position."""

import numpy as np
import pytest

from routing.costing import TravelMode
from routing.errors import WaypointError
from routing.network.stops import UNKNOWN_LEVEL
from routing.search.waypoints import Position, WaypointRef, find_stops
from tests.routing.ascii_plans import process_drawing

NETWORK = process_drawing("A,,,", ",,,,").networks[TravelMode.FOOT]


def test_a_location_is_where_it_was_placed() -> None:
    stop = find_stops(NETWORK, ["A"])
    assert (stop.levels.tolist(), stop.offset_feet.tolist()) == ([0], [0])
    assert stop.xy.tolist() == stop.near.tolist() == [[2, 2]]
    assert stop.are_attached.all()


def test_a_position_in_the_walkable_space_is_where_it_is() -> None:
    stop = find_stops(NETWORK, [Position("0", 8, 2)])
    assert stop.xy.tolist() == stop.near.tolist() == [[8, 2]]
    assert stop.offset_feet.tolist() == [0]


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2], [1], [0, 3], [2]])
def test_stops_are_in_the_order_of_the_waypoints(order: list[int]) -> None:
    waypoints: list[WaypointRef] = [
        Position("0", 8, 2),
        "A",
        Position("attic", 1, 1),
        Position("1", 4, 2),
    ]
    stops = find_stops(NETWORK, [waypoints[index] for index in order])
    assert stops.xy[:, 0].tolist() == [[8, 2, 1, 4][index] for index in order]
    assert stops.levels.tolist() == [[0, 0, UNKNOWN_LEVEL, 1][index] for index in order]


def test_no_waypoints_have_no_stops() -> None:
    assert len(find_stops(NETWORK, [])) == 0


def test_a_position_outside_is_joined_to_the_nearest_walkable_point() -> None:
    stop = find_stops(NETWORK, [Position("0", 8, 7)])
    assert stop.xy.tolist() == [[8, 7]]
    assert stop.offset_feet == pytest.approx(7 - stop.near[0, 1])
    assert stop.near[0, 0] == pytest.approx(8)


@pytest.mark.parametrize("position", [Position("0", 8, 99), Position("attic", 8, 2)])
def test_a_position_far_away_or_on_an_unknown_level_is_not_attached(position: Position) -> None:
    assert not find_stops(NETWORK, [position]).are_attached.any()


@pytest.mark.parametrize("waypoint", ["B", Position("0", np.inf, 0)])
def test_an_unknown_location_or_an_infinite_position_is_an_error(
    waypoint: str | Position,
) -> None:
    with pytest.raises(WaypointError):
        find_stops(NETWORK, [waypoint])
