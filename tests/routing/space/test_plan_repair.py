"""Faulty plans end with a clear error or a clear line of the report, never with a wrong number."""

import json
from dataclasses import replace

import pytest
from shapely import Point, Polygon, box

from routing.errors import PlanError
from routing.issues import IssueKind
from routing.plan import Barrier, Door, Level, Plan, PlanLocation, Space, SpaceKind
from routing.space.plan_repair import repair_plan

BOWTIE = Polygon([(0, 0), (20, 20), (20, 0), (0, 20)])
HALL = Space("hall", "0", box(0, 0, 40, 10), SpaceKind.CORRIDOR)
GROUND = Level("0", 0)


def kinds(plan: Plan) -> list[IssueKind]:
    return [problem.kind for problem in repair_plan(plan)[1]]


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (Plan(()), "has no levels"),
        (Plan((GROUND, GROUND)), "2 levels have the id '0'"),
        (
            Plan((Level("0", float("nan")),)),
            "level '0' has a coordinate that is not a finite number",
        ),
        (
            Plan((GROUND, Level("1", 1)), (replace(HALL, level_id="2"),)),
            "space 'hall' is on level '2', which the plan does not have; it has '0', '1'",
        ),
        (Plan((GROUND,), doors=(Door("d", "9", Point(0, 0)),)), "door 'd' is on level '9'"),
        (
            Plan((GROUND,), (HALL,), (Barrier("0", box(0, 0, float("inf"), 1), "b"),)),
            "barrier 'b' has a coordinate that is not a finite number",
        ),
        (
            Plan((GROUND,), locations=(PlanLocation("a", "0", 1, 1), PlanLocation("a", "0", 2, 2))),
            "2 locations have the id 'a'",
        ),
        (
            Plan((GROUND,), locations=(PlanLocation("a", "0", float("nan"), 1),)),
            "location 'a' has a coordinate that is not a finite number",
        ),
    ],
)
def test_a_plan_that_contradicts_itself_is_refused(plan: Plan, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        repair_plan(plan)


def test_rooms_by_the_hundred_in_one_place_are_refused_before_they_are_compared() -> None:
    """On several levels, they are a tower."""
    rooms = tuple(Space(f"r{n}", "0", box(0, 0, 20, 20)) for n in range(1_100))
    with pytest.raises(
        PlanError, match="Too many rooms of level '0' lie over one another, such as"
    ):
        repair_plan(Plan((GROUND,), rooms))
    levels = tuple(Level(str(n), n) for n in range(1_100))
    stacked = tuple(replace(room, level_id=str(n)) for n, room in enumerate(rooms))
    assert repair_plan(Plan(levels, stacked))[1] == []


def test_a_self_crossing_outline_is_repaired_and_reported() -> None:
    plan, problems = repair_plan(Plan((GROUND,), (Space("bow", "0", BOWTIE, name="Bow"),)))
    assert [problem.kind for problem in problems] == [IssueKind.SELF_CROSSING]
    assert "room 'bow' (Bow) crosses itself" in problems[0].message
    assert plan.spaces[0].polygon.is_valid
    assert plan.spaces[0].polygon.area == pytest.approx(200)


def test_a_space_without_area_is_left_out_and_reported() -> None:
    flat = Space("line", "0", Polygon([(0, 0), (10, 0), (20, 0)]))
    plan, problems = repair_plan(Plan((GROUND,), (HALL, flat)))
    assert IssueKind.NO_AREA in [problem.kind for problem in problems]
    assert plan.spaces == (HALL,)


@pytest.mark.parametrize(
    ("other", "overlaps"),
    [
        (box(10, 0, 30, 20), True),
        (box(0, 0, 20, 20), True),  # the same room drawn twice
        (box(2, 2, 8, 8), False),  # a closet
        (box(19.98, 0, 40, 20), False),  # drawn by hand
    ],
)
def test_overlapping_rooms_are_reported(other: Polygon, overlaps: bool) -> None:
    rooms = (Space("a", "0", box(0, 0, 20, 20)), Space("b", "0", other))
    assert (IssueKind.OVERLAPPING_ROOMS in kinds(Plan((GROUND,), rooms))) is overlaps


def test_two_levels_of_one_name_are_reported() -> None:
    plan = Plan((Level("0", 0, "Floor"), Level("1", 1, "Floor"), Level("2", 2), Level("3", 3)))
    assert kinds(plan) == [IssueKind.DUPLICATE_LEVEL_NAME]


@pytest.mark.parametrize("feet", [1.0, 100_000.0])
def test_an_implausible_scale_is_reported(feet: float) -> None:
    [issue] = repair_plan(Plan((GROUND,), (Space("a", "0", box(0, 0, feet, feet)),)))[1]
    assert issue.kind is IssueKind.IMPLAUSIBLE_SCALE
    assert json.loads(json.dumps(issue.at)) == [feet / 2, feet / 2]
    assert all(type(number) is float for number in issue.at or ())
