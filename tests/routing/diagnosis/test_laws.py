"""What holds for the report on every plan."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from routing.costing import TravelMode
from routing.issues import PlanIssue
from routing.plan import Plan
from routing.processing import process_plan
from routing.report import UNKNOWN, ProcessingReport
from tests.routing.random_plans import draw_fewer, plans

few = draw_fewer(3)


@st.composite
def faulty_plans(draw: st.DrawFn) -> Plan:
    """Plans without some of their doors and connectors, others locked, narrow or out of service."""
    plan = draw(plans(max_levels=3))
    chance = st.sampled_from(["as it is", "gone", "shut"])
    doors = [(door, draw(chance)) for door in plan.doors]
    lifts = [(lift, draw(chance)) for lift in plan.connectors]
    return replace(
        plan,
        doors=tuple(
            replace(door, is_locked=fate == "shut", width_feet=draw(st.sampled_from([2.0, 4.0])))
            for door, fate in doors
            if fate != "gone"
        ),
        connectors=tuple(
            replace(lift, is_in_service=fate != "shut") for lift, fate in lifts if fate != "gone"
        ),
    )


def lost_by(report: ProcessingReport, mode: TravelMode) -> list[int]:
    """How many locations each cause keeps from being reached in a mode."""
    return [group.locations for group in report.groups if group.mode is mode]


@given(faulty_plans())
@few
def test_each_location_that_is_not_reached_has_a_cause_and_no_other_location_has(
    plan: Plan,
) -> None:
    processed = process_plan(plan)
    report, components = processed.report, processed.components
    foot, wheelchair = report.reachability
    reached = components[TravelMode.FOOT].locations_in_main
    lost = report.locations - foot.reached
    assert max(lost_by(report, TravelMode.FOOT), default=0) <= lost
    assert sum(lost_by(report, TravelMode.FOOT)) >= lost
    by_wheelchair = components[TravelMode.WHEELCHAIR].location_components[reached]
    lost = len(by_wheelchair) - max((by_wheelchair == c).sum() for c in by_wheelchair)
    assert sum(lost_by(report, TravelMode.WHEELCHAIR)) == lost
    for check in (foot, wheelchair):
        assert len(check.cut_off) == report.locations - check.reached
        assert UNKNOWN.message not in {cut.reason for cut in check.cut_off}


@given(faulty_plans())
@few
def test_every_problem_has_a_place_and_is_listed_once_and_in_order(plan: Plan) -> None:
    report = process_plan(plan).report
    assert all(problem.at is not None for problem in report.problems)
    assert len({identify(problem) for problem in report.problems}) == len(report.problems)
    on_foot = lost_by(report, TravelMode.FOOT)
    assert on_foot == sorted(on_foot, reverse=True)
    assert [group.number for group in report.groups] == list(range(1, len(report.groups) + 1))
    json.dumps(report.to_dict())


@given(faulty_plans())
@few
def test_no_door_and_no_connector_has_two_problems_on_foot(plan: Plan) -> None:
    report = process_plan(plan).report
    parts = {door.id for door in plan.doors} | {lift.id for lift in plan.connectors}
    named = [
        problem.part
        for group in report.groups
        if group.mode is TravelMode.FOOT
        for problem in group.problems
        if problem.part in parts
    ]
    assert len(named) == len(set(named))


def identify(problem: PlanIssue) -> tuple[object, ...]:
    return problem.kind, problem.part, problem.level_id, problem.at, problem.message
