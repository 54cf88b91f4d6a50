"""One-way doors and turnstiles: through them only in their direction, around them in the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from routing.costing import TravelMode
from routing.network.restrictions import Restrictions, restrict_networks
from routing.processing import ProcessedPlan, process_plan
from routing.search.route import WalkLeg
from routing.search.router import Router
from routing.serialization import deserialize_router, serialize_router
from tests.routing.ascii_plans import draw_plan, process_drawing

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


def test_the_way_back_is_around() -> None:
    processed = process_drawing(AROUND)
    assert feet(processed, "A", "B") == pytest.approx(16)
    assert feet(processed, "B", "A") > 24


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


def test_one_way_doors_are_stored() -> None:
    processed = process_drawing(AROUND)
    loaded = deserialize_router(serialize_router(processed.router))
    for start, end in ("AB", "BA"):
        assert loaded.route(start, end) == processed.router.route(start, end)
        assert Router(loaded.networks).matrix([start], [end]).feet[0, 0] == pytest.approx(
            feet(processed, start, end), abs=1e-6
        )
