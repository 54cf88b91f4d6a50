"""What is closed, private, avoided or one-way: routes lead elsewhere or nowhere."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import shapely
from shapely import MultiPoint, Point, box
from shapely.affinity import rotate

from routing.costing import TravelMode
from routing.issues import IssueKind
from routing.network.mesh import BEYOND_WALL_FEET, PUBLIC, find_thresholds, triangulate
from routing.network.restrictions import Restrictions
from routing.plan import Barrier, ConnectorKind, Door, Level, Plan, PlanLocation, Space, SpaceKind
from routing.processing import ProcessedPlan, process_plan
from routing.search.router import Position, Router, WalkLeg
from routing.space import walkable
from tests.routing.ascii_plans import draw_plan, messages, process_drawing
from tests.routing.fuzz.checks import check_building
from tests.routing.hard_areas import restrict_networks

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


Places = Sequence[tuple[float, float]]
AROUND = """
    A.>.B
    .###.
    .....
    """
"""Through the door from A to B, and around the wall back."""


def test_a_door_is_passed_in_its_direction_only() -> None:
    processed = process_drawing("A.>.B")
    assert feet(processed.router, "A", "B") == pytest.approx(16)
    assert np.isnan(feet(processed.router, "B", "A"))
    assert processed.router.route("B", "A") is None


@pytest.mark.parametrize(
    ("drawing", "start", "end"),
    [("B.<.A", "A", "B"), ("A\n.\nv\n.\nB", "A", "B"), ("A\n.\n^\n.\nB", "B", "A")],
)
def test_directions_are_those_of_the_drawing(drawing: str, start: str, end: str) -> None:
    processed = process_drawing(drawing)
    assert feet(processed.router, start, end) == pytest.approx(16)
    assert np.isnan(feet(processed.router, end, start))


@pytest.mark.parametrize(("start", "end"), ["AB", "BA"])
def test_a_route_is_as_long_as_the_matrix_has_it(start: str, end: str) -> None:
    processed = process_drawing(AROUND)
    route = processed.router.route(start, end)
    assert route is not None
    assert route.feet == pytest.approx(feet(processed.router, start, end), abs=1e-6)
    [leg] = route.legs
    assert isinstance(leg, WalkLeg)
    length = np.hypot(*np.diff(np.array(leg.points), axis=0).T).sum()
    assert length == pytest.approx(route.feet, abs=1e-3)


def test_a_door_that_is_drawn_one_way_within_a_room_changes_nothing() -> None:
    processed = process_drawing("A.B\n.>.\n...")
    assert feet(processed.router, "A", "B") == feet(processed.router, "B", "A") == pytest.approx(8)


def test_a_narrow_turnstile_lets_no_wheelchair_through() -> None:
    plan = draw_plan("A.>.B")
    for width_feet, expected in ((3.5, 16.0), (2.0, np.nan)):
        turnstile = replace(plan.doors[0], width_feet=width_feet)
        router = process_plan(replace(plan, doors=(turnstile,))).router
        on_wheels = router.matrix(["A"], ["B"], TravelMode.WHEELCHAIR).feet[0, 0]
        assert on_wheels == pytest.approx(expected, nan_ok=True)


def test_a_one_way_door_can_be_closed() -> None:
    networks = process_drawing(AROUND).networks
    closed = Router(restrict_networks(networks, Restrictions(door_ids=frozenset(["0:2,0"]))))
    assert closed.matrix(["A"], ["B"]).feet[0, 0] > 24


def process_doors(
    width_feet: float, one_way: tuple[float, float] | None, places: Places, count: int = 1
) -> ProcessedPlan:
    """A corridor south of a hall, with doors 100 ft apart in the wall between, and locations."""
    doors = tuple(
        Door(
            f"door {index}",
            "0",
            box(middle - width_feet / 2, 19.5, middle + width_feet / 2, 20.5),
            width_feet=width_feet,
            one_way=one_way,
        )
        for index, middle in enumerate(50.0 + 100 * np.arange(count))
    )
    corridor = Space("corridor", "0", box(0, 0, 100 * count, 20), SpaceKind.CORRIDOR)
    hall = Space("hall", "0", box(0, 20, 100 * count, 40))
    locations = tuple(PlanLocation(f"{index}", "0", *at) for index, at in enumerate(places))
    return process_plan(Plan((Level("0", 0),), (corridor, hall), doors=doors, locations=locations))


@pytest.mark.parametrize("width_feet", [3.0, 10.0, 30.0])
def test_walks_through_a_one_way_door_are_as_long_as_through_an_open_one(width_feet: float) -> None:
    random, apart = np.random.default_rng(3), width_feet / 10 + 0.1
    south = [(x, 20 - y) for x, y in random.uniform((1, apart), (99, 19), (40, 2)).tolist()]
    north = [(x, 20 + y) for x, y in random.uniform((1, apart), (99, 19), (40, 2)).tolist()]
    one_way, open_both_ways = (
        process_doors(width_feet, direction, [*south, *north]).router.matrix(
            [str(index) for index in range(40)], [str(index) for index in range(40, 80)]
        )
        for direction in ((0.0, 1.0), None)
    )
    longer = one_way.feet - open_both_ways.feet
    assert longer.min() > -1e-4
    assert longer.max() < 0.01 * width_feet


def test_the_more_one_way_doors_there_are_the_fewer_points_each_has() -> None:
    for doors, points in ((1, 17), (20, 15), (150, 2), (310, 1)):
        network = process_doors(3, (0.0, 1.0), [(5, 5), (5, 35)], doors).networks[TravelMode.FOOT]
        assert len(network.portals) == 2 * points * doors
        assert len(network.links) == points**2 * doors


def test_one_way_doors_above_a_limit_are_passed_both_ways_and_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(walkable, "MAX_ONE_WAY_DOORS", 2)
    places = [(50.0, 5.0), (250.0, 5.0), (250.0, 35.0)]
    processed = process_doors(3, (0.0, 1.0), places, count=4)
    assert {portal.door_id for portal in processed.networks[TravelMode.FOOT].portals} == {
        "door 0",
        "door 1",
    }
    assert feet(processed.router, "2", "1") == pytest.approx(30)
    [group] = processed.report.groups
    assert group.cause is IssueKind.DOOR_NOT_ONE_WAY
    assert messages(group) == [
        f"door 'door {index}' is passed both ways, as 2 others are one-way" for index in (2, 3)
    ]


APARTMENT = """
    ###############
    #,,,,,,A,,,,,,#
    #,####+######,#
    #,#;;;P;;;;;#,#
    #,#;;;#####+#,#
    #,#;;;#;;;;Q#,#
    #,###+#######,#
    #,,,,,B,,,,,,,#
    ###############
    """
"""A living room with two doors, and a bedroom behind it."""


def feet_between(processed: ProcessedPlan, one: str, other: str) -> float:
    return float(processed.router.matrix([one], [other]).feet[0, 0])


def test_a_room_with_two_doors_is_a_way_only_if_it_is_not_private() -> None:
    private, public = (process_drawing(APARTMENT.replace(";", sign)) for sign in ";.")
    assert feet_between(public, "A", "B") < 30 < 55 < feet_between(private, "A", "B")
    for one, other in ("PA", "PB", "QA", "QB", "QP"):
        assert feet_between(private, one, other) == pytest.approx(feet_between(public, one, other))


def test_everything_about_a_building_with_apartments_is_exact() -> None:
    check_building(
        draw_plan(
            """
            ###################
            #,,,,A,,,,,,,,,B,,#
            #,#+###+#+##+###+##
            #,#;;;+;;;#;;;#;;;#
            #,#;C;#;D;#;E;+;F;#
            #,#+#####+###+#####
            #,,,,G,,,,,,,,,H,,#
            ###################
            """
        ),
        seed=1,
    )


def test_private_doors_lead_only_to_where_routes_end() -> None:
    processed = process_drawing(
        """
        #############
        #,A,,p,,B,###
        #,####,####,#
        #,####,,,#C,#
        #,####,,,p,,#
        #,,,,,,######
        #############
        """
    )
    assert feet_between(processed, "A", "B") > 2 * 6 * 4
    assert np.isfinite(feet_between(processed, "A", "C"))


def test_a_plain_room_behind_a_private_one_is_private_too() -> None:
    processed = process_drawing(
        """
        #########
        #,,,A,,,#
        #,##+##,#
        #,#;;;#,#
        #,##+##,#
        #,#.D.#,#
        #,#####,#
        #,,,B,,,#
        #########
        """
    )
    assert feet_between(processed, "A", "B") > 24
    assert feet_between(processed, "D", "A") == pytest.approx(16)


def test_a_home_on_two_storeys_is_no_way_between_them_but_for_its_own() -> None:
    storey = """
        ###############
        #{}####;;#
        #,,,,,,,,+;s;{}#
        #,######,#;;;##
        #,#,,,,,,######
        #e############
        """
    lower, upper = storey.format("A,,,,,,,,", "P"), storey.format("B,,,,,,,,", "Q")
    processed = process_drawing(lower, upper)
    route = processed.router.route("A", "B")
    assert route is not None and [leg.kind for leg in route.legs if hasattr(leg, "kind")] == [
        "elevator"
    ]
    own = processed.router.route("P", "B")
    assert own is not None and any(getattr(leg, "kind", "") == "steps" for leg in own.legs)


def test_floor_behind_a_private_room_is_cut_off_and_the_report_names_the_room() -> None:
    processed = process_drawing(
        """
        #########
        #A,,,,,C#
        ###+#####
        #P;;;;;;#
        ###+#####
        #B,,,,,,#
        #########
        """
    )
    assert np.isnan(feet_between(processed, "A", "B"))
    assert np.isfinite(feet_between(processed, "P", "B"))
    [lost] = processed.report.reachability[0].cut_off
    assert (lost.location_id, lost.cause) == ("B", "only-private-way")
    assert "only the private room 'P' leads to" in lost.reason


def test_where_everything_is_private_nothing_is_lost() -> None:
    processed = process_drawing("A;;+;B;+;;C")
    assert np.isfinite(feet_between(processed, "A", "C"))


def test_an_isochrone_ends_where_private_space_of_others_begins_to_lead_on() -> None:
    router = process_drawing(APARTMENT).router
    start = Position("0", 7 * 4 + 2.0, 4 + 2.0)
    area = router.isochrone(start, 30 / router.networks[TravelMode.FOOT].feet_per_second).area("0")
    assert area.intersects(area.envelope) and not area.covers(area.envelope)
    assert area.bounds[3] < 7 * 4


@pytest.mark.parametrize("turn_degrees", [0, 30])
def test_a_region_ends_at_doors_that_meet_at_its_corner(turn_degrees: float) -> None:
    region, doors = box(0, 0, 20, 10), (box(8, -1, 19.9, 1), box(19, -1, 21, 3))
    floor = shapely.union_all([box(0.05, 0.05, 19.95, 9.95), box(0, -9, 30, -0.05), *doors])
    turned: list[Any] = [
        rotate(shape, turn_degrees, origin=(0, 0)) for shape in (floor, region, *doors)
    ]
    thresholds = find_thresholds(turned[1:2], turned[2:], BEYOND_WALL_FEET)
    mesh = triangulate(turned[0], turned[1:2], thresholds)
    at = shapely.get_coordinates(rotate(MultiPoint([(1, 1), (1, -1)]), turn_degrees, origin=(0, 0)))
    assert mesh.regions[mesh.locate(at)].tolist() == [0, PUBLIC]
