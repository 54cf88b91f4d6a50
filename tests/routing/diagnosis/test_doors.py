"""Doors in no wall, rooms without a door and floor that is cut off are explained."""

from dataclasses import replace

import pytest
from shapely import LineString, Point, Polygon, box

from routing.costing import TravelMode
from routing.diagnosis import unreached
from routing.diagnosis.survey import Survey, survey_network
from routing.network.components import find_components, find_cut_off_areas
from routing.plan import Barrier, Door, Level, Plan, PlanLocation, Space, SpaceKind
from routing.processing import process_plan
from tests.routing.ascii_plans import draw_plan, process_drawing
from tests.routing.diagnosis.reports import groups_drawn, groups_of, messages

HALL = Space("hall", "0", box(0, 44, 60, 60), SpaceKind.CORRIDOR)
ROOM = Space("features[1]", "0", box(0, 0, 20, 40), name="Lobby")
OTHERS = tuple(Space(f"r{x}", "0", box(x, 0, x + 15, 44)) for x in (22, 40))
DOORS = tuple(Door(f"d{x}", "0", Point(x + 8, 44)) for x in (22, 40))
PLACES = tuple(PlanLocation(f"p{x}", "0", x, 20) for x in (10, 30, 48))


def with_door(shape: Polygon, **changes: object) -> Plan:
    door = Door("door", "0", shape, **changes)  # type: ignore[arg-type]
    return Plan((Level("0", 0),), (HALL, ROOM, *OTHERS), (), (*DOORS, door), (), PLACES)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        # Inside the room: once called "in the open, not needed", beside "room without door".
        (box(8, 37, 11, 38.1), "room 'Lobby' has no door; door 'door' is 1.9 ft from its wall"),
        (box(8, 41.9, 11, 42), "room 'Lobby' has no door; door 'door' is 1.9 ft from its wall"),
        # In its wall, but the corridor begins farther away.
        (
            box(8, 39.5, 11, 40.5),
            "room 'Lobby' has no door; door 'door' is at its wall, but other floor is 3.5 ft away",
        ),
    ],
)
def test_a_door_beside_the_wall_of_a_room_without_door_is_a_hint_there(
    shape: Polygon, message: str
) -> None:
    groups = groups_of(with_door(shape))
    assert [*groups] == ["room-without-door"]
    [problem] = groups["room-without-door"].problems
    assert (problem.message, problem.name) == (message, "Lobby")
    assert problem.at is not None
    assert shape.covers(Point(problem.at))


def test_a_door_far_from_any_room_without_door_is_a_problem_of_its_own() -> None:
    groups = groups_of(with_door(box(40, 52, 42, 53)))
    assert [*groups] == ["room-without-door", "door-in-open-space"]
    assert messages(groups["door-in-open-space"]) == [
        "door 'door' stands within open floor, in no wall"
    ]


def test_a_door_with_floor_on_one_side_only_leads_outside() -> None:
    groups = groups_drawn("+,A,B")
    assert messages(groups["door-to-outside"]) == [
        "door '0:0,0' leads out of open floor to where no floor is drawn"
    ]


def test_a_door_that_fits_into_no_wall_says_what_is_beside_it() -> None:
    yard = Space("yard", "0", box(0, 0, 60, 39), SpaceKind.AREA)
    door = Door("d", "0", Point(30, 41))
    groups = groups_of(Plan((Level("0", 0),), (HALL, yard), (), (door,)))
    assert messages(groups["door-joins-no-two-spaces"]) == [
        "door 'd' fits into no wall between open floor (2.0 ft away) and open floor (3.0 ft away)"
    ]


def test_a_room_with_a_locked_door_is_not_said_to_have_none() -> None:
    groups = groups_drawn("A.+,B,x.C")
    assert [*groups] == ["doors-locked"]
    group = groups["doors-locked"]
    assert group.statement == "1 of 2 doors is locked: 1 of 3 locations cannot be reached"
    assert messages(group) == ["the door '0:6,0' of room 'C' is locked, and it has no other"]


# Floor


def test_floor_that_is_cut_off_says_what_is_on_it_and_where_the_rest_is_nearest() -> None:
    groups = groups_drawn("A,B,C#,,D+E.")
    assert [*groups] == ["floor-cut-off"]
    [problem] = groups["floor-cut-off"].problems
    assert problem.locations == 2
    assert problem.message == (
        "no door joins a part of level 0 of 79 ft² with room 'E' with the rest;"
        " here, the rest is 4.0 ft away"
    )
    assert problem.at == pytest.approx((22, 2), abs=2)  # in the wall between C and D


def test_rooms_that_only_a_wall_parts_from_the_rest_say_so() -> None:
    hall = Space("hall", "0", box(0, 0, 40, 10), SpaceKind.CORRIDOR)
    ends = PlanLocation("a", "0", 5, 5), PlanLocation("b", "0", 9, 5), PlanLocation("c", "0", 35, 5)
    wall = Barrier("0", LineString([(20, -5), (20, 15)]))
    plan = Plan((Level("0", 0),), (hall,), (wall,), locations=ends)
    [problem] = groups_of(plan)["floor-cut-off"].problems
    assert problem.message.endswith("here, the rest is right behind the wall")
    assert problem.at is not None and problem.at[0] == pytest.approx(20, abs=0.1)


def test_a_door_that_was_meant_to_join_floor_is_part_of_that() -> None:
    hall = Space("hall", "0", box(0, 0, 60, 16), SpaceKind.CORRIDOR)
    yard = Space("yard", "0", box(0, 21, 60, 40), SpaceKind.AREA)
    places = tuple(PlanLocation(f"p{y}", "0", 9, y) for y in (5, 9, 30))
    door = Door("gate", "0", Point(30, 18))
    groups = groups_of(Plan((Level("0", 0),), (hall, yard), (), (door,), (), places))
    assert [*groups] == ["floor-cut-off"]
    [problem] = groups["floor-cut-off"].problems
    assert problem.message == (
        "no door joins a part of level 0 of 1,140 ft² with the rest: door 'gate' fits into no wall"
        " between open floor (2.0 ft away) and open floor (3.0 ft away)"
    )
    assert problem.at == (30, 18)


def test_a_room_that_walls_divide_is_not_said_to_have_no_door() -> None:
    plan = draw_plan("A,,+..B..C")
    wall = Barrier("0", LineString([(28, -5), (28, 9)]))
    groups = groups_of(replace(plan, barriers=(wall,)))
    assert [*groups] == ["floor-cut-off"]
    [problem] = groups["floor-cut-off"].problems
    assert problem.part == "room B"
    assert problem.message.startswith("no door joins a part of room 'B' of ")


def test_floor_behind_other_floor_that_is_cut_off_is_told_to_join_that() -> None:
    groups = groups_drawn("A,B,C#,,D#,E,")
    problems = groups["floor-cut-off"].problems
    near, far = sorted(problems, key=lambda problem: problem.at or ())
    assert near.message.endswith("here, the rest is 4.0 ft away")
    assert near.at == pytest.approx((26, 2), abs=4)
    assert far.message.endswith("here, a part of level 0 of 48 ft² is 4.0 ft away, cut off as well")
    assert far.at == pytest.approx((42, 2), abs=4)


def test_floor_is_told_to_join_its_neighbour_rather_than_what_lies_across_a_yard() -> None:
    spaces = [("hall", 0, 40, 0, 20), ("wing", 40, 60, 30, 80), ("end", 62, 80, 22, 80)]
    rooms = [
        Space(name, "0", box(west, north, east, south), SpaceKind.CORRIDOR)
        for name, west, east, north, south in spaces
    ]
    places = [("a", 5, 5), ("b", 9, 5), ("c", 15, 5), ("d", 50, 40), ("e", 70, 40)]
    locations = tuple(PlanLocation(name, "0", x, y) for name, x, y in places)
    groups = groups_of(Plan((Level("0", 0),), tuple(rooms), locations=locations))
    wing, end = sorted(groups["floor-cut-off"].problems, key=lambda problem: problem.at or ())
    assert wing.message.endswith("here, the rest is 10.0 ft away")
    assert wing.at == pytest.approx((40, 25))
    assert end.message.endswith(
        "here, a part of level 0 of 1,000 ft² is 2.0 ft away, cut off as well"
    )
    assert end.at == pytest.approx((61, end.at[1] if end.at else 0))


# Locations


def test_locations_on_a_level_without_floor_are_part_of_that() -> None:
    plan = draw_plan("A,B,e", "C,,,e")
    on_0 = tuple(space for space in plan.spaces if space.level_id == "0")
    groups = groups_of(replace(plan, spaces=on_0))
    assert [*groups] == ["empty-level"]
    [problem] = groups["empty-level"].problems
    assert problem.locations == 1
    assert problem.message == (
        "level 1 has no room, corridor or area to walk on (stairs and lifts to it: 1)"
    )


def test_a_location_beside_the_floor_says_how_far() -> None:
    plan = draw_plan("A,B")
    lost = replace(plan.locations[0], id="lost", x=-50.0, name="Bench")
    groups = groups_of(replace(plan, locations=(*plan.locations, lost)))
    [problem] = groups["location-off-floor"].problems
    assert problem.message == (
        "location 'Bench' lies 50.0 ft (more than 6 ft) from the nearest floor"
    )
    assert (problem.part, problem.at) == ("lost", (-50.0, 2.0))


def test_only_the_first_locations_beside_the_floor_say_how_far(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(unreached, "MAX_MEASURED_PARTS", 1)
    plan = draw_plan("A,B")
    lost = [replace(plan.locations[0], id=f"lost {x}", x=x) for x in (-50.0, -60.0)]
    problems = groups_of(replace(plan, locations=(*plan.locations, *lost)))
    assert [
        " ft (more than" in each.message for each in problems["location-off-floor"].problems
    ] == [
        True,
        False,
    ]


def test_each_location_that_is_cut_off_has_the_problem_that_is_the_reason() -> None:
    plan = draw_plan("A,B,+.C#.D#E,F", "G,,")
    lost = PlanLocation("lost", "0", -50, 2)
    report = process_plan(replace(plan, locations=(*plan.locations, lost))).report
    causes = {cut.location_id: cut.cause.value for cut in report.reachability[0].cut_off}
    assert causes == {
        "D": "room-without-door",
        "E": "floor-cut-off",
        "F": "floor-cut-off",
        "G": "levels-not-joined",
        "lost": "location-off-floor",
    }
    assert sum(group.locations for group in report.groups) == len(causes)


# The survey of levels that this begins with


def survey(*storeys: str) -> Survey:
    processed = process_drawing(*storeys)
    components = processed.components[TravelMode.FOOT]
    network = processed.networks[TravelMode.FOOT]
    return survey_network(processed.walkable_levels, network, components, components.main)


def test_the_home_of_a_level_is_the_main_component_or_the_one_with_the_most_locations() -> None:
    found = survey("A,B,C,s", "D,####s", "E,,,,,#F,G")
    homes = [level.home for level in found.levels]
    assert homes[0] == homes[1] == found.main  # the shaft of the stairs, though D is elsewhere
    assert found.locations_of[homes[2]] == 2
    assert [found.locations_of[each] for each in found.apart] == [2, 1, 1]


def test_locations_without_a_path_are_in_different_components() -> None:
    network = process_drawing("A,,B,,C#D,").networks[TravelMode.FOOT]
    components = find_components(network)
    one, *same, other = components.location_components.tolist()
    assert same == [one, one] and other != one
    assert (components.count, components.main) == (2, one)
    assert components.locations_in_main.tolist() == [True, True, True, False]
    (area,) = find_cut_off_areas(network, components, 0)
    assert area.bounds[0] > 28  # what is behind the wall
