"""Processing turns a plan into networks, tables and a report, and says how far it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shapely import LineString, Point, Polygon, box

from routing.archive import serialize_router
from routing.costing import Costing, TravelMode
from routing.errors import PlanError
from routing.issues import IssueKind, PlanIssue
from routing.plan import Door, Level, Plan, PlanLocation, Space
from routing.processing import process_plan
from routing.search.router import Position
from tests.routing.ascii_plans import draw_plan

TOWER = draw_plan("A.n,,e#C", "B.+,,e##")
IDS = [*"ABC"]


@pytest.mark.parametrize(("limit", "modes"), [(3, [*TravelMode]), (2, [])])
def test_a_plan_with_too_many_locations_has_no_tables_and_the_same_distances(
    limit: int, modes: list[TravelMode]
) -> None:
    processed = process_plan(TOWER, max_table_locations=limit)
    assert [*processed.tables] == modes
    for mode in TravelMode:
        found, expected = (
            plan.router.matrix(IDS, IDS, mode) for plan in (processed, process_plan(TOWER))
        )
        np.testing.assert_allclose(found.feet, expected.feet, rtol=1e-6)
        np.testing.assert_allclose(found.seconds, expected.seconds, rtol=1e-6)


@pytest.mark.parametrize("mode", TravelMode)
def test_the_costing_is_that_of_the_networks_and_tables(mode: TravelMode) -> None:
    half = Costing(foot_kmh=5.1 / 2, wheelchair_kmh=4 / 2, elevator_entry_seconds=65)
    plan = draw_plan("A,,e", "B,,e")
    usual, slow = process_plan(plan), process_plan(plan, half)
    found, expected = (each.router.matrix(["A"], ["B"], mode) for each in (slow, usual))
    assert slow.networks[mode].costing is half
    assert found.feet[0, 0] == expected.feet[0, 0]
    assert found.seconds[0, 0] == pytest.approx(2 * expected.seconds[0, 0])  # 70 s by lift, not 35


def test_what_costs_locations_comes_first_then_the_steps_in_their_order() -> None:
    bow_tie = Space("bow", "0", Polygon([(0, 0), (20, 20), (20, 0), (0, 20)]))
    rooms = bow_tie, Space("room", "0", box(28, 0, 48, 20))
    doors = (Door("lost", "0", Point(99, 99)),)
    far = PlanLocation("far", "0", 99, 99)
    report = process_plan(Plan((Level("0", 0),), rooms, (), doors, (), (far,))).report
    assert [problem.kind for problem in report.problems] == [
        IssueKind.LOCATION_OFF_FLOOR,
        IssueKind.DOOR_INFERRED,
        IssueKind.DOOR_INFERRED,
        IssueKind.SELF_CROSSING,
        IssueKind.OUTLINE_GUESSED,
        IssueKind.DOOR_JOINS_NOTHING,
    ]


def test_problems_of_reading_the_file_are_in_the_report() -> None:
    left_out = PlanIssue(IssueKind.ELEMENT_LEFT_OUT, "way/1", "way/1 has no node", "0", (3.0, 4.0))
    groups = process_plan(TOWER, reading_issues=[left_out]).report.groups
    [group] = [group for group in groups if group.cause is IssueKind.ELEMENT_LEFT_OUT]
    assert (
        group.statement
        == "An element of the file was left out; what it would have joined is not known"
    )
    assert group.problems == (left_out,)


def test_a_plan_that_contradicts_itself_is_refused_before_the_first_step_ends() -> None:
    steps: list[str] = []
    twice = replace(TOWER, levels=TOWER.levels * 2)
    with pytest.raises(PlanError, match="2 levels have the id '0'"):
        process_plan(twice, progress=lambda _, step: steps.append(step))
    assert steps == ["checking the plan"]


def test_progress_is_reported_from_nothing_to_all() -> None:
    reported: list[tuple[float, str]] = []
    process_plan(TOWER, progress=lambda share, step: reported.append((share, step)))
    shares, steps = zip(*reported, strict=True)
    assert (shares[0], shares[-1]) == (0, 1)
    assert sorted(set(shares)) == list(shares)
    assert steps[0] == "checking the plan" and steps[-1] == "done"
    assert len(set(steps)) == len(steps)


@pytest.mark.parametrize(
    "plan",
    [
        Plan((Level("0", 0),)),
        Plan((Level("0", 0), Level("1", 1)), (Space("a", "1", box(0, 0, 20, 20)),)),
        Plan((Level("0", 0),), doors=(Door("d", "0", LineString([(0, 0), (3, 0)])),)),
        Plan((Level("0", 0),), locations=(PlanLocation("A", "0", 1, 1),)),
    ],
)
def test_a_plan_of_almost_nothing_is_processed(plan: Plan) -> None:
    router = process_plan(plan).router
    positions = [Position("0", 1, 1), Position("1", 5, 5)]
    for mode in TravelMode:
        assert router.matrix(positions, positions, mode).feet.shape == (2, 2)
        assert router.route(positions[0], positions[1], mode) is None


def test_the_same_plan_makes_the_same_network_to_the_byte() -> None:
    """The network is stored under the digest of its bytes."""
    first, second = (serialize_router(process_plan(TOWER).router) for _ in range(2))
    assert first == second
