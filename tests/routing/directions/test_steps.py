"""The steps of a route: what people are told to do, where, and how far they then walk."""

import math
from dataclasses import replace

import numpy as np
import pytest
import shapely
from hypothesis import given
from shapely import LineString, Polygon, box
from shapely.geometry.base import BaseGeometry

from routing.costing import TravelMode
from routing.directions.manoeuvres import find_landmarks
from routing.directions.steps import Step, StepCode, build_steps
from routing.network.restrictions import Restrictions
from routing.plan import (
    Barrier,
    Connector,
    ConnectorKind,
    Door,
    Level,
    Plan,
    PlanLocation,
    Space,
    SpaceKind,
)
from routing.processing import ProcessedPlan, process_plan
from routing.search.matrix import Position, WaypointRef
from routing.search.router import ComputedRoute, ConnectorLeg, WalkLeg, find_route
from routing.values import MAX_STEP_NAMES
from tests.routing.ascii_plans import draw_plan, process_drawing
from tests.routing.hard_areas import process_caserne, process_demo, restrict_networks
from tests.routing.random_plans import draw_fewer, plans, turned

WARD = """
    #####################
    #A..#...#...#...#..B#
    #...#.E.#.F.#.G.#...#
    ##+###+###x#######+##
    #,,,,,,,,,C,,,,,,,,,#
    #####################
    """


def steps_of(
    processed: ProcessedPlan, start: WaypointRef, end: WaypointRef, **given: object
) -> tuple[Step, ...]:
    network = processed.networks[TravelMode.FOOT]
    route = find_route(network, start, end)
    assert route is not None
    return build_steps(network, route, **given)  # type: ignore[arg-type]


def texts(steps: tuple[Step, ...]) -> list[str]:
    return [step.text for step in steps]


def turns(steps: tuple[Step, ...]) -> list[str]:
    return [step.modifier.value for step in steps if step.modifier and step.code is StepCode.TURN]


def walk_through(*points: tuple[float, float], width: float = 8.0) -> tuple[Step, ...]:
    """The steps from end to end of a corridor along a line, without a room."""
    line = LineString(points)
    return steps_in(line.buffer(width / 2, join_style="mitre", cap_style="square"), line)


def steps_in(shape: BaseGeometry, line: LineString, *pillars: Polygon) -> tuple[Step, ...]:
    (x, y), *_, (end_x, end_y) = line.coords
    ends = PlanLocation("start", "0", x, y), PlanLocation("end", "0", end_x, end_y)
    assert isinstance(shape, Polygon)
    hall = Space("hall", "0", shape, SpaceKind.CORRIDOR)
    barriers = tuple(Barrier("0", pillar) for pillar in pillars)
    plan = Plan((Level("0", 0),), (hall,), barriers, locations=ends)
    return steps_of(process_plan(plan), "start", "end")


def test_a_step_says_where_to_turn_how_far_to_walk_and_past_what() -> None:
    steps = steps_of(process_drawing(WARD), "A", "B")
    assert texts(steps) == [
        "Walk 7 ft through A.",
        "Go through the door, turn left and walk 65 ft along C past E.",
        "Turn left through the door into B and walk 12 ft.",
        "Arrive at B.",
    ]
    assert [step.code.value for step in steps] == ["depart", "turn", "turn", "arrive"]
    assert turns(steps) == ["left", "left"]
    # the numbers are exact
    leave = steps[1]
    assert leave.feet == pytest.approx(math.hypot(60, 0) + 4.78, abs=0.1)
    assert (leave.door_ids, leave.spaces, leave.passed) == (("0:2,3",), ("C",), ("E",))
    assert leave.y == pytest.approx(12, abs=0.2)


def test_only_rooms_whose_doors_are_passed_are_named() -> None:
    named = {name for step in steps_of(process_drawing(WARD), "A", "B") for name in step.passed}
    assert named == {"E"}  # the door of F is locked, G has none
    plan = """
        #########
        #A,,,,,B#
        #########
        #..E....#
        ###+#####
        #,,,,,,,#
        """
    assert not [name for s in steps_of(process_drawing(plan), "A", "B") for name in s.passed]


@pytest.mark.parametrize("degrees", [0, 37, 180])
def test_left_and_right_are_the_same_whichever_way_the_plan_lies(degrees: float) -> None:
    plan = turned(draw_plan(WARD), degrees)
    assert turns(steps_of(process_plan(plan), "A", "B")) == ["left", "left"]
    assert turns(steps_of(process_plan(plan), "B", "A")) == ["right", "right"]


@pytest.mark.parametrize(
    ("degrees", "name"),
    [
        (0, "straight"), (30, "slight_right"), (90, "right"), (150, "sharp_right"),
        (-30, "slight_left"), (-90, "left"), (-150, "sharp_left"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("heading", [0, 135])
def test_turns_have_the_names_of_osrm(degrees: float, name: str, heading: float) -> None:
    """y grows to the south, so a growing angle is a turn to the right."""
    first, second = (math.radians(angle) for angle in (heading, heading + degrees))
    corner = 60 * math.cos(first), 60 * math.sin(first)
    end = corner[0] + 60 * math.cos(second), corner[1] + 60 * math.sin(second)
    steps = walk_through((0, 0), corner, end, width=1)
    assert turns(steps) == [name] * (name != "straight")


def test_the_end_of_a_thin_wall_is_a_turn_back() -> None:
    wall = box(-10, -0.1, 40, 0.1)
    shape = box(-10, -10, 60, 10)
    steps = steps_in(shape, LineString([(0, -2), (0, 2)]), wall)
    assert turns(steps) == ["uturn"]
    assert steps[1].text == "Turn around and walk 40 ft."


def test_a_curved_corridor_is_followed_without_turns() -> None:
    angles = np.linspace(0, math.pi, 60)
    arc = np.column_stack((120 * np.cos(angles), 120 * np.sin(angles)))
    assert texts(walk_through(*arc.tolist()))[1:] == ["Arrive at your destination."]


def test_a_rounded_corner_is_one_turn() -> None:
    angles = np.linspace(0, math.pi / 2, 20)
    bend = np.column_stack((60 + 12 * np.sin(angles), 12 - 12 * np.cos(angles))).tolist()
    assert turns(walk_through((0, 0), *bend, (72, 80), width=4)) == ["right"]


def test_a_pillar_in_the_way_is_no_turn() -> None:
    steps = steps_in(box(0, 0, 100, 12), LineString([(5, 6), (95, 6)]), box(48, 4.5, 51, 8))
    assert [step.code.value for step in steps] == ["depart", "arrive"]


def test_a_walk_along_a_wall_passes_its_doors_and_crosses_none() -> None:
    plan = """
        #########
        #.E.#.F.#
        ##+###+##
        #,,,,,,,#
        #########
        """
    start, end = Position("0", 4.1, 12.01), Position("0", 31.9, 12.01)
    steps = steps_of(process_drawing(plan), start, end)
    assert [(step.door_ids, step.passed) for step in steps] == [((), ("E", "F")), ((), ())]


def test_straight_through_a_door_is_a_step_of_its_own() -> None:
    steps = steps_of(process_drawing("A....+,,,,H,+....B"), "A", "B")
    assert texts(steps) == [
        "Walk 18 ft through A.",
        "Go through the door and walk 28 ft along H.",
        "Go through the door into B and walk 22 ft.",
        "Arrive at B.",
    ]
    assert [step.code.value for step in steps][1:3] == ["door", "door"]


def test_doors_one_after_the_other_are_passed_in_one_step() -> None:
    steps = steps_of(process_drawing("A....+,+....B"), "A", "B")
    assert [len(step.door_ids) for step in steps] == [0, 2, 0]
    assert steps[1].text == "Go through the doors into B and walk 30 ft."


def test_a_closed_leaf_beside_an_open_one_is_not_named() -> None:
    rooms = tuple(Space(name, "0", box(x, 0, x + 20, 20)) for name, x in (("A", 0), ("B", 20)))
    leaves = tuple(Door(name, "0", box(19, y, 21, y + 4)) for name, y in (("low", 6), ("high", 9)))
    processed = process_plan(Plan((Level("0", 0),), rooms, doors=leaves))
    network = processed.networks[TravelMode.FOOT]
    closed = restrict_networks(processed.networks, Restrictions(door_ids=frozenset(["high"])))
    for own, passed in ((network, ("high",)), (closed[TravelMode.FOOT], ("low",))):
        route = find_route(own, Position("0", 10, 18), Position("0", 30, 10))
        assert route is not None
        assert [step.door_ids for step in build_steps(own, route)] == [(), passed, ()]


def test_a_turn_between_two_doors_is_told_once() -> None:
    vestibule = """
        #####A#
        #####.#
        #####+#
        #####,#
        B..+,,#
        """
    steps = steps_of(process_drawing(vestibule), "A", "B")
    assert [(step.modifier, len(step.door_ids)) for step in steps[1:-1]] == [
        ("right", 1),
        ("straight", 1),
    ]


def test_a_ride_says_where_to() -> None:
    tower = process_drawing("A,,,e#", "B,,,e#", "#,,,e,,,C")
    names = {"0": "Ground floor", "1": "2", "2": "Floor 3"}
    steps = steps_of(tower, "A", "C", level_names=names, target_name="Suite 214")
    assert texts(steps) == [
        "Walk 16 ft along A.",
        "Take the lift to Floor 3.",
        "Leave the lift and walk 16 ft along C.",
        "Arrive at Suite 214.",
    ]
    ride = steps[1]
    assert ride.code is StepCode.CONNECTOR and ride.ride is not None
    assert (ride.level_id, ride.ride.to_level_id, ride.ride.kind) == ("0", "2", "elevator")
    assert (ride.x, ride.y) == (18, 2)
    assert [step.level_id for step in steps] == ["0", "0", "2", "2"]
    # a label is no name, and without a name there are only two ways to go
    assert steps_of(tower, "C", "B", level_names=names)[1].text == "Take the lift to floor 2."
    assert steps_of(tower, "C", "A")[1].text == "Take the lift down."


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        (ConnectorKind.STEPS, "", "Take the stairs up to Floor 3."),
        (ConnectorKind.STEPS, "Staircase B", "Take Staircase B up to Floor 3."),
        (ConnectorKind.ESCALATOR, "2", "Take the escalator 2 up to Floor 3."),
        (ConnectorKind.ELEVATOR, "lift", "Take the lift to Floor 3."),
        (ConnectorKind.RAMP, "North\n ramp", "Take North ramp up to Floor 3."),
    ],
)
def test_a_connector_has_its_name_once(kind: ConnectorKind, name: str, text: str) -> None:
    plan = draw_plan("A,,,e", "B,,,e")
    shaft = Connector("c", kind, plan.connectors[0].entrances, name)
    processed = process_plan(replace(plan, connectors=(shaft,)))
    assert steps_of(processed, "A", "B", level_names={"1": "Floor 3"})[1].text == text


def test_the_stairwell_that_is_left_is_not_named() -> None:
    tower = process_drawing("A,,s", "..Ss..+,,B")
    assert "Leave the stairs and walk 10 ft." in texts(steps_of(tower, "A", "B"))


def test_a_route_may_begin_and_end_at_a_connector() -> None:
    tower = process_drawing("A,,,e", "B,,,e")
    shaft = Position("0", 18, 2), Position("1", 18, 2)
    steps = steps_of(tower, *shaft)
    assert texts(steps) == ["Start here.", "Take the lift up.", "Arrive at your destination."]
    assert [(step.level_id, step.x, step.y) for step in steps] == [
        ("0", 18, 2), ("0", 18, 2), ("1", 18, 2),
    ]  # fmt: skip


def test_a_walk_of_no_length_is_a_step_too() -> None:
    """A walk may be shorter than the tolerance by which its line is simplified."""
    network = process_drawing("A,,,e", "B,,,e").networks[TravelMode.FOOT]
    route = find_route(network, "A", "B")
    assert route is not None
    walk, ride, back = route.legs
    assert isinstance(walk, WalkLeg) and isinstance(back, WalkLeg)
    tiny = [WalkLeg(leg.level_id, ((2, 2), (2, 2)), 1e-5, 1e-6) for leg in (walk, back)]
    steps = build_steps(network, ComputedRoute((tiny[0], ride, tiny[1])))
    assert texts(steps) == [
        "Start here.", "Take the lift up.", "Leave the lift.", "Arrive at your destination.",
    ]  # fmt: skip
    assert sum(step.feet for step in steps) == pytest.approx(2e-5)


@pytest.mark.parametrize(("y", "side"), [(1, "left"), (19, "right")])
def test_a_target_beside_the_walk_is_on_one_side_of_it(y: float, side: str) -> None:
    """The niche is out of sight behind a wall, so the walk leads along the corridor first."""
    hall = shapely.union_all([box(0, 6, 100, 14), box(90, 0, 94, 20)])
    line = LineString([(5, 10), (92, y)])
    steps = steps_in(hall, line)
    assert texts(steps) == ["Walk 90 ft.", f"Arrive at your destination, on your {side}."]
    assert steps[-1].modifier == side


def test_a_step_names_a_few_rooms_and_a_response_is_bounded() -> None:
    doors = "##" + "+#" * 15
    rooms = "##" + ".#" * 15
    ward = process_drawing("\n".join([rooms, doors, "A" + "," * 31 + "B"]))
    walk, _ = steps_of(ward, "A", "B")
    assert len(walk.passed) == MAX_STEP_NAMES
    assert walk.text.endswith(f"past {walk.passed[-2]} and {walk.passed[-1]}.")


def rooms_left_or_entered(processed: ProcessedPlan, leg: WalkLeg) -> list[tuple[float, bool]]:
    """Where a walk leaves or enters a room, and whether there is a door."""
    network = processed.networks[TravelMode.FOOT]
    line = LineString(leg.points)
    found = find_landmarks(network, network.level_index[leg.level_id], line, {})
    rooms = [stay for stay in found.stays if stay.kind is SpaceKind.ROOM]
    ends = [feet for stay in rooms for feet in (stay.start_feet, stay.end_feet)]
    return [
        (feet, any(each.start_feet - 2 < feet < each.end_feet + 2 for each in found.crossings))
        for feet in ends
        if 2 < feet < line.length - 2
    ]


def assert_steps_follow_the_route(
    processed: ProcessedPlan, start: WaypointRef, end: WaypointRef
) -> None:
    for network in processed.networks.values():
        route = find_route(network, start, end)
        if route is None:
            continue
        steps = build_steps(network, route)
        assert (steps[0].code, steps[-1].code) == (StepCode.DEPART, StepCode.ARRIVE)
        assert sum(step.feet for step in steps) == pytest.approx(route.feet)
        assert sum(step.seconds for step in steps) == pytest.approx(route.seconds)
        assert all(step.feet >= 0 and step.text.endswith(".") for step in steps)
        rides = [leg for leg in route.legs if isinstance(leg, ConnectorLeg)]
        assert sum(step.ride is not None for step in steps) <= len(rides)
        if network.mode is TravelMode.FOOT:
            for leg in route.legs:
                if isinstance(leg, WalkLeg) and len(leg.points) > 1:
                    assert all(has_door for _, has_door in rooms_left_or_entered(processed, leg))


@draw_fewer(5)
@given(plans())
def test_steps_add_up_to_the_route_and_no_room_is_entered_without_a_door(plan: Plan) -> None:
    processed = process_plan(plan)
    ids = [location.id for location in processed.plan.locations]
    for start in ids[:3]:
        for end in ids:
            assert_steps_follow_the_route(processed, start, end)


@pytest.mark.slow
@pytest.mark.parametrize("process", [process_demo, process_caserne])
def test_so_it_is_in_real_buildings(process: object) -> None:
    processed = process()  # type: ignore[operator]
    ids = processed.networks[TravelMode.FOOT].location_ids
    for start in ids[::40]:
        for end in ids[::9]:
            assert_steps_follow_the_route(processed, start, end)
