"""Questions to a map: matrices by id or position, straight lines, routes, what is nearest."""

import numpy as np
import pytest

from routing.costing import TravelMode
from routing.errors import WaypointError
from routing.network.network import UNKNOWN_LEVEL
from routing.search.matrix import WaypointRef, euclidean_distances, find_stops
from routing.search.router import (
    ComputedRoute,
    ConnectorLeg,
    Position,
    Router,
    WalkLeg,
    merge_walks,
)
from tests.routing.ascii_plans import process_drawing

FLAT = process_drawing(
    """
    ###############
    #A....#..#B...#
    #.....#..n....#
    ###+####+###+##
    #,,,,,,,,,,,C,#
    ###############
    #D##############
    """
)
TOWER = process_drawing("A,,,e", ",,s,e", "B,s,,")


@pytest.mark.parametrize(("outside_feet", "attached"), [(5.9, True), (6.2, False)])
def test_a_position_up_to_six_feet_outside_is_attached(outside_feet: float, attached: bool) -> None:
    below = Position("0", 30, 20 + outside_feet)
    assert FLAT.router.are_attached([below]) is attached
    feet, _ = FLAT.router.matrix([below], [Position("0", 30, 18)])
    if attached:
        assert feet[0, 0] == pytest.approx(outside_feet + 2)
    else:
        assert np.isnan(feet[0, 0])


@pytest.mark.parametrize(
    ("waypoint", "message"),
    [
        ("X", "no location 'X'"),
        (Position("0", float("nan"), 0), "give finite numbers"),
    ],
)
def test_unknown_waypoints_are_refused(waypoint: str | Position, message: str) -> None:
    for router in (FLAT.router, Router(FLAT.networks)):
        with pytest.raises(WaypointError, match=message):
            router.matrix([waypoint], ["A"])


def test_a_level_that_the_map_does_not_have_is_out_of_reach() -> None:
    nowhere = Position("9", 0, 0)
    for router in (FLAT.router, Router(FLAT.networks)):
        assert not router.has_level("9")
        assert not router.are_attached([nowhere])
        assert np.isnan(router.matrix([nowhere, "A"], ["A", nowhere]).feet[:, 1]).all()
        assert router.route("A", nowhere) is None


def test_a_route_names_the_connectors_in_order() -> None:
    route = TOWER.router.route("A", "B")
    assert isinstance(route, ComputedRoute)
    described = [
        leg.level_id if isinstance(leg, WalkLeg) else (leg.kind.value, leg.to_level_id)
        for leg in route.legs
    ]
    assert described == ["0", ("elevator", "1"), "1", ("steps", "2"), "2"]


def test_the_walks_of_a_route_join_its_ends_and_connectors_and_add_up_to_the_matrix() -> None:
    route = TOWER.router.route("A", "B")
    assert isinstance(route, ComputedRoute)
    feet, seconds = TOWER.router.matrix(["A"], ["B"])
    assert (route.feet, route.seconds) == pytest.approx((feet[0, 0], seconds[0, 0]))
    walks = [leg for leg in route.legs if isinstance(leg, WalkLeg)]
    assert walks[0].points[0] == (2.0, 2.0)
    assert walks[0].points[-1] == walks[1].points[0] == (18.0, 2.0)
    assert walks[-1].points[-1] == (2.0, 2.0)
    assert sum(leg.feet for leg in route.legs) == route.feet


def test_there_may_be_no_route() -> None:
    assert FLAT.router.route("A", "D") is None
    assert FLAT.router.route("A", Position("0", 2, 99)) is None


def test_the_route_to_the_same_place_is_a_point() -> None:
    route = FLAT.router.route("A", "A")
    assert route is not None
    (leg,) = route.legs
    assert isinstance(leg, WalkLeg)
    assert (len(leg.points), route.feet, route.seconds) == (1, 0, 0)


def test_walks_that_follow_one_another_become_one() -> None:
    first = WalkLeg("0", ((0, 0), (3, 0)), 3, 1)
    second = WalkLeg("0", ((3, 0), (3, 4)), 4, 2)
    nowhere = WalkLeg("0", ((0, 0), (0, 0)), 0, 0)
    assert merge_walks([nowhere, first, second]) == [WalkLeg("0", ((0, 0), (3, 0), (3, 4)), 7, 3)]


def test_a_route_goes_by_the_faster_connector_not_the_shorter() -> None:
    """One storey by stairs takes 60 ft of walking time, a lift 35 s."""
    short = process_drawing("A,s,,e", "B,s,,e").router.route("A", "B")
    high = process_drawing("A,s,,e", *[",,s,,e"] * 4, "B,s,,e").router.route("A", "B")
    for route, kind in ((short, "steps"), (high, "elevator")):
        assert isinstance(route, ComputedRoute)
        assert [leg.kind.value for leg in route.legs if isinstance(leg, ConnectorLeg)] == [kind]


def test_the_nearest_come_in_the_order_of_walking_time() -> None:
    near = FLAT.router.nearest_from_each(["C"], ["A", "B", "C", "D"], 10)[0]
    assert [place.location_id for place in near] == ["C", "B", "A"]
    assert near[0].seconds == 0
    assert (
        FLAT.router.nearest_from_each([Position("0", 46, 18)], ["A", "B", "C"], 1)[0][0].location_id
        == "C"
    )


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2], [2], []])
def test_waypoints_are_found_in_their_order(order: list[int]) -> None:
    network = process_drawing("A,,,", ",,,,").networks[TravelMode.FOOT]
    attic, above = Position("attic", 1, 1), Position("1", 4, 2)
    waypoints: list[WaypointRef] = [Position("0", 8, 2), "A", attic, above]
    stops = find_stops(network, [waypoints[index] for index in order])
    assert stops.xy[:, 0].tolist() == [[8, 2, 1, 4][index] for index in order]
    assert stops.levels.tolist() == [[0, 0, UNKNOWN_LEVEL, 1][index] for index in order]


def test_straight_lines_ignore_walls_and_storeys() -> None:
    feet, seconds = euclidean_distances([(0, 0), (3, 4)], [(3, 4)], feet_per_second=2.5)
    assert feet.tolist() == [[5.0], [0.0]]
    assert seconds == pytest.approx(np.array([[2.0], [0.0]]))
    assert euclidean_distances([], [(1, 1), (2, 2)], 1.0).feet.shape == (0, 2)
