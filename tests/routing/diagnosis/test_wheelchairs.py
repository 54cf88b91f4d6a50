"""What keeps wheelchairs from where people get on foot is one problem for each lift or door."""

from dataclasses import replace

from shapely import box

from tests.routing.ascii_plans import draw_plan
from tests.routing.diagnosis.reports import groups_drawn, groups_of, messages


def test_a_building_without_a_lift_says_which_levels_wheelchairs_do_not_reach() -> None:
    groups = groups_drawn("A,B,C,s", "D,E,,,s")
    assert [*groups] == ["no-step-free-way"]
    assert groups["no-step-free-way"].statement == (
        "No lift or ramp joins level 1 with level 0:"
        " 2 of 5 locations cannot be reached by wheelchair"
    )


def test_a_lift_that_is_not_for_wheelchairs_is_named() -> None:
    plan = draw_plan("A,B,e", "C,,,e")
    forbidden = replace(plan.connectors[0], wheelchair=False)
    [message] = messages(groups_of(replace(plan, connectors=(forbidden,)))["no-step-free-way"])
    assert message.endswith("lift 'e4,0' is not for a wheelchair")


def test_the_widest_door_of_a_part_that_wheelchairs_do_not_reach_is_named() -> None:
    groups = groups_drawn("A,Bn.C")
    assert [*groups] == ["door-too-narrow"]
    [problem] = groups["door-too-narrow"].problems
    assert (problem.part, problem.locations) == ("0:3,0", 1)
    assert problem.message == "the widest door of room 'C' is 2.50 ft; wheelchairs need 2.62 ft"
    assert messages(groups_drawn("A,B?.C")["door-too-narrow"]) == [
        "the door of room 'C' is not for wheelchairs (wheelchair=no)"
    ]


def test_a_lift_behind_a_narrow_door_is_a_matter_of_the_door() -> None:
    groups = groups_drawn("A,B,+e", "C,D,ne")
    assert [*groups] == ["door-too-narrow"]
    assert groups["door-too-narrow"].locations == 2


def test_rooms_behind_narrow_doors_on_a_level_without_a_lift_are_counted_once() -> None:
    groups = groups_drawn("s,A,B,C", "s,D,En.F")
    lost = {cause: group.locations for cause, group in groups.items()}
    assert lost == {"no-step-free-way": 2, "door-too-narrow": 1}


def test_what_nobody_reaches_on_foot_is_not_said_again() -> None:
    groups = groups_drawn("A,B#.C", "D,,,,,")
    assert {group.mode.value for group in groups.values()} == {"foot"}


def test_foot_comes_before_wheelchairs() -> None:
    groups = groups_drawn("A,B,C,D,s#.G", "E,F,,,,,s")
    assert next(iter(groups)) == "room-without-door"


def test_steps_that_part_the_floor_of_a_level_are_named() -> None:
    plan = draw_plan("A,B,,,,,,s,,C")
    across = replace(plan.connectors[0], entrances={"0": box(36, -1, 40, 5)})
    groups = groups_of(replace(plan, connectors=(across,)))
    assert [*groups] == ["no-step-free-way", "connector-with-one-end"]
    assert messages(groups["no-step-free-way"]) == ["only stairs lead to a part of level 0"]
    assert groups["no-step-free-way"].locations == 1
    assert messages(groups["connector-with-one-end"]) == [
        "staircase 's9,0' is drawn on level 0 only, and stops wheelchairs there"
    ]
