"""Walks are the shortest there are, by laws of every plan and by oracles that share no code."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from shapely import LineString, MultiPolygon, Point, Polygon, box

from routing.arrays import join_tables
from routing.costing import TravelMode
from routing.network.mesh import find_corners, triangulate
from routing.network.views import all_round, spread_views, tangent_sectors
from routing.network.walk_graph import WalkGraph, build_edges
from routing.plan import Barrier, Door, Plan, Polygonal
from routing.processing import ProcessedPlan, process_plan
from routing.search.matrix import TravelMatrix
from routing.search.router import Position, Router
from tests.routing.ascii_plans import process_drawing
from tests.routing.fuzz.buildings import build
from tests.routing.fuzz.checks import check_building
from tests.routing.geodesic import compare_levels, geodesic_feet
from tests.routing.hard_areas import (
    JITTERS_FEET,
    WALLS,
    Walls,
    build_area,
    build_plan,
    places_in,
    process_caserne,
    process_demo,
)
from tests.routing.random_plans import draw_fewer, plans, scaled, spots, turned

Floats = NDArray[np.float64]
FRAMES = ((0.0, 0.0), (17.3, 1234.567891234567), (45.0, 1e6))
"""Degrees by which plans are turned, and feet by which they are moved: national grids are large."""
SAME_FEET = 1e-6
"""Lines of sight may graze walls by a millionth of a foot."""


def walk_feet(area: Polygonal, places: Floats) -> Floats:
    """Walks between `places` by the reduced visibility graph of `area`."""
    corners = find_corners(area)
    count = len(corners)
    ids = np.arange(count, count + len(places))
    mesh, xy = triangulate(area), np.concatenate((corners.xy, places))
    sectors = join_tables([tangent_sectors(corners), all_round(ids)])
    views = spread_views(mesh, xy, sectors)
    graph = WalkGraph(len(views.xy), build_edges(mesh, views, corners))
    return graph.distances(ids)[:, ids]


def assert_exact(found: Floats, area: Polygonal, places: Floats) -> None:
    exact = geodesic_feet(area, [tuple(at) for at in places.tolist()], graze_feet=0)
    assert (np.isfinite(found) == np.isfinite(exact)).all()
    np.testing.assert_allclose(found, exact, rtol=1e-9, atol=SAME_FEET)


@pytest.mark.parametrize(
    ("jitter_feet", "frames"),
    [
        (0.0, FRAMES[:1]),
        (4e-6, FRAMES[1:2]),
        *(pytest.param(jitter, FRAMES, marks=pytest.mark.slow) for jitter in JITTERS_FEET),
    ],
)
@pytest.mark.parametrize("walls", WALLS)
def test_walks_in_an_area_are_exact(
    walls: Walls, jitter_feet: float, frames: Sequence[tuple[float, float]]
) -> None:
    for degrees, offset_feet in frames:
        area = build_area(walls, jitter_feet, degrees, offset_feet)
        places, within = places_in(area, 8)
        assert_exact(walk_feet(area, places), area, within)


def test_a_corner_drawn_twice_is_a_corner() -> None:
    bend = Polygon([(0, 0), (20, 0), (20, 10), (10, 10), (10, 10), (10, 20), (0, 20)])
    assert find_corners(bend).xy.tolist() == [[10, 10]]


@pytest.mark.slow
@pytest.mark.parametrize("walls", WALLS)
def test_walks_on_a_plan_are_exact(walls: Walls) -> None:
    for jitter_feet, (degrees, offset_feet) in zip((0.0, 4e-6, 4e-6), FRAMES, strict=True):
        check_plan(process_plan(build_plan(walls, jitter_feet, degrees, offset_feet)))


def check_plan(processed: ProcessedPlan) -> None:
    """The table, sums over hubs and routes, between the plan's own locations."""
    area = processed.networks[TravelMode.FOOT].levels.walkable_area(0)
    places = np.array([(place.x, place.y) for place in processed.plan.locations])
    positions = [Position("0", *at) for at in places.tolist()]
    ids = [place.id for place in processed.plan.locations]
    found = Router(processed.networks).matrix(positions, ids).feet.astype(np.float64)
    assert_exact(np.nan_to_num(found, nan=np.inf), area, places)
    table = processed.router.matrix(ids, ids).feet
    np.testing.assert_allclose(table, found, rtol=1e-6)
    last = processed.router.route(positions[0], ids[-1])
    assert (last.feet if last else np.nan) == pytest.approx(found[0, -1], nan_ok=True)


@pytest.mark.slow
@pytest.mark.parametrize("mode", TravelMode)
@pytest.mark.parametrize("process", [process_demo, process_caserne])
def test_buildings_are_measured_exactly(
    process: Callable[[], ProcessedPlan], mode: TravelMode
) -> None:
    compared = compare_levels(process().networks[mode])
    assert np.concatenate([level.errors for level in compared]).max() <= 1e-9
    # Not 1, as places may be equally near.
    assert np.concatenate([level.same_nearest for level in compared]).mean() >= 0.99
    for level in compared:
        assert (np.isfinite(level.measured) == np.isfinite(level.exact)).all()


def test_pillars_and_corners_are_walked_around() -> None:
    processed = process_drawing(
        """
        ###############
        #A.....#......#
        #.###..+..##.B#
        #.#C#..#..##..#
        #...#..#......#
        ####+#####+####
        #,,,,,,,,,,,,,#
        #D,##,,,,##,,E#
        ###############
        """
    )
    (level,) = compare_levels(processed.networks[TravelMode.FOOT])
    assert level.errors.max() < 1e-6


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


inside = st.floats(0.5, 9.5)
points = st.tuples(inside, inside)
CORNER = Polygon([(0, 0), (9, 0), (9, 4), (4, 4), (4, 9), (0, 9)])


@given(st.lists(points, min_size=2, max_size=5))
def test_where_nothing_is_in_the_way_paths_are_straight(places: list[tuple[float, float]]) -> None:
    feet = geodesic_feet(box(0, 0, 10, 10), places)
    expected = [[math.dist(one, other) for other in places] for one in places]
    assert feet == pytest.approx(np.array(expected), abs=1e-9)


@pytest.mark.parametrize(
    ("area", "one", "other", "feet"),
    [
        # around one corner: twice the hypotenuse of 3 and 4; around two; past a pillar
        (CORNER, (1, 8), (8, 1), 10.0),
        (
            Polygon([(0, 0), (9, 0), (9, 9), (6, 9), (6, 3), (3, 3), (3, 9), (0, 9)]),
            (3, 9),
            (6, 9),
            15.0,
        ),
        (box(0, 0, 10, 10).difference(box(4, 3, 6, 7)), (1, 5), (9, 5), 2 * math.hypot(3, 2) + 2),
        # two rooms that do not touch
        (MultiPolygon([box(0, 0, 1, 1), box(2, 0, 3, 1)]), (0.5, 0.5), (2.5, 0.5), math.inf),
    ],
)
def test_corners_are_turned_tightly(
    area: Polygon, one: tuple[float, float], other: tuple[float, float], feet: float
) -> None:
    assert geodesic_feet(area, [one, other])[0, 1] == pytest.approx(feet)


def test_lines_may_touch_corners_and_leave_the_area_by_a_tolerance() -> None:
    assert geodesic_feet(CORNER, [(1, 8), (8, 1)], graze_feet=0)[0, 1] == pytest.approx(10.0)
    notched = Polygon([(0, 0), (10, 0), (10, 2), (5, 1e-7), (0, 2)])  # almost to the floor
    ends = [(1.0, -1e-8), (9.0, 0.0)]
    assert geodesic_feet(notched, ends)[0, 1] == pytest.approx(8.0)
    assert np.isinf(geodesic_feet(notched, ends, graze_feet=0)[0, 1])
