"""Floor that no door joins says what is on it, where the rest is, and which door was meant."""

from dataclasses import replace

import pytest
from shapely import LineString, Point, box

from routing.plan import Barrier, Door, Level, Plan, PlanLocation, Space, SpaceKind
from tests.routing.ascii_plans import draw_plan
from tests.routing.diagnosis.reports import groups_drawn, groups_of


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
