"""A mesh covers an area with triangles, and finds positions in it."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from shapely import MultiPolygon, Polygon, box

from routing.network.locator import OUTSIDE
from routing.network.mesh import Mesh, triangulate
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


def test_positions_are_found_in_a_triangle_or_outside() -> None:
    mesh = triangulate(RING)
    places = np.array([(5.0, 5.0), (20.0, 20.0), (10.0, 20.0), (50.0, 5.0)])
    triangles = mesh.locate(places)
    assert (triangles == OUTSIDE).tolist() == [False, True, False, True]
    for place, triangle in zip(places[[0, 2]], triangles[[0, 2]], strict=True):
        assert shapes(mesh)[triangle].intersects(shapely.Point(place))


def test_an_empty_area_has_no_triangles() -> None:
    mesh = triangulate(Polygon())
    assert len(mesh) == 0
    assert mesh.locate(np.array([(0.0, 0.0)])).tolist() == [OUTSIDE]
