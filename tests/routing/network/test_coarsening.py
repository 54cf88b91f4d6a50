"""Levels that would take too long to measure are simplified, the costliest first."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bench.data.large_plans import build_comb, build_hall
from routing.costing import TravelMode
from routing.network import levels
from routing.network.labels import WorkBudget, WorkExceededError, build_labels
from routing.network.walk_graph import Edges, WalkGraph
from routing.plan import Level, Plan
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


def test_a_level_is_simplified_in_both_travel_modes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "MAX_EXACT_WORK", HALL_WORK)
    plan = joined(build_hall(8), on_level(build_comb(10), "1"))
    narrow = replace(plan, doors=(replace(plan.doors[0], width_feet=1.5), *plan.doors[1:]))
    processed = process_plan(narrow)
    assert tolerances(processed) == tolerances(processed, TravelMode.WHEELCHAIR)


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
