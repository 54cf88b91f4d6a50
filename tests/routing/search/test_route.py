"""A route: walks on levels and rides between them, as long as the matrix says."""

import pytest

from routing.costing import TravelMode
from routing.search.route import ConnectorLeg, WalkLeg, find_route, merge_walks
from routing.search.waypoints import Position
from tests.routing.ascii_plans import process_drawing

TOWER = process_drawing("A,,e#C", "B,,e#,")
NETWORK = TOWER.networks[TravelMode.FOOT]


def test_a_ride_stands_between_two_walks() -> None:
    route = find_route(NETWORK, "A", "B")
    assert route is not None
    walk, ride, back = route.legs
    assert isinstance(walk, WalkLeg) and isinstance(back, WalkLeg)
    assert isinstance(ride, ConnectorLeg)
    assert (walk.level_id, ride.from_level_id, ride.to_level_id, back.level_id) == (
        "0",
        "0",
        "1",
        "1",
    )
    feet, seconds = TOWER.router.matrix(["A"], ["B"])
    assert route.feet == pytest.approx(feet[0, 0])
    assert route.seconds == pytest.approx(seconds[0, 0])


def test_there_may_be_no_route() -> None:
    assert find_route(NETWORK, "A", "C") is None
    assert find_route(NETWORK, "A", Position("0", 2, 99)) is None


def test_the_route_to_the_same_place_is_a_point() -> None:
    route = find_route(NETWORK, "A", "A")
    assert route is not None
    (leg,) = route.legs
    assert isinstance(leg, WalkLeg)
    assert (len(leg.points), route.feet, route.seconds) == (1, 0, 0)


def test_walks_that_follow_one_another_become_one() -> None:
    first = WalkLeg("0", ((0, 0), (3, 0)), 3, 1)
    second = WalkLeg("0", ((3, 0), (3, 4)), 4, 2)
    nowhere = WalkLeg("0", ((0, 0), (0, 0)), 0, 0)
    assert merge_walks([nowhere, first, second]) == [WalkLeg("0", ((0, 0), (3, 0), (3, 4)), 7, 3)]
