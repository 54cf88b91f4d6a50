"""Every kind of problem is found in some plan, with the part that has it, where, and what to do."""

from __future__ import annotations

from dataclasses import replace

import pytest
from shapely import LineString, Point, Polygon, box

from bench.data.plans import build_hall
from routing.issues import CAUSES, FROM_FILES, IssueKind
from routing.plan import (
    Barrier,
    Door,
    Level,
    Plan,
    PlanLocation,
    Space,
    SpaceKind,
)
from routing.processing import process_plan
from tests.doc_pages import page, section
from tests.routing.ascii_plans import draw_plan

GROUND = Level("0", 0)
HALL = Space("hall", "0", box(0, 0, 60, 20), SpaceKind.CORRIDOR)
ROOM = Space("room", "0", box(0, 20, 20, 40))
OFFICE = draw_plan(
    """
    #######
    #A#B#C#
    #+#+###
    #,,,se#
    #######
    """,
    """
    #######
    #######
    #######
    #,,,se#
    """,
)


def one_level(*spaces: Space, doors: tuple[Door, ...] = ()) -> Plan:
    return Plan((GROUND,), spaces, doors=doors)


def with_lift(**changes: object) -> Plan:
    lift, stairs = sorted(OFFICE.connectors, key=lambda connector: connector.id)
    changed = replace(lift, **changes)  # type: ignore[arg-type]
    return replace(OFFICE, connectors=(changed, stairs))


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
    IssueKind.LEVEL_SIMPLIFIED: (build_hall(17), "0"),
    IssueKind.EMPTY_LEVEL: (one_level(), "0"),
    IssueKind.OUTLINE_GUESSED: (one_level(ROOM, Space("b", "0", box(26, 20, 46, 40))), "0"),
    IssueKind.DOOR_JOINS_NOTHING: (
        one_level(HALL, ROOM, doors=(Door("lost", "0", Point(50, 50)),)),
        "lost",
    ),
    IssueKind.DOOR_TO_OUTSIDE: (
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
    IssueKind.DOOR_NOT_ONE_WAY: (
        one_level(
            Space("hall", "0", box(0, 0, 3005, 20), SpaceKind.CORRIDOR),
            Space("room", "0", box(0, 20, 3005, 40)),
            doors=tuple(
                Door(f"gate {i}", "0", Point(2 + 5 * i, 20), width_feet=2, one_way=(0, 1))
                for i in range(601)
            ),
        ),
        "gate 600",
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
    IssueKind.LOCATION_OFF_FLOOR: (
        replace(one_level(HALL), locations=(PlanLocation("far", "0", 99, 99),)),
        "far",
    ),
    IssueKind.DOORS_LOCKED: (draw_plan("A,,x.B"), "room B"),
    IssueKind.GAP_TOO_NARROW: (
        replace(one_level(HALL), barriers=(Barrier("0", box(10, 0, 12, 19.9)),)),
        "0",
    ),
    IssueKind.FLOOR_CUT_OFF: (draw_plan("A,B,E#C..+.D"), "room C"),
    IssueKind.ONLY_PRIVATE_WAY: (draw_plan("A,B,E+;;;+,D"), "room 0:(6, 0)"),
    IssueKind.LEVELS_NOT_JOINED: (draw_plan("A,B", "C,,"), "1"),
    IssueKind.BUILDINGS_NOT_JOINED: (draw_plan("A,B", "#########C,,"), "1"),
    IssueKind.NOT_STEP_FREE: (draw_plan("A,Bs", "C,,s"), "1"),
    IssueKind.DOOR_TOO_NARROW: (draw_plan("A,Bn.C"), "0:3,0"),
}


@pytest.mark.parametrize("kind", PLANS)
def test_every_kind_is_found_in_a_plan_and_says_what_and_where(kind: IssueKind) -> None:
    plan, part = PLANS[kind]
    found = [issue for issue in process_plan(plan).report.problems if issue.kind is kind]
    assert [issue.part for issue in found] == [part]
    assert found[0].message
    assert found[0].level_id in {None, *(level.id for level in plan.levels)}
    has_nothing = kind is IssueKind.EMPTY_LEVEL  # the only level has nothing
    assert has_nothing or found[0].at is not None


def test_only_what_readers_of_files_find_has_no_plan_here() -> None:
    assert set(IssueKind) - PLANS.keys() == set(FROM_FILES)


@pytest.mark.parametrize("kind", IssueKind)
def test_every_kind_has_a_sentence_for_one_and_for_many_and_a_remedy(kind: IssueKind) -> None:
    cause = CAUSES[kind]
    assert cause.state(1)[0].isupper()
    assert kind is IssueKind.IMPLAUSIBLE_SCALE or "12" in cause.state(12)
    assert cause.remedy[0].islower() and not cause.remedy.endswith(".")


def test_the_docs_have_every_kind() -> None:
    table = section(page("floor-plans.md"), "## The report")
    assert [kind.value for kind in IssueKind if f"`{kind.value}`" not in table] == []
