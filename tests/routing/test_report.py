"""The report says what is cut off and why; every kind of problem has its part and a remedy."""

import json
from dataclasses import replace

import numpy as np
import pytest
from shapely import LineString, Point, Polygon, box

from routing.costing import TravelMode
from routing.issues import (
    CAUSES,
    FROM_FILES,
    MAX_LISTED_PROBLEMS,
    MAX_TEXT_CHARS,
    IssueKind,
    PlanIssue,
    group_problems,
)
from routing.plan import Barrier, Door, Level, Plan, PlanLocation, Space, SpaceKind
from routing.processing import process_plan
from routing.report import MAX_LISTED_LOCATIONS, Reachability
from routing.search.router import Position
from samples.buildings.generated_plans import build_hall
from tests.doc_pages import page, section
from tests.routing.ascii_plans import draw_plan, process_drawing

OFFICE = """
    ###########
    #A#B#C#D#E#
    #+#+#n#x#+#
    #,,,,,,,,,#
    ###########
    """


def self_check(plan: Plan, mode: TravelMode) -> Reachability:
    return next(check for check in process_plan(plan).report.reachability if check.mode is mode)


def test_levels_are_counted() -> None:
    [level] = process_drawing(OFFICE).report.levels
    assert (level.rooms, level.locations) == (5, 5)
    assert (level.doors_drawn, level.doors_locked, level.doors_as_drawn) == (5, 1, 4)
    assert level.walkable_square_feet == pytest.approx((5 + 9) * 16, abs=5)


def test_a_location_that_is_cut_off_has_its_reason() -> None:
    cut_off = self_check(draw_plan(OFFICE), TravelMode.WHEELCHAIR).cut_off
    assert {cut.location_id: cut.reason for cut in cut_off} == {
        "C": "the widest door of room 'C' is 2.50 ft; wheelchairs need 2.62 ft",
        "D": "the door '0:7,2' of room 'D' is locked, and it has no other",
    }


@pytest.mark.parametrize(
    ("storeys", "modes"),
    [
        ([OFFICE], [TravelMode.FOOT, TravelMode.WHEELCHAIR]),  # though not all of it is reached
        (["A,e", "B,e"], [TravelMode.FOOT, TravelMode.WHEELCHAIR]),
        (["A,s", "B,s"], [TravelMode.FOOT]),  # a walk-up with one apartment a floor
        (["AB,s", "CD,s"], [TravelMode.FOOT, TravelMode.WHEELCHAIR]),  # neighbours visit each other
        (["A.n,B"], [TravelMode.FOOT]),
        (["A.x,x.B"], []),  # everyone is locked in
        (["A,,"], [TravelMode.FOOT, TravelMode.WHEELCHAIR]),  # the only location there is
        ([",,,"], []),
    ],
)
def test_a_mode_counts_where_two_locations_reach_each_other(
    storeys: list[str], modes: list[TravelMode]
) -> None:
    report = process_drawing(*storeys).report
    assert list(report.modes) == modes
    assert report.to_dict()["modes"] == modes


def test_a_mode_that_joins_no_two_locations_still_answers_on_each_level() -> None:
    router = process_drawing("A,s", "B,s").router
    beside = Position("0", 8.0, 2.0)
    feet = router.matrix(["A"], ["B", beside], TravelMode.WHEELCHAIR).feet[0]
    assert np.isnan(feet[0])
    assert feet[1] > 0


def test_the_locations_that_reach_each_other_are_counted() -> None:
    foot, wheelchair = process_drawing(OFFICE).report.reachability
    assert (foot.reached, foot.share) == (4, 0.8)
    assert (wheelchair.reached, wheelchair.share) == (3, 0.6)


def test_the_part_with_the_most_locations_is_the_main_one() -> None:
    report = process_drawing("A#######", "B,C,D,,e").report
    assert [cut.location_id for cut in report.reachability[0].cut_off] == ["A"]


def test_the_report_is_json() -> None:
    report = process_drawing(OFFICE).report
    written = json.loads(json.dumps(report.to_dict()))
    assert written["modes"] == ["foot", "wheelchair"]
    assert written["problem_counts"] == {"doors-locked": 1, "door-too-narrow": 1}
    assert [check["mode"] for check in written["reachability"]] == ["foot", "wheelchair"]
    assert written["groups"][0] == {
        "number": 1,
        "cause": "doors-locked",
        "statement": "1 of 5 doors is locked: 1 of 5 locations cannot be reached",
        "remedy": CAUSES[IssueKind.DOORS_LOCKED].remedy,
        "mode": "foot",
        "count": 1,
        "locations": 1,
        "levels": ["0"],
        "problems": [
            {
                "part": "room D",
                "name": "D",
                "file": None,
                "line": None,
                "level_id": "0",
                "x": 30.0,
                "y": 10.0,
                "map_x": 30.0,
                "map_y": 10.0,
                "locations": 1,
                "message": "the door '0:7,2' of room 'D' is locked, and it has no other",
            }
        ],
    }


def test_a_problem_without_a_place_has_that_of_its_part_or_else_of_its_level() -> None:
    plan = draw_plan(OFFICE)
    kind = IssueKind.DOOR_AMBIGUOUS
    issues = [PlanIssue(kind, part, "is odd", "0") for part in ("room E", "0:3,2", "0", "way/1")]
    found = process_plan(plan, reading_issues=issues).report.problems
    places = {problem.part: problem.at for problem in found if problem.kind is kind}
    assert places["room E"] == pytest.approx((38, 6))
    assert places["0:3,2"] == pytest.approx((14, 10))
    assert places["0"] == places["way/1"] is not None


def test_what_was_left_out_has_no_place_but_its_own() -> None:
    kind = IssueKind.ELEMENT_LEFT_OUT
    issues = [PlanIssue(kind, "way/1", "is odd", "0", at) for at in (None, (9.0, 9.0))]
    found = process_plan(draw_plan(OFFICE), reading_issues=issues).report.problems
    assert [problem.at for problem in found if problem.kind is kind] == [None, (9.0, 9.0)]


def test_a_map_with_thousands_of_faults_has_a_report_of_bounded_size() -> None:
    hall = Space("hall", "0", box(0, 0, 10, 10), SpaceKind.CORRIDOR)
    far = tuple(PlanLocation(f"far-{n}", "0", 99, n, "x" * 999) for n in range(3_000))
    report = process_plan(Plan((Level("0", 0),), (hall,), locations=far)).report.to_dict()
    [group] = report["groups"]
    assert (group["count"], group["locations"]) == (3_000, 3_000)
    assert len(group["problems"]) == MAX_LISTED_PROBLEMS
    foot = report["reachability"][0]
    assert (foot["reached"], len(foot["cut_off"])) == (0, MAX_LISTED_LOCATIONS)
    assert len(json.dumps(report)) < 1_000_000


# Groups of problems


def issue(kind: IssueKind, locations: int = 0, part: str = "p") -> PlanIssue:
    return PlanIssue(kind, part, "is wrong", "0", (1.234, 5.678), locations)


def test_causes_are_in_the_order_of_what_they_cost() -> None:
    issues = [
        issue(IssueKind.NO_AREA),
        issue(IssueKind.OVERLAPPING_ROOMS),
        issue(IssueKind.OVERLAPPING_ROOMS),
        issue(IssueKind.DOOR_TOO_NARROW, 9),
        issue(IssueKind.ROOM_ENCLOSED, 1),
        issue(IssueKind.ROOM_ENCLOSED, 1),
        issue(IssueKind.LEVELS_NOT_JOINED, 3),
    ]
    groups = group_problems(issues, 20, {})
    assert [(group.number, group.cause, group.locations) for group in groups] == [
        (1, IssueKind.LEVELS_NOT_JOINED, 3),
        (2, IssueKind.ROOM_ENCLOSED, 2),
        (3, IssueKind.DOOR_TOO_NARROW, 9),  # wheelchairs only
        (4, IssueKind.OVERLAPPING_ROOMS, 0),
        (5, IssueKind.NO_AREA, 0),
    ]


def test_of_causes_that_cost_the_same_the_root_comes_first() -> None:
    issues = [
        issue(IssueKind.NO_AREA),
        issue(IssueKind.NO_AREA),
        issue(IssueKind.ROOM_ENCLOSED, 1),
        issue(IssueKind.ROOM_ENCLOSED, 1),
        issue(IssueKind.LEVELS_NOT_JOINED, 2),
        issue(IssueKind.ELEMENT_LEFT_OUT),
    ]
    assert [group.cause for group in group_problems(issues, 20, {})] == [
        IssueKind.LEVELS_NOT_JOINED,
        IssueKind.ROOM_ENCLOSED,
        IssueKind.ELEMENT_LEFT_OUT,
        IssueKind.NO_AREA,
    ]


def test_a_statement_has_what_the_cause_costs_and_in_which_mode() -> None:
    doors = [issue(IssueKind.DOOR_TOO_NARROW, 1), issue(IssueKind.DOOR_TOO_NARROW, 2)]
    [wheelchair, harmless] = group_problems([*doors, issue(IssueKind.NO_AREA)], 20, {})
    assert wheelchair.statement == (
        "2 doors let no wheelchair through: 3 of 20 locations cannot be reached by wheelchair"
    )
    assert harmless.statement == CAUSES[IssueKind.NO_AREA].one
    statements = {IssueKind.DOORS_LOCKED: "7 of 8 doors are locked"}  # by the diagnosis
    [group] = group_problems([issue(IssueKind.DOORS_LOCKED, 2)], 5, statements)
    assert group.statement == "7 of 8 doors are locked: 2 of 5 locations cannot be reached"


def test_positions_are_in_hundredths_of_a_foot_and_in_units_of_the_source_and_of_the_map() -> None:
    nowhere = PlanIssue(IssueKind.NO_AREA, "a", "b")
    [group] = group_problems([issue(IssueKind.NO_AREA, part="x" * 9_999), nowhere], 1, {})
    problem, without = group.to_dict(lambda x, y: (x * 10, y * 10), feet_per_unit=0.5)["problems"]
    assert len(problem["part"]) == MAX_TEXT_CHARS
    assert (problem["x"], problem["y"]) == (1.23, 5.68)
    assert (problem["source_x"], problem["source_y"]) == (12.34, 56.78)
    assert (problem["map_x"], problem["map_y"]) == (2.468, 11.356)
    assert (without["map_x"], without["map_y"]) == (None, None)


GROUND = Level("0", 0)
HALL = Space("hall", "0", box(0, 0, 60, 20), SpaceKind.CORRIDOR)
ROOM = Space("room", "0", box(0, 20, 20, 40))
OFFICE_PLAN = draw_plan(
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
    lift, stairs = sorted(OFFICE_PLAN.connectors, key=lambda connector: connector.id)
    changed = replace(lift, **changes)  # type: ignore[arg-type]
    return replace(OFFICE_PLAN, connectors=(changed, stairs))


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
    IssueKind.ROOM_ENCLOSED: (OFFICE_PLAN, "room C"),
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
