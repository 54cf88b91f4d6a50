"""Levels that nothing joins are one problem, which names what is drawn there and is of no use."""

from dataclasses import replace

from shapely import box

from routing.plan import Connector, ConnectorKind
from tests.routing.ascii_plans import draw_plan
from tests.routing.diagnosis.reports import groups_drawn, groups_of, messages

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
    assert messages(group) == [
        "No stairs, lift or ramp joins level 1 with level 0",
        "No stairs, lift or ramp joins level 2 with level 1",
    ]


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


def test_levels_far_beside_the_rest_are_another_building() -> None:
    groups = groups_drawn("A,B", "#########C,,")
    assert [*groups] == ["buildings-not-joined"]
    [message] = messages(groups["buildings-not-joined"])
    assert message == "Nothing joins level 1 with the rest, 24 ft away"
