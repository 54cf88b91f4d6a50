"""Levels that would take too long to measure are simplified, the costliest first."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from shapely import Point, Polygon, box
from shapely.affinity import scale

from bench.data.large_plans import build_comb, build_hall
from routing.costing import TravelMode
from routing.network import coarsening, levels, network
from routing.network.corners import find_corners
from routing.network.labels import WorkBudget, WorkExceededError, build_labels
from routing.network.walk_graph import Edges, WalkGraph
from routing.plan import Connector, ConnectorKind, Level, Plan, PlanLocation, Space, SpaceKind
from routing.processing import ProcessedPlan, process_plan

HALL_WORK = 1_000_000
"""Much less than a hall of 64 pillars takes, and more than a few rooms."""


def ring(count: int) -> WalkGraph:
    first = np.arange(count)
    return WalkGraph(count, Edges(first, (first + 1) % count, np.ones(count)))


def on_level(plan: Plan, level_id: str) -> Plan:
    return Plan(
        (Level(level_id, int(level_id)),),
        tuple(replace(space, level_id=level_id) for space in plan.spaces),
        tuple(replace(barrier, level_id=level_id) for barrier in plan.barriers),
        tuple(replace(door, level_id=level_id) for door in plan.doors),
        (),
        tuple(replace(at, level_id=level_id, id=f"{level_id} {at.id}") for at in plan.locations),
    )


def joined(*plans: Plan) -> Plan:
    columns = ("levels", "spaces", "barriers", "doors", "connectors", "locations")
    parts: list[Any] = [tuple(x for plan in plans for x in getattr(plan, name)) for name in columns]
    return Plan(*parts)


def tolerances(processed: ProcessedPlan, mode: TravelMode = TravelMode.FOOT) -> list[float]:
    network = processed.networks[mode]
    return [network.levels.tolerances_feet[number] for number in network.level_numbers]


def simplified(processed: ProcessedPlan) -> list[str | None]:
    groups = processed.report.to_dict()["groups"]
    return [
        problem["level_id"]
        for group in groups
        for problem in group["problems"]
        if group["cause"] == "level-simplified"
    ]


def test_walls_are_moved_by_half_an_inch_if_that_leaves_few_enough_corners() -> None:
    hall = box(-20, -20, 20, 20).difference(Point(0, 0).buffer(10, quad_segs=64))
    assert isinstance(hall, Polygon)
    coarse, tolerance_feet = coarsening.coarsen(hall, 128)
    assert len(find_corners(hall)) == 256 and len(find_corners(coarse)) <= 128
    assert tolerance_feet == 0.05
    assert hall.symmetric_difference(coarse).area < tolerance_feet * hall.length
    assert coarsening.coarsen(hall, 256) == (hall, 0.0)


def test_labels_stop_at_the_end_of_their_budget() -> None:
    build_labels(ring(300), WorkBudget(10_000_000))
    with pytest.raises(WorkExceededError):
        build_labels(ring(300), WorkBudget(100_000))


def test_the_costliest_level_is_simplified(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = joined(
        on_level(build_comb(10), "0"), on_level(build_hall(8), "1"), on_level(build_comb(10), "2")
    )
    assert tolerances(process_plan(plan)) == [0, 0, 0]
    monkeypatch.setattr(levels, "MAX_EXACT_WORK", HALL_WORK)
    processed = process_plan(plan)
    assert [feet > 0 for feet in tolerances(processed)] == [False, True, False]
    assert simplified(processed) == ["1"]


def test_a_simplified_level_that_still_takes_too_long_is_simplified_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(levels, "MAX_EXACT_WORK", HALL_WORK)
    [once] = tolerances(process_plan(build_hall(8)))
    monkeypatch.setattr(levels, "MAX_COARSE_WORK", HALL_WORK)
    monkeypatch.setattr(levels, "MIN_COARSE_WORK", HALL_WORK)
    [again] = tolerances(process_plan(build_hall(8)))
    assert 0 < once < again


def test_a_level_with_few_corners_is_never_simplified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "MAX_EXACT_WORK", 0)
    assert tolerances(process_plan(build_hall(3))) == [0]


def test_connectors_are_entered_where_simplified_walls_leave_floor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(network, "MAX_EXACT_CORNERS", 20)
    monkeypatch.setattr(coarsening, "MAX_COARSE_CORNERS", 10)
    # At the ends of the teeth of a rounded comb, and near another that is no part of it.
    x = np.arange(101)
    tips = 23 - 3 * (x / 50 - 1) ** 2
    teeth = np.stack((x, np.where(x % 2, tips, tips - 1)), axis=1).tolist()
    comb = Polygon([(0, 0), *teeth, (100, 0)])
    combs = comb, scale(comb, 1, -1, origin=(0, 23.5))
    spaces = tuple(
        Space(f"{level}.{at}", level, shape, SpaceKind.CORRIDOR)
        for level in "01"
        for at, shape in enumerate(combs)
    )
    lifts = tuple(
        Connector(
            f"lift {at}", ConnectorKind.ELEVATOR, dict.fromkeys("01", Point(at, tips[at] - 0.01))
        )
        for at in range(1, 100, 14)
    )
    places = tuple(PlanLocation(level, level, 50, 5) for level in "01")
    levels = Level("0", 0), Level("1", 1)
    processed = process_plan(Plan(levels, spaces, (), (), lifts, places))
    assert all(tolerances(processed))
    portals = processed.networks[TravelMode.FOOT].portals
    area = processed.networks[TravelMode.FOOT].levels.walkable_area(0)
    assert len(portals) == 2 * len(lifts)
    assert all(area.distance(Point(at.x, at.y)) < 1e-6 and at.y < 23 for at in portals)
    assert processed.router.matrix(["0"], ["1"]).seconds[0, 0] < 60
