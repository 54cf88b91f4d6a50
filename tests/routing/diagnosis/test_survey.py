"""What keeps levels apart is one problem: nothing joins them, or a lift that is of no use."""

from dataclasses import replace

from shapely import box

from routing.plan import Connector, ConnectorKind
from tests.routing.ascii_plans import draw_plan
from tests.routing.diagnosis.reports import groups_drawn, groups_of, messages

# Levels


HALL = "A,B,C,,,"
ABOVE = "D,E,,,,,"


def lift(**entrances: tuple[float, float, float, float]) -> Connector:
    boxes = {level_id.strip("_"): box(*at) for level_id, at in entrances.items()}
    return Connector("lift", ConnectorKind.ELEVATOR, boxes, "Lift 1")


def with_connectors(*connectors: Connector) -> dict[str, list[str]]:
    plan = replace(draw_plan(HALL, ABOVE), connectors=connectors)
    return {cause: messages(group) for cause, group in groups_of(plan).items()}


def test_all_locations_of_levels_that_nothing_joins_are_one_problem() -> None:
    groups = groups_drawn(HALL, ABOVE)
    assert [*groups] == ["levels-not-joined"]
    group = groups["levels-not-joined"]
    assert group.statement == (
        "No stairs, lift or ramp joins level 1 with level 0: 2 of 5 locations cannot be reached"
    )
    [problem] = group.problems
    assert (problem.part, problem.level_id, problem.locations) == ("1", "1", 2)
    assert problem.at is not None


def test_levels_that_are_joined_with_each_other_only_are_one_problem() -> None:
    groups = groups_drawn(HALL, "D,E,,,s", "F,,,,,s")
    [problem] = groups["levels-not-joined"].problems
    assert problem.message == "No stairs, lift or ramp joins levels 1 and 2 with level 0"
    assert problem.locations == 3


def test_several_levels_without_a_join_are_stated_together() -> None:
    group = groups_drawn(HALL, ABOVE, "F,,")["levels-not-joined"]
    assert group.statement.startswith("No stairs, lift or ramp joins levels 1 and 2 with the rest:")


def test_stairs_that_are_drawn_on_one_of_the_levels_only_are_named_and_not_repeated() -> None:
    groups = with_connectors(lift(_1=(8, 0, 12, 4)))
    assert groups == {
        "levels-not-joined": [
            "No stairs, lift or ramp joins level 1 with level 0: lift 'Lift 1' serves no other"
        ]
    }


def test_a_lift_that_is_drawn_on_both_levels_says_why_it_is_of_no_use() -> None:
    far = with_connectors(lift(_0=(8, 0, 12, 4), _1=(8, 90, 12, 94)))
    missing = "No stairs, lift or ramp that can be used joins level 1 with level 0: lift 'Lift 1'"
    assert far == {"levels-not-joined": [f"{missing} has no floor near it on level 1"]}
    plan = replace(draw_plan(HALL, ABOVE), connectors=(lift(_0=(8, 0, 12, 4), _1=(8, 90, 12, 94)),))
    [problem] = groups_of(plan)["levels-not-joined"].problems
    assert (problem.level_id, problem.at) == ("1", (10, 92))
    broken = replace(lift(_0=(8, 0, 12, 4), _1=(8, 0, 12, 4)), is_in_service=False)
    assert with_connectors(broken) == {"levels-not-joined": [f"{missing} is out of service"]}


def test_the_lift_that_serves_both_levels_is_named_first_with_what_it_lacks_on_these() -> None:
    at, far = box(16, 0, 20, 4), box(16, 90, 20, 94)
    stairs = [Connector(f"n{n}", ConnectorKind.STEPS, {"0": at, "2": far}) for n in range(3)]
    lower = Connector("n3", ConnectorKind.STEPS, {"0": at, "1": at})
    lift = Connector("n4", ConnectorKind.ELEVATOR, {"0": far, "1": at, "2": far}, "Lift 1")
    plan = replace(draw_plan(HALL, ABOVE, "F,,,,,,"), connectors=(*stairs, lower, lift))
    [message] = messages(groups_of(plan)["levels-not-joined"])
    assert message.startswith(
        "No stairs, lift or ramp that can be used joins level 2 with level 1: lift 'Lift 1' has no"
        " floor near it on level 2; staircase 'n0' has no floor near it on level 2; "
    )
    assert message.endswith("and 1 more")


def test_a_shaft_that_ends_on_floor_that_is_cut_off_does_not_join_the_level() -> None:
    groups = groups_drawn("A,B,C,s#######", "s#D,E,")
    [problem] = groups["levels-not-joined"].problems
    assert problem.level_id == "1"
    two_ends = with_connectors(lift(_0=(8, 0, 12, 4), _1=(8, 0, 12, 4)))
    assert two_ends == {}


# Lifts and stairs


JOINED = draw_plan("A,,,s", "B,,,s")
NEAR, FAR = box(8, 0, 12, 4), box(8, 90, 12, 94)


def with_lift(lift: Connector) -> dict[str, list[str]]:
    plan = replace(JOINED, connectors=(*JOINED.connectors, lift))
    found = groups_of(plan)
    return {cause: messages(each) for cause, each in found.items() if cause != "no-step-free-way"}


def test_one_without_floor_near_it_is_not_also_said_to_have_one_end() -> None:
    lift = Connector("way/1", ConnectorKind.ELEVATOR, {"0": NEAR, "1": FAR})
    assert with_lift(lift) == {
        "connector-out-of-reach": ["lift 'way/1' has no floor within 6 ft on level 1"]
    }


def test_one_that_was_joined_by_position_says_which_levels_and_where() -> None:
    at, sure = {"0": NEAR, "1": NEAR}, 0.9
    lift, other = (
        Connector(ref, ConnectorKind.ELEVATOR, at, confidence=confidence)
        for ref, confidence in (("way/1", 0.7), ("way/2", sure))
    )
    plan = replace(JOINED, connectors=(*JOINED.connectors, lift, other))
    [problem] = groups_of(plan)["connector-joined"].problems
    assert problem.message == (
        "lift 'way/1': taken to join levels 0 and 1 with confidence 0.7; list its levels, or give"
        " its drawings one ref"
    )
    assert (problem.level_id, problem.at) == ("0", (10, 2))


# Wheelchairs


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
