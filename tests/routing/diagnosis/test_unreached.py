"""Each location that nobody reaches on foot is traced to one problem, which counts it."""

from dataclasses import replace

from routing.plan import PlanLocation
from routing.processing import process_plan
from tests.routing.ascii_plans import draw_plan
from tests.routing.diagnosis.reports import groups_drawn, groups_of, messages


def test_a_room_without_a_door_is_one_problem_with_its_locations() -> None:
    groups = groups_drawn(
        """
        #########
        #A#B.C#D#
        #+#####+#
        #,,,,,,,#
        #########
        """
    )
    assert [*groups] == ["room-without-door"]
    group = groups["room-without-door"]
    assert group.statement == "A room has no door: 2 of 4 locations cannot be reached"
    assert messages(group) == ["room 'B' has no door"]


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
