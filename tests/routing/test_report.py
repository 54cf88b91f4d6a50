"""The report says what was found, what is cut off and why, and in which modes people travel."""

import json
from dataclasses import replace

import numpy as np
import pytest
from shapely import box

from routing.costing import TravelMode
from routing.issues import IssueKind
from routing.plan import Connector, ConnectorKind, Plan
from routing.processing import process_plan
from routing.report import Reachability
from routing.search.router import Position
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


@pytest.mark.parametrize(
    ("mode", "location", "reason"),
    [
        (TravelMode.FOOT, "D", "room 'room D' has no door"),
        (TravelMode.WHEELCHAIR, "C", "lets a wheelchair through (the widest is 2.5 ft)"),
    ],
)
def test_a_location_that_is_cut_off_has_its_reason(
    mode: TravelMode, location: str, reason: str
) -> None:
    reasons = {cut.location_id: cut.reason for cut in self_check(draw_plan(OFFICE), mode).cut_off}
    assert location in reasons
    assert reason in reasons[location]


def test_a_location_far_outside_says_how_far() -> None:
    plan = draw_plan(OFFICE)
    lost = replace(plan.locations[0], id="lost", x=-50.0)
    found = process_plan(replace(plan, locations=(*plan.locations, lost))).report.problems
    [message] = [problem.message for problem in found if problem.part == "lost"]
    assert message == "foot: lies 54.0 ft (more than 6) from the nearest walkable floor"


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


def test_a_connector_with_one_end_is_reported() -> None:
    report = process_drawing("e,A", "###").report
    assert report.count_issues(IssueKind.CONNECTOR_ONE_END) == 1


def test_a_connector_that_stops_nowhere_is_reported() -> None:
    plan = draw_plan("A,,", "B,,")
    lift = Connector(
        "lift", ConnectorKind.ELEVATOR, {"0": box(90, 0, 95, 5), "1": box(9, 0, 95, 5)}
    )
    report = process_plan(replace(plan, connectors=(lift,))).report
    messages = {problem.kind: problem.message for problem in report.problems}
    assert "not near any walkable floor on level '0'" in messages[IssueKind.CONNECTOR_OUT_OF_REACH]
    assert "serves only level '1'" in messages[IssueKind.CONNECTOR_ONE_END]


def test_a_lift_out_of_service_serves_nobody_and_is_reported() -> None:
    plan = draw_plan("A,e", "B,e")
    stopped = replace(plan.connectors[0], is_in_service=False)
    processed = process_plan(replace(plan, connectors=(stopped,)))
    assert processed.report.count_issues(IssueKind.CONNECTOR_OUT_OF_SERVICE) == 1
    assert all(processed.router.route("A", "B", mode) is None for mode in TravelMode)


def test_the_report_is_json() -> None:
    report = process_drawing(OFFICE).report
    written = json.loads(json.dumps(report.to_dict()))
    assert written["modes"] == ["foot", "wheelchair"]
    assert written["problem_counts"] == {"room-without-door": 1, "unroutable-location": 2}
    assert [check["mode"] for check in written["reachability"]] == ["foot", "wheelchair"]
