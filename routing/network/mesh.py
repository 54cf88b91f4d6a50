"""Triangulate a walkable area, so that positions are found in it and views can spread over it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely import STRtree
from shapely.geometry.base import BaseGeometry

from routing.arrays import FloatArray, IntArray, shrink
from routing.network.locator import OUTSIDE, Grid, are_inside, build_grid
from routing.network.ranges import find_span, join_starts, shift, shift_and_join
from routing.plan import Polygonal

SIGHT_TOLERANCE_FEET = 1e-6
"""Lines of sight may cut this far into a wall, so that rounding hides no corner."""
PUBLIC = -1
"""Instead of the number of a region of private space."""
BEYOND_WALL_FEET = 1e-4
"""How far thresholds are drawn into the walls beside them, so that they surely meet these."""
FLAT_SQUARE_FEET = 1e-9
"""Corners of a cell may bend inwards by as little as rounding makes them."""


@dataclass(frozen=True)
class Mesh:
    """A constrained Delaunay triangulation of areas grown by SIGHT_TOLERANCE_FEET, one a level.

    `triangles` (t, 3) are indexes into `xy` (v, 2), counterclockwise; those of level l are from
    `level_starts[l]` to before `level_starts[l + 1]`. Side k of a triangle leads from its corner k
    to the next. `cells` (t,) are the numbers of the convex cells, each of one or more triangles,
    that triangles belong to, and `regions` (t,) those of the private space that they are part of.
    """

    xy: FloatArray
    triangles: IntArray
    cells: IntArray
    regions: IntArray
    level_starts: IntArray

    def __len__(self) -> int:
        return len(self.triangles)

    def take(self, level: int) -> Mesh:
        """Return one level, as the only one."""
        start, end = self.level_starts[level : level + 2].tolist()
        triangles, cells = self.triangles[start:end], self.cells[start:end]
        corners, first_cell = find_span(triangles), find_span(cells).start
        return Mesh(
            self.xy[corners],
            shift(triangles, -corners.start),
            shift(cells, -first_cell),
            self.regions[start:end],
            np.array([0, end - start]),
        )

    @cached_property
    def neighbours(self) -> tuple[IntArray, IntArray]:
        """The triangle across each side (t, 3), OUTSIDE at a wall, and which side it is there."""
        # Those that were read from an archive have too few bits for the keys.
        triangles = self.triangles.astype(np.int64)
        start, end = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
        if not len(start):
            return self.triangles, self.triangles
        key, opposite = start * len(self.xy) + end, end * len(self.xy) + start
        order = np.argsort(key)
        found = order[np.searchsorted(key, opposite, sorter=order).clip(max=len(key) - 1)]
        across = np.where(key[found] == opposite, found, OUTSIDE).reshape(-1, 3)
        return shrink(np.where(across == OUTSIDE, OUTSIDE, across // 3)), shrink(across % 3)

    @cached_property
    def grid(self) -> Grid:
        return build_grid(self.xy[self.triangles], self.level_starts)

    def locate(self, xy: FloatArray, levels: IntArray | int = 0) -> IntArray:
        """Return a triangle that contains each position (n, 2) on its level, or OUTSIDE."""
        levels = np.broadcast_to(levels, len(xy))
        positions, triangles = self.grid.find_candidates(xy, levels)
        corners = self.xy.take(self.triangles.take(triangles, axis=0), axis=0)
        inside = np.flatnonzero(are_inside(corners, xy.take(positions, axis=0)))
        located = np.full(len(xy), OUTSIDE, dtype=np.int64)
        located[positions[inside]] = triangles[inside]
        return located

    def locate_cells(self, xy: FloatArray, levels: IntArray | int = 0) -> IntArray:
        """Return the cell of each position (n, 2), which must be inside."""
        return self.cells[self.locate(xy, levels)]

    @property
    def cell_count(self) -> int:
        return int(self.cells.max(initial=-1)) + 1


def triangulate(
    area: Polygonal, private: Sequence[Polygonal] = (), thresholds: Iterable[BaseGeometry] = ()
) -> Mesh:
    """Return the mesh of an area, in which `thresholds` divide regions from public floor.

    >>> len(triangulate(shapely.box(0, 0, 20, 10)))
    2
    """
    parts = shapely.get_parts(grow(area))
    if lines := [*thresholds]:
        parts = divide(grow(area), lines)
    regions = np.full(len(parts), PUBLIC)
    inside, found = STRtree(private).query(shapely.point_on_surface(parts), predicate="intersects")
    regions[inside] = found
    triangles, of_part = shapely.get_parts(
        shapely.constrained_delaunay_triangles(parts), return_index=True
    )
    corners = shapely.get_coordinates(shapely.orient_polygons(triangles)).reshape(-1, 4, 2)[:, :3]
    xy, indexes = np.unique(corners.reshape(-1, 2), axis=0, return_inverse=True)
    corners_of = indexes.reshape(-1, 3)
    count = len(corners_of)
    mesh = Mesh(xy, corners_of, np.arange(count), regions[of_part], np.array([0, count]))
    return replace(mesh, cells=merge_triangles(mesh))


def divide(area: Polygonal, thresholds: Sequence[BaseGeometry]) -> NDArray[np.object_]:
    """Return the polygons into which lines divide an area; they share their corners exactly."""
    lines = shapely.union_all([area.boundary, *thresholds])
    parts = shapely.get_parts(shapely.polygonize(shapely.get_parts(lines)))
    shapely.prepare(area)
    return np.asarray(parts[shapely.covers(area, shapely.point_on_surface(parts))])


def find_thresholds(
    private: Sequence[Polygonal], doors: Sequence[Polygonal], beyond_feet: float
) -> NDArray[np.object_]:
    """Return where doors lead into each region of private space, longer by `beyond_feet`."""
    near = shapely.union_all(doors).buffer(beyond_feet, join_style="mitre")
    return np.asarray(shapely.intersection(shapely.boundary(np.array(private, dtype=object)), near))


def join_meshes(meshes: Sequence[Mesh]) -> Mesh:
    """Return the levels of some meshes in their order."""
    corners = np.cumsum([0, *(len(mesh.xy) for mesh in meshes)])
    cells = np.cumsum([0, *(mesh.cell_count for mesh in meshes)])
    return Mesh(
        np.concatenate([mesh.xy for mesh in meshes]),
        shift_and_join([mesh.triangles for mesh in meshes], corners),
        shift_and_join([mesh.cells for mesh in meshes], cells),
        np.concatenate([mesh.regions for mesh in meshes]),
        join_starts([mesh.level_starts for mesh in meshes]),
    )


def merge_triangles(mesh: Mesh) -> IntArray:
    """Return the cell of each triangle: cells of a region are merged if the result is convex.

    Longer sides go first (Hertel and Mehlhorn 1983).
    """
    neighbours, _ = mesh.neighbours
    is_same = mesh.regions[neighbours] == mesh.regions[:, None]
    triangle, side = np.nonzero((neighbours > np.arange(len(mesh))[:, None]) & is_same)
    start, end = mesh.triangles[triangle, side], mesh.triangles[triangle, (side + 1) % 3]
    order = np.argsort(-np.hypot(*(mesh.xy[end] - mesh.xy[start]).T), kind="stable")
    columns = triangle, neighbours[triangle, side], start, end
    parents, outlines = list(range(len(mesh))), mesh.triangles.tolist()
    points = mesh.xy.tolist()
    sides = zip(*(column[order].tolist() for column in columns), strict=True)
    for one, other, first, last in sides:
        root, merged = _find_root(parents, one), _find_root(parents, other)
        # Both outlines begin after the side that they share, and end before it.
        near, far = _rotate_to(outlines[root], last), _rotate_to(outlines[merged], first)
        if _is_convex(points, far[-2], last, near[1]) and _is_convex(
            points, near[-2], first, far[1]
        ):
            parents[merged], outlines[root] = root, [*near, *far[1:-1]]
    roots = [_find_root(parents, number) for number in range(len(mesh))]
    return np.unique(np.array(roots, dtype=np.int64), return_inverse=True)[1]


def _find_root(parents: list[int], number: int) -> int:
    while parents[number] != number:
        parents[number] = number = parents[parents[number]]
    return number


def _rotate_to(outline: list[int], corner: int) -> list[int]:
    at = outline.index(corner)
    return outline[at:] + outline[:at]


def _is_convex(points: list[list[float]], before: int, corner: int, after: int) -> bool:
    (x0, y0), (x1, y1), (x2, y2) = points[before], points[corner], points[after]
    return (x1 - x0) * (y2 - y1) - (y1 - y0) * (x2 - x1) >= -FLAT_SQUARE_FEET


def grow(area: Polygonal) -> Polygonal:
    """Return the area in which lines of sight stay."""
    # Round joins would add vertices at each corner, and so make everything slower.
    return area.buffer(SIGHT_TOLERANCE_FEET, join_style="mitre")
