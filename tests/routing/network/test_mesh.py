"""A mesh covers an area with triangles, and finds positions in them."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from shapely import MultiPolygon, Polygon, box

from routing.network.locator import OUTSIDE, are_inside, build_grid
from routing.network.mesh import Mesh, join_meshes, triangulate
from routing.plan import Polygonal
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
