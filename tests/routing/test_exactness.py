"""Walks are the shortest there are, however walls are drawn, in drawn, random and real buildings.

They are compared with walks among all vertices that see each other; lines of sight are tested
without any tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from shapely import Polygon

from routing.arrays import join_tables
from routing.costing import TravelMode
from routing.network.mesh import find_corners, triangulate
from routing.network.views import all_round, spread_views, tangent_sectors
from routing.network.walk_graph import WalkGraph, build_edges
from routing.plan import Polygonal
from routing.processing import ProcessedPlan, process_plan
from routing.search.router import Position, Router
from tests.routing.ascii_plans import process_drawing
from tests.routing.buildings import process_caserne, process_demo
from tests.routing.geodesic import compare_levels, geodesic_feet
from tests.routing.hard_areas import JITTERS_FEET, WALLS, Walls, build_area, build_plan, places_in

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
