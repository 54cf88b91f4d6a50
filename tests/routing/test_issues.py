"""Every kind of issue is found in some plan, with the part that has it and what to do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from shapely import LineString, Point, Polygon, box

from routing.issues import IssueKind
from routing.plan import (
    Door,
    Level,
    Plan,
    PlanLocation,
    Space,
    SpaceKind,
)
from routing.processing import process_plan
from tests.routing.ascii_plans import draw_plan

GROUND = Level("0", 0)
HALL = Space("hall", "0", box(0, 0, 60, 20), SpaceKind.CORRIDOR)
ROOM = Space("room", "0", box(0, 20, 20, 40))
OFFICE = draw_plan(
    """
    #######
    #A#B#C#
    #+#+###
    #,,,,e#
    #######
    """,
    """
    #######
    #######
    #######
    #,,,,e#
    """,
)


def one_level(*spaces: Space, doors: tuple[Door, ...] = ()) -> Plan:
    return Plan((GROUND,), spaces, doors=doors)


def with_lift(**changes: object) -> Plan:
    lift = OFFICE.connectors[0]
    return replace(OFFICE, connectors=(replace(lift, **changes),))  # type: ignore[arg-type]


def near(level_0: Point, level_1: Point) -> dict[str, Point]:
    return {"0": level_0, "1": level_1}


PLANS = {
    IssueKind.SELF_CROSSING: (
        one_level(HALL, Space("bow", "0", Polygon([(0, 20), (20, 40), (20, 20), (0, 40)]))),
        "bow",
    ),
    IssueKind.NO_AREA: (
        one_level(HALL, Space("line", "0", Polygon([(0, 0), (10, 0), (20, 0)]))),
        "line",
    ),
    IssueKind.OVERLAPPING_ROOMS: (
        one_level(HALL, ROOM, Space("other", "0", box(10, 20, 30, 40))),
        "room",
    ),
    IssueKind.DUPLICATE_LEVEL_NAME: (
        Plan((Level("0", 0, "Lobby"), Level("1", 1, "Lobby")), (HALL,)),
        "1",
    ),
    IssueKind.IMPLAUSIBLE_SCALE: (one_level(Space("a", "0", box(0, 0, 1, 1))), "plan"),
    IssueKind.EMPTY_LEVEL: (one_level(), "0"),
    IssueKind.OUTLINE_GUESSED: (one_level(ROOM, Space("b", "0", box(26, 20, 46, 40))), "0"),
    IssueKind.DOOR_JOINS_NOTHING: (
        one_level(HALL, ROOM, doors=(Door("outside", "0", Point(0, 30)),)),
        "outside",
    ),
    IssueKind.DOOR_NOT_NEEDED: (
        one_level(HALL, ROOM, doors=(Door("open", "0", LineString([(30, 8), (30, 12)])),)),
        "open",
    ),
    IssueKind.DOOR_AMBIGUOUS: (
        one_level(
            HALL,
            ROOM,
            Space("other", "0", box(20, 20, 40, 40)),
            doors=(Door("corner", "0", Point(20, 20)),),
        ),
        "corner",
    ),
    IssueKind.DOOR_MOVED: (
        one_level(HALL, ROOM, doors=(Door("beside", "0", Point(10, 22)),)),
        "beside",
    ),
    IssueKind.DOOR_INFERRED: (one_level(HALL, ROOM), "room"),
    IssueKind.ROOM_ENCLOSED: (OFFICE, "room C"),
    IssueKind.CONNECTOR_ONE_END: (with_lift(entrances={"0": Point(20, 14)}), "e5,3"),
    IssueKind.CONNECTOR_OUT_OF_REACH: (
        with_lift(entrances=near(Point(20, 14), Point(20, 99))),
        "e5,3",
    ),
    IssueKind.CONNECTOR_JOINED: (with_lift(confidence=0.7), "e5,3"),
    IssueKind.CONNECTOR_OUT_OF_SERVICE: (with_lift(is_in_service=False), "e5,3"),
    IssueKind.UNROUTABLE_LOCATION: (
        replace(one_level(HALL), locations=(PlanLocation("far", "0", 99, 99),)),
        "far",
    ),
}


@pytest.mark.parametrize("kind", IssueKind)
def test_every_kind_is_found_in_a_plan_and_names_the_part(kind: IssueKind) -> None:
    plan, part = PLANS[kind]
    found = [issue for issue in process_plan(plan).report.problems if issue.kind is kind]
    assert [issue.part for issue in found] == [part]
    assert found[0].message
    assert found[0].level_id in {None, *(level.id for level in plan.levels)}


def test_the_kinds_are_counted_in_the_report_by_their_values() -> None:
    plan, _ = PLANS[IssueKind.ROOM_ENCLOSED]
    report = process_plan(plan).report.to_dict()
    assert report["problem_counts"] == {"room-without-door": 1, "unroutable-location": 1}
    assert report["problems"][0] == {
        "kind": "room-without-door",
        "part": "room C",
        "message": "room 'room C' has no door and is cut off; draw a door into it",
        "level_id": "0",
    }


def test_a_plan_without_faults_has_no_issue() -> None:
    plan = draw_plan("A.+,,e", "B.+,,e")
    assert process_plan(plan).report.problems == ()
