"""Without what is closed or avoided, routes lead elsewhere or nowhere; the shortest are left."""

from __future__ import annotations

import numpy as np
import pytest
from shapely import Point, box

from routing.costing import TravelMode
from routing.network.restrictions import Restrictions
from routing.plan import (
    Barrier,
    ConnectorKind,
    Door,
    Level,
    Plan,
    PlanLocation,
    Space,
    SpaceKind,
)
from routing.processing import process_plan
from routing.search.router import Position, Router
from tests.routing.ascii_plans import process_drawing
from tests.routing.buildings import restrict_networks

HOUSE = process_drawing(
    """
    #########
    #A.#..B.#
    #+###+###
    #,,,,,es#
    #+#######
    #C.D....#
    #########
    """,
    """
    #########
    #########
    #########
    #F.,,,es#
    #########
    """,
)
FOOT, WHEELCHAIR = TravelMode.FOOT, TravelMode.WHEELCHAIR


def close(**closed: object) -> Router:
    return Router(restrict_networks(HOUSE.networks, Restrictions(**closed)))  # type: ignore[arg-type]


def feet(router: Router, start: str, end: str, mode: TravelMode = FOOT) -> float:
    return float(router.matrix([start], [end], mode).feet[0, 0])


def test_nothing_restricted_changes_nothing() -> None:
    assert not Restrictions()
    everywhere = close()
    ids = list(HOUSE.networks[FOOT].location_ids)
    for mode in TravelMode:
        expected = HOUSE.router.matrix(ids, ids, mode)
        np.testing.assert_allclose(everywhere.matrix(ids, ids, mode).feet, expected.feet, atol=1e-6)


def test_a_closed_connector_is_not_ridden() -> None:
    [lift] = [c.id for c in HOUSE.plan.connectors if c.kind is ConnectorKind.ELEVATOR]
    closed = close(connector_ids=frozenset([lift]))
    route = closed.route("A", "F")
    assert route is not None
    assert {leg.kind for leg in route.legs if hasattr(leg, "kind")} == {ConnectorKind.STEPS}
    assert closed.route("A", "F", WHEELCHAIR) is None


def test_a_kind_of_connector_is_avoided() -> None:
    without_stairs = close(connector_kinds=frozenset([ConnectorKind.STEPS]))
    assert without_stairs.route("A", "F") is not None
    neither = close(connector_kinds=frozenset([ConnectorKind.STEPS, ConnectorKind.ELEVATOR]))
    assert neither.route("A", "F") is None
    assert feet(neither, "A", "B") == pytest.approx(feet(HOUSE.router, "A", "B"))


def test_a_closed_door_is_walked_around() -> None:
    closed = close(door_ids=frozenset(["0:1,2"]))
    assert np.isnan(feet(closed, "A", "B"))
    assert feet(closed, "B", "C") == pytest.approx(feet(HOUSE.router, "B", "C"))
    two_doors = process_drawing("A,,,,,,,\n##+###+#\nB.......").networks
    one_door = Router(restrict_networks(two_doors, Restrictions(door_ids=frozenset(["0:2,1"]))))
    assert feet(one_door, "A", "B") > feet(Router(two_doors), "A", "B") > 0


def test_nothing_leads_to_what_stands_in_a_closed_space() -> None:
    closed = close(space_ids=frozenset(["room C"]))
    for place in "CD":
        assert np.isnan(feet(closed, "A", place))
    assert np.isnan(feet(closed, "C", "D"))
    assert not closed.are_attached(["C"]) and closed.are_attached(["A"])
    by_the_wall = Position("0", 6.0, 20.5)
    assert not closed.are_attached([by_the_wall])
    assert feet(closed, "A", "B") == pytest.approx(feet(HOUSE.router, "A", "B"))


def test_a_connector_in_a_closed_space_is_not_entered() -> None:
    corridor = next(space.id for space in HOUSE.plan.spaces if space.level_id == "1")
    closed = close(space_ids=frozenset([corridor]))
    assert closed.route("A", "F") is None


def test_grounds_are_avoided_but_not_the_building_on_them() -> None:
    grounds = Space("grounds", "0", box(0, 0, 100, 60), SpaceKind.AREA, is_outdoors=True)
    arcade = Space("arcade", "0", box(0, 40, 100, 50), SpaceKind.CORRIDOR)
    west, east = PlanLocation("west", "0", 5, 45), PlanLocation("east", "0", 95, 45)
    lawn = PlanLocation("lawn", "0", 50, 5)
    plan = Plan((Level("0", 0),), (grounds, arcade), locations=(west, east, lawn))
    indoors = Router(restrict_networks(process_plan(plan).networks, Restrictions(outdoors=True)))
    assert feet(indoors, "west", "east") == pytest.approx(90)
    assert np.isnan(feet(indoors, "west", "lawn"))


def test_what_stands_on_closed_floor_is_not_moved_through_a_wall() -> None:
    west = Space("west", "0", box(0, 0, 40, 20), SpaceKind.CORRIDOR)
    room = Space("room", "0", box(45, 0, 80, 20))
    south = Space("south", "0", box(0, -25, 80, 0), SpaceKind.CORRIDOR)
    kiosk, desk = PlanLocation("kiosk", "0", 42, 10), PlanLocation("desk", "0", 60, 10)
    plan = Plan(
        (Level("0", 0),),
        (west, room, south),
        doors=(Door("door", "0", Point(60, 0)),),
        locations=(kiosk, desk),
    )
    networks = process_plan(plan).networks
    assert feet(Router(networks), "kiosk", "desk") == pytest.approx(40.6, abs=0.1)
    closed = Router(restrict_networks(networks, Restrictions(space_ids=frozenset(["west"]))))
    for start in ("kiosk", Position("0", 42, 10)):
        assert np.isnan(closed.matrix([start], ["desk"]).feet[0, 0])
        assert not closed.are_attached([start])


def test_what_stands_between_two_floors_stays_with_its_own() -> None:
    hall = Space("hall", "0", box(0, 0, 100, 40), SpaceKind.CORRIDOR)
    room = Space("room", "0", box(40, 40, 60, 60))
    pool = Barrier("0", box(40, 10, 60, 20))
    places = (PlanLocation("pool", "0", 50, 15), PlanLocation("end", "0", 50, 35))
    plan = Plan(
        (Level("0", 0),), (hall, room), (pool,), (Door("d", "0", Point(50, 40)),), (), places
    )
    networks = process_plan(plan).networks
    closed = restrict_networks(networks, Restrictions(door_ids=frozenset(["d"])))
    for mode, network in networks.items():
        np.testing.assert_array_equal(closed[mode].locations.near, network.locations.near)
    pool_at = Position("0", 50, 15)
    for router in (Router(networks), Router(closed)):
        assert router.matrix([pool_at], ["end"]).feet == router.matrix(["pool"], ["end"]).feet
    assert feet(Router(closed), "pool", "end") == pytest.approx(
        feet(Router(networks), "pool", "end")
    )


def close_spaces(plan: Plan, *space_ids: str) -> Router:
    closed = Restrictions(space_ids=frozenset(space_ids))
    return Router(restrict_networks(process_plan(plan).networks, closed))


def test_rooms_that_are_cut_out_of_a_closed_corridor_stay_open() -> None:
    hall = Space("hall", "0", box(0, 0, 100, 60), SpaceKind.CORRIDOR)
    side = Space("side", "0", box(100, 20, 120, 40), SpaceKind.CORRIDOR)
    room = Space("room", "0", box(80, 15, 100, 45))
    doors = Door("east", "0", Point(100, 30)), Door("west", "0", Point(80, 30))
    places = [("hall", 20), ("room", 90), ("side", 115)]
    locations = tuple(PlanLocation(name, "0", x, 30) for name, x in places)
    plan = Plan((Level("0", 0),), (hall, side, room), (), doors, (), locations)
    without_hall = close_spaces(plan, "hall")
    assert feet(without_hall, "room", "side") == pytest.approx(25)
    assert np.isnan(feet(without_hall, "room", "hall"))
    without_room = close_spaces(plan, "room")
    assert not without_room.are_attached(["room"])
    assert without_room.are_attached(["hall"])


def test_closing_the_grounds_closes_no_door_of_the_building_on_them() -> None:
    grounds = Space("grounds", "0", box(0, 0, 100, 60), SpaceKind.AREA)
    rooms = Space("one", "0", box(10, 10, 40, 50)), Space("two", "0", box(40.5, 10, 80, 50))
    between, outside = Door("between", "0", Point(40.25, 30)), Door("outside", "0", Point(10, 30))
    places = [("lawn", 5), ("one", 20), ("two", 60)]
    locations = tuple(PlanLocation(name, "0", x, 30) for name, x in places)
    wall = Barrier("0", box(40, 10, 40.5, 50))
    plan = Plan((Level("0", 0),), (grounds, *rooms), (wall,), (between, outside), (), locations)
    assert feet(close_spaces(plan), "one", "two") == pytest.approx(40, abs=0.1)
    closed = close_spaces(plan, "grounds")
    assert feet(closed, "one", "two") == pytest.approx(40, abs=0.1)
    assert not closed.are_attached(["lawn"])


def test_floor_of_two_corridors_is_open_while_one_of_them_is() -> None:
    along = Space("along", "0", box(0, 20, 100, 30), SpaceKind.CORRIDOR)
    across = Space("across", "0", box(45, 0, 55, 50), SpaceKind.CORRIDOR)
    places = [("west", 5, 25), ("east", 95, 25), ("south", 50, 5)]
    locations = tuple(PlanLocation(name, "0", x, y) for name, x, y in places)
    plan = Plan((Level("0", 0),), (along, across), locations=locations)
    without_across = close_spaces(plan, "across")
    assert feet(without_across, "west", "east") == pytest.approx(90)
    assert not without_across.are_attached(["south"])
    assert np.isnan(feet(close_spaces(plan, "along", "across"), "west", "east"))


def test_a_corridor_on_the_grounds_is_closed_though_they_are_under_it() -> None:
    grounds = Space("grounds", "0", box(0, 0, 100, 60), SpaceKind.AREA)
    arcade = Space("arcade", "0", box(40, 0, 60, 60), SpaceKind.CORRIDOR)
    places = [("west", 5), ("inside", 50), ("east", 95)]
    locations = tuple(PlanLocation(name, "0", x, 30) for name, x in places)
    plan = Plan((Level("0", 0),), (grounds, arcade), locations=locations)
    closed = close_spaces(plan, "arcade")
    assert np.isnan(feet(closed, "west", "east"))
    assert not closed.are_attached(["inside"])
