"""One-way doors and turnstiles: through them only in their direction, around them in the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from shapely import box

from routing.costing import TravelMode
from routing.issues import IssueKind
from routing.network.restrictions import Restrictions
from routing.plan import Door, Level, Plan, PlanLocation, Space, SpaceKind
from routing.processing import ProcessedPlan, process_plan
from routing.search.router import Router, WalkLeg
from routing.space import walkable
from tests.routing.ascii_plans import draw_plan, process_drawing
from tests.routing.buildings import restrict_networks
from tests.routing.diagnosis.reports import messages

Places = Sequence[tuple[float, float]]
AROUND = """
    A.>.B
    .###.
    .....
    """
"""Through the door from A to B, and around the wall back."""


def feet(processed: ProcessedPlan, start: str, end: str) -> float:
    return float(processed.router.matrix([start], [end]).feet[0, 0])


def test_a_door_is_passed_in_its_direction_only() -> None:
    processed = process_drawing("A.>.B")
    assert feet(processed, "A", "B") == pytest.approx(16)
    assert np.isnan(feet(processed, "B", "A"))
    assert processed.router.route("B", "A") is None


@pytest.mark.parametrize(
    ("drawing", "start", "end"),
    [("B.<.A", "A", "B"), ("A\n.\nv\n.\nB", "A", "B"), ("A\n.\n^\n.\nB", "B", "A")],
)
def test_directions_are_those_of_the_drawing(drawing: str, start: str, end: str) -> None:
    processed = process_drawing(drawing)
    assert feet(processed, start, end) == pytest.approx(16)
    assert np.isnan(feet(processed, end, start))


@pytest.mark.parametrize(("start", "end"), ["AB", "BA"])
def test_a_route_is_as_long_as_the_matrix_has_it(start: str, end: str) -> None:
    processed = process_drawing(AROUND)
    route = processed.router.route(start, end)
    assert route is not None
    assert route.feet == pytest.approx(feet(processed, start, end), abs=1e-6)
    [leg] = route.legs
    assert isinstance(leg, WalkLeg)
    length = np.hypot(*np.diff(np.array(leg.points), axis=0).T).sum()
    assert length == pytest.approx(route.feet, abs=1e-3)


def test_a_door_that_is_drawn_one_way_within_a_room_changes_nothing() -> None:
    processed = process_drawing("A.B\n.>.\n...")
    assert feet(processed, "A", "B") == feet(processed, "B", "A") == pytest.approx(8)


def test_a_narrow_turnstile_lets_no_wheelchair_through() -> None:
    plan = draw_plan("A.>.B")
    for width_feet, expected in ((3.5, 16.0), (2.0, np.nan)):
        turnstile = replace(plan.doors[0], width_feet=width_feet)
        router = process_plan(replace(plan, doors=(turnstile,))).router
        on_wheels = router.matrix(["A"], ["B"], TravelMode.WHEELCHAIR).feet[0, 0]
        assert on_wheels == pytest.approx(expected, nan_ok=True)


def test_a_one_way_door_can_be_closed() -> None:
    networks = process_drawing(AROUND).networks
    closed = Router(restrict_networks(networks, Restrictions(door_ids=frozenset(["0:2,0"]))))
    assert closed.matrix(["A"], ["B"]).feet[0, 0] > 24


def process_doors(
    width_feet: float, one_way: tuple[float, float] | None, places: Places, count: int = 1
) -> ProcessedPlan:
    """A corridor south of a hall, with doors 100 ft apart in the wall between, and locations."""
    doors = tuple(
        Door(
            f"door {index}",
            "0",
            box(middle - width_feet / 2, 19.5, middle + width_feet / 2, 20.5),
            width_feet=width_feet,
            one_way=one_way,
        )
        for index, middle in enumerate(50.0 + 100 * np.arange(count))
    )
    corridor = Space("corridor", "0", box(0, 0, 100 * count, 20), SpaceKind.CORRIDOR)
    hall = Space("hall", "0", box(0, 20, 100 * count, 40))
    locations = tuple(PlanLocation(f"{index}", "0", *at) for index, at in enumerate(places))
    return process_plan(Plan((Level("0", 0),), (corridor, hall), doors=doors, locations=locations))


@pytest.mark.parametrize("width_feet", [3.0, 10.0, 30.0])
def test_walks_through_a_one_way_door_are_as_long_as_through_an_open_one(width_feet: float) -> None:
    random, apart = np.random.default_rng(3), width_feet / 10 + 0.1
    south = [(x, 20 - y) for x, y in random.uniform((1, apart), (99, 19), (40, 2)).tolist()]
    north = [(x, 20 + y) for x, y in random.uniform((1, apart), (99, 19), (40, 2)).tolist()]
    one_way, open_both_ways = (
        process_doors(width_feet, direction, [*south, *north]).router.matrix(
            [str(index) for index in range(40)], [str(index) for index in range(40, 80)]
        )
        for direction in ((0.0, 1.0), None)
    )
    longer = one_way.feet - open_both_ways.feet
    assert longer.min() > -1e-4
    assert longer.max() < 0.01 * width_feet


def test_the_more_one_way_doors_there_are_the_fewer_points_each_has() -> None:
    for doors, points in ((1, 17), (20, 15), (150, 2), (310, 1)):
        network = process_doors(3, (0.0, 1.0), [(5, 5), (5, 35)], doors).networks[TravelMode.FOOT]
        assert len(network.portals) == 2 * points * doors
        assert len(network.links) == points**2 * doors


def test_one_way_doors_above_a_limit_are_passed_both_ways_and_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(walkable, "MAX_ONE_WAY_DOORS", 2)
    places = [(50.0, 5.0), (250.0, 5.0), (250.0, 35.0)]
    processed = process_doors(3, (0.0, 1.0), places, count=4)
    assert {portal.door_id for portal in processed.networks[TravelMode.FOOT].portals} == {
        "door 0",
        "door 1",
    }
    assert feet(processed, "2", "1") == pytest.approx(30)
    [group] = processed.report.groups
    assert group.cause is IssueKind.DOOR_NOT_ONE_WAY
    assert messages(group) == [
        f"door 'door {index}' is passed both ways, as 2 others are one-way" for index in (2, 3)
    ]
