"""What is within reach in a time: areas, compared with the times to random points."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from routing.costing import TravelMode
from routing.errors import WaypointError
from routing.network.levels import Levels
from routing.plan import Plan, Polygonal
from routing.processing import ProcessedPlan, process_plan
from routing.search.isochrone import (
    ARC_TOLERANCE_FEET,
    ARC_TOLERANCE_SHARE,
    draw_sectors,
    measure_to_sides,
)
from routing.search.matrix import WaypointRef
from routing.search.router import Isochrone, Position, Router
from tests.routing.ascii_plans import process_drawing
from tests.routing.hard_areas import WALLS, Walls, build_plan, process_caserne, process_demo
from tests.routing.random_plans import draw_fewer, plans

LINE_TOLERANCE_FEET = 0.02
"""By which lines of an area may be moved."""
POINTS = 250
"""As many are asked of each level."""
MODES = [*TravelMode]
WALK_FEET = process_drawing("A").networks[TravelMode.FOOT].feet_per_second
"""As far as a person walks in a second."""

OFFICE = process_drawing(
    """
    ######################
    #A.....#......#......#
    #......#..B...n......#
    ###+######+######?####
    #,,,,,,,,,,,,,,,,,,,s#
    #,,#,,,,,##,,,,##,,,m#
    #,,#,,,,,##,,,,##,,,e#
    ###+######+######x####
    #......#......#......#
    #..#.C.#......#.D....#
    ######################
    """,
    """
    ######################
    #......#......#......#
    #......#......#......#
    ###+######+######?####
    #,,,,,,,,,,,,,,,,,,,s#
    ##################,,m#
    #E,,,,,,,,,,,,,,,,,,e#
    ######################
    """,
)
"""Two storeys with stairs, an escalator up and a lift; the upper one has two halves."""


def sample_points(area: Polygonal, random: np.random.Generator) -> NDArray[np.float64]:
    left, bottom, right, top = area.bounds
    points = random.uniform((left, bottom), (right, top), (3 * POINTS, 2))
    inside: NDArray[np.float64] = points[shapely.contains_xy(area, points)][:POINTS]
    return inside


def assert_area_is_exact(
    processed: ProcessedPlan, source: WaypointRef, seconds: float, mode: TravelMode
) -> None:
    """No point that is too far is in an area, and only those at its edge are missing."""
    random = np.random.default_rng(7)
    network, router = processed.networks[mode], Router(processed.networks)
    isochrone = router.isochrone(source, seconds, mode)
    budget_feet = seconds * network.feet_per_second
    arc_feet = min(ARC_TOLERANCE_FEET, ARC_TOLERANCE_SHARE * budget_feet)
    for level_id, level in network.level_index.items():
        walkable, area = network.levels.walkable_area(level), isochrone.area(level_id)
        assert area.is_valid
        assert area.area == 0 or level_id in isochrone.level_ids
        assert area.difference(walkable).area <= 1e-5 * walkable.length
        if walkable.is_empty:
            continue
        points = sample_points(walkable, random)
        positions = [Position(level_id, x, y) for x, y in points.tolist()]
        times = router.matrix([source], positions, mode).seconds[0]
        feet = np.nan_to_num(times * network.feet_per_second, nan=np.inf)
        grown, shrunk = (area.buffer(by) for by in (LINE_TOLERANCE_FEET, -LINE_TOLERANCE_FEET))
        too_far, near = feet > budget_feet, feet < budget_feet - arc_feet - LINE_TOLERANCE_FEET
        assert not shapely.contains_xy(shrunk, points[too_far]).any()
        assert shapely.contains_xy(grown, points[near]).all()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seconds", [0.5, 15, 40, 80])
@pytest.mark.parametrize("source", ["A", "D", "E", Position("0", 40, 20.5), Position("1", 74, 17)])
def test_an_area_has_the_points_that_are_near_enough(
    source: WaypointRef, seconds: float, mode: TravelMode
) -> None:
    assert_area_is_exact(OFFICE, source, seconds, mode)


@draw_fewer(5)
@given(plans(max_levels=3), st.data(), st.floats(0.1, 120), st.sampled_from(MODES))
def test_an_area_of_a_random_plan_has_the_points_that_are_near_enough(
    plan: Plan, data: st.DataObject, seconds: float, mode: TravelMode
) -> None:
    source = data.draw(st.sampled_from([location.id for location in plan.locations]))
    assert_area_is_exact(process_plan(plan), source, seconds, mode)


@pytest.mark.slow
@pytest.mark.parametrize("offset_feet", [0.0, 1e6])
@pytest.mark.parametrize("walls", WALLS)
def test_areas_are_exact_however_walls_are_drawn(walls: Walls, offset_feet: float) -> None:
    processed = process_plan(build_plan(walls, 4e-6, 17.3, offset_feet))
    for location in processed.plan.locations[:4]:
        for seconds in (2, 7, 14):
            assert_area_is_exact(processed, location.id, seconds, TravelMode.FOOT)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [10, 120])
@pytest.mark.parametrize("process", [process_demo, process_caserne])
def test_areas_of_buildings_are_exact(process: Callable[[], ProcessedPlan], seconds: float) -> None:
    processed = process()
    for location in processed.plan.locations[::40]:
        for mode in MODES:
            assert_area_is_exact(processed, location.id, seconds, mode)


def reach(processed: ProcessedPlan, source: WaypointRef, seconds: float) -> Isochrone:
    return processed.router.isochrone(source, seconds)


def walkable_area(processed: ProcessedPlan, level: int = 0) -> Polygonal:
    levels: Levels = processed.networks[TravelMode.FOOT].levels
    return levels.walkable_area(level)


def test_in_the_open_it_is_a_circle() -> None:
    hall = process_drawing("\n".join([40 * ","] * 40))
    area = reach(hall, Position("0", 80, 80), 60 / WALK_FEET).area("0")
    assert 60 - ARC_TOLERANCE_FEET <= area.boundary.distance(shapely.Point(80, 80)) <= 60
    assert area.area == pytest.approx(math.pi * 60**2, rel=2 * ARC_TOLERANCE_FEET / 60)
    assert shapely.get_num_coordinates(area) < 40


def test_with_enough_time_it_is_all_that_can_be_reached() -> None:
    plan = process_drawing("A,,+..#.", ".......#")
    isochrone = reach(plan, "A", 600)
    assert isochrone.level_ids == ["0"]
    assert isochrone.area("1").is_empty
    [near, far] = sorted(shapely.get_parts(walkable_area(plan)), key=lambda part: part.bounds)
    assert isochrone.area("0").symmetric_difference(near).area < 0.02
    assert not isochrone.area("0").intersects(far)


def test_a_map_without_walls_between_is_returned_as_it_is() -> None:
    plan = process_drawing("A,,+..+B")
    assert reach(plan, "A", 600).area("0") == walkable_area(plan)


def test_no_time_reaches_nothing() -> None:
    isochrone = reach(OFFICE, "A", 0)
    assert isochrone.level_ids == []
    assert isochrone.area("0").is_empty


def test_another_level_is_within_reach_when_the_ride_is_over() -> None:
    """A lift takes 30 s, and 5 s a storey."""
    tower = process_drawing("A,e", ",,e")
    walk_seconds = 8 / WALK_FEET
    assert reach(tower, "A", walk_seconds + 34.9).level_ids == ["0"]
    later = reach(tower, "A", walk_seconds + 36)
    assert later.level_ids == ["0", "1"]
    assert later.area("1").distance(shapely.Point(10, 2)) == 0
    left, _, _, _ = later.area("1").bounds
    assert left == pytest.approx(10 - WALK_FEET, abs=ARC_TOLERANCE_SHARE * WALK_FEET)


def test_the_other_side_of_a_wall_may_be_reached_by_another_level() -> None:
    tower = process_drawing("A,s#s,B", ",,s,s,,")
    isochrone = reach(tower, "A", 600)
    assert isochrone.area("0").area == pytest.approx(walkable_area(tower).area, rel=1e-4)
    assert isochrone.area("0").covers(shapely.Point(26, 2))


def test_a_source_off_the_floor_has_less_time_on_it() -> None:
    hall = process_drawing("\n".join([40 * ","] * 20))
    beside, within = (reach(hall, Position("0", 80, y), 10) for y in (-4, 0))
    assert beside.area("0").area < within.area("0").area
    assert beside.area("0").bounds[3] == pytest.approx(10 * WALK_FEET - 4, abs=1)
    assert reach(hall, Position("0", 80, -7), 10).level_ids == []
    assert reach(hall, Position("none", 80, 20), 10).level_ids == []


def test_a_source_that_is_no_location_is_an_error() -> None:
    with pytest.raises(WaypointError, match="no location 'none'"):
        OFFICE.router.isochrone("none", 60)


@pytest.mark.parametrize("mode", MODES)
def test_locations_in_an_area_are_those_within_its_time(mode: TravelMode) -> None:
    ids = [location.id for location in OFFICE.plan.locations]
    everything = OFFICE.router.nearest_from_each(["A"], ids, 10, mode)[0]
    for near in everything[1:]:
        found = OFFICE.router.nearest_from_each(["A"], ids, 10, mode, near.seconds)[0]
        assert found == everything[: len(found)]
        assert found[-1].seconds == near.seconds
        [place] = [place for place in OFFICE.plan.locations if place.id == near.location_id]
        for seconds, is_within in ((near.seconds + 1, True), (near.seconds - 1, False)):
            area = OFFICE.router.isochrone("A", seconds, mode).area(place.level_id)
            assert area.covers(shapely.Point(place.x, place.y)) is is_within


def test_pieces_whose_union_fails_are_joined_on_a_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = reach(OFFICE, "A", 15).area("0")
    union_all = shapely.union_all

    def fail_without_grid(pieces: Any, grid_size: float | None = None) -> Any:
        if grid_size is None:
            raise shapely.GEOSException("TopologyException: found non-noded intersection")
        return union_all(pieces, grid_size=grid_size)

    monkeypatch.setattr(shapely, "union_all", fail_without_grid)
    area = reach(OFFICE, "A", 15).area("0")
    assert area.symmetric_difference(exact).area < 0.02 * exact.length


@pytest.mark.parametrize("degrees", [1, 90, 179])
def test_a_sector_is_within_its_circle(degrees: float) -> None:
    at, share = np.array([[3.0, 4.0]]), np.array([0.01])
    left = np.array([[math.cos(math.radians(degrees)), math.sin(math.radians(degrees))]])
    [sector] = draw_sectors(at, np.array([[1.0, 0.0]]), left, np.array([50.0]), share)
    exact_area = math.pi * 50**2 * degrees / 360
    assert exact_area * 0.97 < sector.area < exact_area
    arc = shapely.get_coordinates(sector)[1:-1]
    assert np.hypot(*(arc - at).T) == pytest.approx(50)
    chords = (arc[1:] + arc[:-1]) / 2
    assert (np.hypot(*(chords - at).T) >= 50 * 0.99).all()


def test_a_direction_of_no_length_makes_a_circle() -> None:
    nothing = np.zeros((1, 2))
    [circle] = draw_sectors(nothing, nothing, nothing, np.array([10.0]), np.array([0.01]))
    assert circle.is_valid
    assert circle.covers(shapely.Point(0, 0).buffer(9.89))


@pytest.mark.parametrize(("x", "feet"), [(-3, 5), (2, 4), (13, 5)])
def test_the_distance_to_a_line_ends_at_its_ends(x: float, feet: float) -> None:
    at, start, along = (np.array([xy], dtype=float) for xy in ((x, 4), (0, 0), (10, 0)))
    assert measure_to_sides(at, start, along) == pytest.approx([feet])
