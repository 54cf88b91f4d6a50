"""Networks of maps, and stops on them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shapely import MultiPolygon, Point, Polygon, box

from routing.arrays import join_tables
from routing.costing import Costing, TravelMode
from routing.network.levels import NO_PORTAL, build_levels, draft_level
from routing.network.network import Network, Stops, attach, build_network
from routing.plan import (
    Connector,
    ConnectorKind,
    Door,
    Level,
    Plan,
    PlanLocation,
    Space,
    SpaceKind,
)
from routing.processing import process_plan
from routing.search.matrix import compute_matrix
from routing.space.walkable import build_walkable_levels
from tests.routing.ascii_plans import draw_plan, process_drawing

TOWER = process_drawing(
    """
    #A#B#
    #n#+#
    #,,,e
    """,
    """
    #####
    ##C##
    #,,,e
    """,
)
FOOT, WHEELCHAIR = (TOWER.networks[mode] for mode in TravelMode)


def build(plan: Plan, mode: TravelMode, costing: Costing, foot: Network | None = None) -> Network:
    return build_network(plan, build_walkable_levels(plan)[0], mode, costing, foot)


def test_the_levels_have_all_edges() -> None:
    """The edges of the first corner of a level are among them."""
    levels = FOOT.levels
    of_levels = [levels.edges_of(number) for number in range(len(levels))]
    assert all(len(edges) for edges in of_levels)
    np.testing.assert_array_equal(np.concatenate(of_levels), levels.edges)


def test_a_connector_has_a_portal_on_each_level_where_floor_is_near() -> None:
    plan = draw_plan("A,,", "B,,", "C,,")
    lift = Connector(
        "lift", ConnectorKind.ELEVATOR, {"0": Point(6, 2), "1": Point(6, 50), "2": box(8, 0, 12, 4)}
    )
    network = process_plan(replace(plan, connectors=(lift,))).networks[TravelMode.FOOT]
    assert [portal.level for portal in network.portals] == [0, 2]
    assert [(link.start, link.end) for link in network.links] == [(0, 1), (1, 0)]
    levels = network.levels
    assert levels.portals.tolist() == [[0], [NO_PORTAL], [1]]
    assert len(levels.portal_vertices(1)) == 0
    assert np.isinf(levels.portal_feet[:, levels.vertices(1)]).all()


def test_a_wheelchair_shares_the_levels_where_it_passes_every_door() -> None:
    assert WHEELCHAIR.levels is FOOT.levels
    assert FOOT.level_numbers.tolist() == [0, 1]
    assert WHEELCHAIR.level_numbers.tolist() == [2, 1]
    assert (WHEELCHAIR.mode, FOOT.mode) == (TravelMode.WHEELCHAIR, TravelMode.FOOT)
    assert WHEELCHAIR.feet_per_second < FOOT.feet_per_second


def test_no_level_is_shared_if_the_portals_differ() -> None:
    """In a narrow door a lift is out of reach of wheelchairs, so all other portals have new
    numbers."""
    spaces = [
        Space(f"{kind.value} {level}", level, shape, kind)
        for level in "01"
        for kind, shape in (
            (SpaceKind.ROOM, box(0, 0, 40, 20)),
            (SpaceKind.CORRIDOR, box(0, 20, 40, 30)),
        )
    ]
    doors = (Door("narrow", "0", Point(10, 20), 2.0), Door("wide", "1", Point(10, 20), 3.0))
    in_door = Connector(
        "in door", ConnectorKind.ELEVATOR, {"0": Point(10, 19.975), "1": Point(10, 25)}
    )
    lift = Connector("lift", ConnectorKind.ELEVATOR, dict.fromkeys("01", Point(30, 25)))
    places = PlanLocation("below", "0", 5, 25), PlanLocation("above", "1", 5, 25)
    plan = Plan((Level("0", 0), Level("1", 1)), tuple(spaces), (), doors, (in_door, lift), places)
    costing = Costing(attach_feet=0.01)
    foot = build(plan, TravelMode.FOOT, costing)
    wheelchair = build(plan, TravelMode.WHEELCHAIR, costing, foot)
    assert (len(foot.portals), len(wheelchair.portals)) == (4, 3)
    assert wheelchair.level_numbers.tolist() == [2, 3]
    assert wheelchair.levels.portals[3].tolist() == [0, 2]
    assert compute_matrix(wheelchair, ["below"], ["above"]).feet[0, 0] == pytest.approx(25 + 25)


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
    again = join_tables([stops.take(np.array([2, 3])), stops.take(np.array([0]))])
    assert again.xy.tolist() == [list(places[index]) for index in (2, 3, 0)]
    assert len(again) == 3
