"""What holds for distances on every plan."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shapely import LineString, Point

from bench.geodesic import geodesic_feet
from routing.costing import Costing, TravelMode
from routing.plan import Barrier, Door, Plan
from routing.processing import process_plan
from routing.search.euclidean import euclidean_distances
from routing.search.matrix import TravelMatrix
from routing.search.router import Position, Router
from routing.search.walks import measure_walks, place_stops
from tests.routing.random_plans import plans, scaled, spots, turned

pytestmark = pytest.mark.slow

ROUNDING_FEET = 2e-3
WALL_WIDTH_FEET = 0.5
few = settings(suppress_health_check=[HealthCheck.too_slow])
modes = st.sampled_from(TravelMode)


def measure(plan: Plan, mode: TravelMode = TravelMode.FOOT) -> TravelMatrix:
    ids = [location.id for location in plan.locations]
    return process_plan(plan).router.matrix(ids, ids, mode)


def at_most(one: np.ndarray, other: np.ndarray, slack: float = ROUNDING_FEET) -> bool:
    """Whether `one` is nowhere more than `other`, no path being the most."""
    return bool((np.nan_to_num(one, nan=np.inf) <= np.nan_to_num(other, nan=np.inf) + slack).all())


@given(plans(), modes)
@few
def test_there_and_back_is_as_far(plan: Plan, mode: TravelMode) -> None:
    _, seconds = measure(plan, mode)
    np.testing.assert_allclose(seconds, seconds.T, rtol=1e-5)


@given(plans(), modes)
@few
def test_no_detour_by_way_of_a_third_place_is_faster(plan: Plan, mode: TravelMode) -> None:
    seconds = np.nan_to_num(measure(plan, mode).seconds, nan=np.inf)
    for via in range(len(seconds)):
        assert at_most(seconds, seconds[:, via, None] + seconds[via])


@given(plans(), modes)
@few
def test_no_path_is_shorter_or_faster_than_the_straight_line(plan: Plan, mode: TravelMode) -> None:
    points = [(place.x, place.y) for place in plan.locations]
    straight = euclidean_distances(points, points, Costing().feet_per_second(mode))
    measured = measure(plan, mode)
    assert at_most(straight.feet, measured.feet)
    assert at_most(straight.seconds, measured.seconds)


@given(plans())
@few
def test_a_wheelchair_is_nowhere_faster_and_goes_nowhere_else(plan: Plan) -> None:
    assert at_most(measure(plan).seconds, measure(plan, TravelMode.WHEELCHAIR).seconds)


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


@given(plans(max_levels=1))
@few
def test_walks_are_the_exact_geodesics_of_the_walkable_space(plan: Plan) -> None:
    processed = process_plan(plan)
    network = processed.networks[TravelMode.FOOT]
    levels = network.levels
    stops = network.locations.take(np.flatnonzero(network.locations.are_attached))
    exact = geodesic_feet(levels.walkable_area(int(stops.levels[0])), stops.near.tolist())
    placed = place_stops(levels, stops)
    walks = measure_walks(levels, placed, placed) - placed.offset_feet[:, None] - placed.offset_feet
    np.testing.assert_allclose(walks, exact, atol=ROUNDING_FEET)


@given(plans(), modes, st.data())
@few
def test_a_search_between_positions_finds_what_the_table_has(
    plan: Plan, mode: TravelMode, data: st.DataObject
) -> None:
    processed = process_plan(plan)
    some = data.draw(st.lists(st.sampled_from(plan.locations), min_size=1, max_size=5))
    ids = [place.id for place in some]
    positions = [Position(place.level_id, place.x, place.y) for place in some]
    table = processed.router.matrix(ids, ids, mode)
    search = Router(processed.networks).matrix(ids, ids, mode)
    free = Router(processed.networks).matrix(positions, ids, mode)
    for found in (search, free):
        np.testing.assert_allclose(found.feet, table.feet, atol=ROUNDING_FEET)
        np.testing.assert_allclose(found.seconds, table.seconds, atol=ROUNDING_FEET)


@given(plans(min_levels=2), modes, st.data())
@few
def test_a_route_is_as_long_as_the_matrix_says(
    plan: Plan, mode: TravelMode, data: st.DataObject
) -> None:
    router = process_plan(plan).router
    one, other = data.draw(st.tuples(*[st.sampled_from(plan.locations)] * 2))
    feet, seconds = router.matrix([one.id], [other.id], mode)
    route = router.route(one.id, other.id, mode)
    if route is None:
        assert np.isnan(feet[0, 0])
        assert np.isnan(seconds[0, 0])
    else:
        assert route.feet == pytest.approx(feet[0, 0], abs=ROUNDING_FEET)
        assert route.seconds == pytest.approx(seconds[0, 0], abs=ROUNDING_FEET)
