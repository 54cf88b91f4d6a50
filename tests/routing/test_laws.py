"""What holds for distances on every plan: laws, and the distances of an oracle that shares no code.

`make fuzz` tries more buildings.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapely import LineString, Point

from routing.plan import Barrier, Door, Plan
from routing.processing import process_plan
from routing.search.matrix import TravelMatrix
from tests.routing.fuzz.buildings import build
from tests.routing.fuzz.checks import check_building
from tests.routing.random_plans import draw_fewer, plans, scaled, spots, turned

ROUNDING_FEET = 2e-3
WALL_WIDTH_FEET = 0.5
few = draw_fewer(5)
FAST = (1004,)
"""Seeds of buildings, one with private rooms, which `make test` checks."""
SLOW = (0, 10, 1034, 2200, 9055, 1000, 1001, 1002)
"""The first five once failed: hairlines between a door and its wall, a closed door that let people
through, two doors that meet at the corner of a private room, a one-way door onto a strip of floor
too thin to stand on, floor that clipping left invalid.
"""


def measure(plan: Plan) -> TravelMatrix:
    ids = [location.id for location in plan.locations]
    return process_plan(plan).router.matrix(ids, ids)


def at_most(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether `one` is nowhere more than `other`, no path being the most."""
    least, most = (np.nan_to_num(each, nan=np.inf) for each in (one, other))
    return bool((least <= most + ROUNDING_FEET).all())


@given(plans(), st.integers(0, 9))
@few
def test_a_random_plan_is_measured_exactly(plan: Plan, seed: int) -> None:
    """In both modes, over levels, without what is closed; no detour is faster, no way is shorter
    than the straight line, a wheelchair is nowhere faster, and the way back takes as long.
    """
    check_building(plan, seed)


@pytest.mark.parametrize(
    "seed", [*FAST, *(pytest.param(seed, marks=pytest.mark.slow) for seed in SLOW)]
)
def test_a_building_with_oddities_is_measured_exactly(seed: int) -> None:
    check_building(build(seed), seed)


@given(plans(max_levels=1), st.data())
@few
def test_a_wall_shortens_nothing(plan: Plan, data: st.DataObject) -> None:
    room = data.draw(st.sampled_from(plan.spaces))
    ends = data.draw(st.lists(spots(room.polygon), min_size=2, max_size=2, unique=True))
    wall = Barrier(room.level_id, LineString(ends))
    clear = [p for p in plan.locations if wall.geometry.distance(Point(p.x, p.y)) > WALL_WIDTH_FEET]
    plan = replace(plan, locations=tuple(clear))
    walled = replace(plan, barriers=(*plan.barriers, wall))
    assert at_most(measure(plan).feet, measure(walled).feet)


@given(plans(max_levels=1), st.data())
@few
def test_a_door_lengthens_nothing(plan: Plan, data: st.DataObject) -> None:
    room = data.draw(st.sampled_from(plan.spaces))
    left, top, _, bottom = room.polygon.bounds
    door = Door("new", room.level_id, Point(left + 6, data.draw(st.sampled_from([top, bottom]))))
    opened = replace(plan, doors=(*plan.doors, door))
    assert at_most(measure(opened).feet, measure(plan).feet)


@given(plans(), st.integers(1, 359))
@few
def test_a_turned_plan_has_the_same_distances(plan: Plan, degrees: int) -> None:
    straight, askew = measure(plan), measure(turned(plan, degrees))
    np.testing.assert_allclose(straight.seconds, askew.seconds, rtol=0.002, atol=0.05)


@given(plans(max_levels=1), st.sampled_from([0.8, 1.5, 3.0]))
@few
def test_a_plan_of_twice_the_size_has_twice_the_distances(plan: Plan, factor: float) -> None:
    # Large enough that no gap is too narrow to pass in one of them only.
    small, large = measure(scaled(plan, 3.0)), measure(scaled(plan, 3.0 * factor))
    np.testing.assert_allclose(small.feet * factor, large.feet, rtol=0.005, atol=0.5)
