"""A lift or a flight of stairs that is of no use is one problem."""

from dataclasses import replace

from shapely import box

from routing.costing import TravelMode
from routing.plan import Connector, ConnectorKind
from routing.processing import process_plan
from tests.routing.ascii_plans import draw_plan
from tests.routing.diagnosis.reports import groups_of, messages

JOINED = draw_plan("A,,,s", "B,,,s")
NEAR, FAR = box(8, 0, 12, 4), box(8, 90, 12, 94)


def with_lift(lift: Connector) -> dict[str, list[str]]:
    plan = replace(JOINED, connectors=(*JOINED.connectors, lift))
    found = groups_of(plan)
    return {cause: messages(each) for cause, each in found.items() if cause != "no-step-free-way"}


def test_one_that_is_drawn_on_one_level_only_says_where() -> None:
    lift = Connector("way/1", ConnectorKind.ELEVATOR, {"1": NEAR}, "North lift")
    assert with_lift(lift) == {
        "connector-with-one-end": ["lift 'North lift' is drawn on level 1 only"]
    }


def test_one_without_floor_near_it_is_not_also_said_to_have_one_end() -> None:
    lift = Connector("way/1", ConnectorKind.ELEVATOR, {"0": NEAR, "1": FAR})
    assert with_lift(lift) == {
        "connector-out-of-reach": ["lift 'way/1' has no floor within 6 ft on level 1"]
    }


def test_one_out_of_service_serves_nobody() -> None:
    lift = Connector("l", ConnectorKind.ELEVATOR, {"0": NEAR, "1": NEAR}, is_in_service=False)
    assert with_lift(lift) == {
        "connector-out-of-service": ["lift 'l' is out of service and left out"]
    }
    only = replace(draw_plan("A,,", "B,,"), connectors=(lift,))
    router = process_plan(only).router
    assert all(router.route("A", "B", mode) is None for mode in TravelMode)


def test_one_that_leads_to_a_level_without_floor_is_part_of_that() -> None:
    plan = draw_plan("A,,s", "B,,s", "###s")
    without = tuple(space for space in plan.spaces if space.level_id != "2")
    groups = groups_of(replace(plan, spaces=without))
    assert [*groups] == ["no-step-free-way", "empty-level"]


def test_one_that_was_joined_by_position_says_which_levels_and_where() -> None:
    lift = Connector("way/1", ConnectorKind.ELEVATOR, {"0": NEAR, "1": NEAR}, confidence=0.7)
    plan = replace(JOINED, connectors=(*JOINED.connectors, lift))
    [problem] = groups_of(plan)["connector-joined"].problems
    assert problem.message == (
        "lift 'way/1': taken to join levels 0 and 1 with confidence 0.7; list its levels, or give"
        " its drawings one ref"
    )
    assert (problem.level_id, problem.at) == ("0", (10, 2))
