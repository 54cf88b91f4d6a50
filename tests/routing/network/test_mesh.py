"""Meshes cover areas, which are simplified where they have too many corners."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import shapely
from shapely import MultiPolygon, Point, Polygon, box
from shapely.affinity import scale

from bench.data.plans import build_comb, build_hall
from routing.costing import TravelMode
from routing.network import levels, mesh, network
from routing.network.mesh import (
    OUTSIDE,
    Mesh,
    are_inside,
    build_grid,
    find_corners,
    join_meshes,
    triangulate,
)
from routing.network.walk_graph import Edges, WalkGraph, WorkBudget, WorkExceededError, build_labels
from routing.plan import (
    Connector,
    ConnectorKind,
    Level,
    Plan,
    PlanLocation,
    Polygonal,
    Space,
    SpaceKind,
)
from routing.processing import ProcessedPlan, process_plan
from tests.routing.hard_areas import WALLS, Walls, build_area

RING = Polygon(box(0, 0, 40, 40).exterior, [box(10, 10, 30, 30).exterior])
TWO = MultiPolygon([box(0, 0, 10, 10), box(20, 0, 30, 10)])


def shapes(mesh: Mesh) -> list[Polygon]:
    return [Polygon(corners) for corners in mesh.xy[mesh.triangles]]


@pytest.mark.parametrize(
    "area", [RING, TWO, *(build_area(walls, 1e-9, 17, 1e6) for walls in WALLS)]
)
def test_the_triangles_cover_the_area_and_no_more_than_a_hair_around_it(area: Polygonal) -> None:
    covered = shapely.union_all(shapes(triangulate(area)), grid_size=1e-9)
    assert covered.symmetric_difference(area).area < 1e-5 * area.length
    assert sum(shape.area for shape in shapes(triangulate(area))) == pytest.approx(area.area)


@pytest.mark.parametrize("walls", WALLS)
def test_neighbours_share_a_side(walls: Walls) -> None:
    mesh = triangulate(build_area(walls, 0, 17, 0))
    neighbours, sides = mesh.neighbours
    triangle, side = np.nonzero(neighbours != OUTSIDE)
    other, other_side = neighbours[triangle, side], sides[triangle, side]
    start, end = mesh.triangles[triangle, side], mesh.triangles[triangle, (side + 1) % 3]
    # From the other triangle, the side leads the other way.
    np.testing.assert_array_equal(mesh.triangles[other, other_side], end)
    np.testing.assert_array_equal(mesh.triangles[other, (other_side + 1) % 3], start)


def test_a_side_at_a_wall_has_no_neighbour() -> None:
    mesh = triangulate(TWO)
    assert (mesh.neighbours[0] == OUTSIDE).sum() == 8


@pytest.mark.parametrize("walls", WALLS)
def test_cells_are_convex_and_few(walls: Walls) -> None:
    mesh = triangulate(build_area(walls, 1e-9, 17, 1e6))
    assert mesh.cell_count < len(mesh)
    for cell in range(mesh.cell_count):
        own = shapely.union_all(shapely.polygons(mesh.xy[mesh.triangles[mesh.cells == cell]]))
        assert own.geom_type == "Polygon"
        assert own.convex_hull.area == pytest.approx(own.area, abs=1e-6)


def test_an_empty_area_has_no_triangles() -> None:
    mesh = triangulate(Polygon())
    assert len(mesh) == 0
    assert mesh.locate(np.array([(0.0, 0.0)])).tolist() == [OUTSIDE]


SLIVER = Polygon([(0, 0), (900, 700), (900, 700.01)])
"""Long, thin and aslant: its box has nearly all squares of the grid."""


def locate_slowly(mesh: Mesh, xy: np.ndarray) -> np.ndarray:
    corners = mesh.xy[mesh.triangles]
    inside = np.array([are_inside(corners, np.tile(place, (len(mesh), 1))) for place in xy])
    return np.asarray(inside.any(axis=1))


@pytest.mark.parametrize("walls", WALLS)
def test_positions_are_found_where_a_triangle_has_them(walls: Walls) -> None:
    for degrees, offset_feet in ((0, 0.0), (17.3, 1e6)):
        mesh = triangulate(build_area(walls, 1e-9, degrees, offset_feet))
        low, high = mesh.xy.min(axis=0) - 5, mesh.xy.max(axis=0) + 5
        anywhere = np.random.default_rng(1).uniform(low, high, (300, 2))
        middles = mesh.xy[mesh.triangles].mean(axis=1)
        on_sides = (mesh.xy[mesh.triangles] + np.roll(mesh.xy[mesh.triangles], 1, axis=1))[:, 0] / 2
        xy = np.concatenate((anywhere, middles, on_sides, mesh.xy))
        located = mesh.locate(xy)
        np.testing.assert_array_equal(located != OUTSIDE, locate_slowly(mesh, xy))
        assert (located[len(anywhere) :] != OUTSIDE).all()
        found = located != OUTSIDE
        assert are_inside(mesh.xy[mesh.triangles[located[found]]], xy[found]).all()


def test_each_level_has_a_grid_of_its_own() -> None:
    meshes = [triangulate(area) for area in (box(0, 0, 10, 10), Polygon(), box(100, 5, 900, 9))]
    joined = join_meshes(meshes)
    places = np.array([(5.0, 5.0), (5.0, 5.0), (5.0, 5.0), (500.0, 7.0)])
    located = joined.locate(places, np.array([0, 1, 2, 2]))
    assert (located == OUTSIDE).tolist() == [False, True, True, False]
    assert located[3] == meshes[2].locate(places[3:])[0] + len(meshes[0])


def test_a_long_thin_triangle_takes_squares_only_where_it_is() -> None:
    triangles = [shapely.Polygon([(x, 0), (x + 9, 0), (x, 9)]) for x in range(0, 900, 10)]
    corners = shapely.get_coordinates([SLIVER, *triangles]).reshape(-1, 4, 2)[:, :3]
    grid = build_grid(corners, np.array([0, len(corners)]))
    columns, rows = grid.shape[0].tolist()
    assert (grid.triangles == 0).sum() <= 2 * (columns + rows) < columns * rows / 2


def test_positions_far_from_everything_are_outside() -> None:
    mesh = triangulate(box(0, 0, 10, 10))
    assert mesh.locate(np.array([(1e300, -1e300), (-1e12, 5.0)])).tolist() == [OUTSIDE, OUTSIDE]


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
    coarse, tolerance_feet = mesh.coarsen(hall, 128)
    assert len(find_corners(hall)) == 256 and len(find_corners(coarse)) <= 128
    assert tolerance_feet == 0.05
    assert hall.symmetric_difference(coarse).area < tolerance_feet * hall.length
    assert mesh.coarsen(hall, 256) == (hall, 0.0)


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
    monkeypatch.setattr(mesh, "MAX_COARSE_CORNERS", 10)
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
