"""A walkable area as corners and as triangles.

Shortest paths bend at corners only. Triangles find positions in the area, and views spread over
them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely import Polygon, STRtree
from shapely.geometry.base import BaseGeometry

from routing.arrays import (
    ArrayTable,
    BoolArray,
    FloatArray,
    IntArray,
    expand_ranges,
    find_span,
    join_starts,
    shift,
    shift_and_join,
    shrink,
)
from routing.plan import Polygonal
from routing.space.plan_repair import extract_polygons, to_polygonal

# Corners of a walkable area: the only points where a shortest path bends.
#
# A shortest path among obstacles bends only at reflex corners and only around them, so each of its
# segments is tangent at both ends (Lozano-Pérez and Wesley 1979; Rohnert 1986).


TANGENT_TOLERANCE_FEET = 1e-7
"""A line is tangent if it crosses neither wall at its corner by more than this.

A length and not an angle: rounding moves points off their walls, which turns short lines by large
angles.
"""
MIN_TURN_SINE = 1e-12
"""Sine of the smallest turn that counts as a corner; rounding bends straight walls by less."""


@dataclass(frozen=True)
class Corners(ArrayTable):
    """Reflex corners: `xy`, and unit vectors to the previous and next corner; each (n, 2)."""

    xy: FloatArray
    before: FloatArray
    after: FloatArray

    def are_tangent(self, corners: IntArray, lines: FloatArray) -> BoolArray:
        """Return whether lines in feet (n, 2), from or to corners, leave both walls on one side.

        `corners` (n,) are indexes.
        """
        before, after = cross(lines, self.before[corners]), cross(lines, self.after[corners])
        left = (before >= -TANGENT_TOLERANCE_FEET) & (after >= -TANGENT_TOLERANCE_FEET)
        return left | ((before <= TANGENT_TOLERANCE_FEET) & (after <= TANGENT_TOLERANCE_FEET))


def find_corners(area: Polygonal) -> Corners:
    """Return the reflex corners of `area`, where its interior angle exceeds 180 degrees.

    >>> from shapely import Polygon
    >>> find_corners(Polygon([(0, 0), (20, 0), (20, 10), (10, 10), (10, 20), (0, 20)])).xy.tolist()
    [[10.0, 10.0]]
    """
    # Oriented, outer rings run counterclockwise and holes clockwise: the area is on their left.
    rings = shapely.get_rings(shapely.get_parts(shapely.orient_polygons(area)))
    parts = [reflex_corners(shapely.get_coordinates(ring)[:-1]) for ring in rings]
    if not parts:
        return Corners(*(np.empty((0, 2)) for _ in range(3)))
    return Corners(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def reflex_corners(xy: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the reflex corners of one ring with the area on its left, and their unit vectors."""
    # A repeated point has a wall of no length and no direction, which would hide its corner.
    xy = xy[(xy != np.roll(xy, 1, axis=0)).any(axis=1)]
    before, after = normalize(np.roll(xy, 1, axis=0) - xy), normalize(np.roll(xy, -1, axis=0) - xy)
    reflex = cross(-before, after) < -MIN_TURN_SINE
    return xy[reflex], before[reflex], after[reflex]


def normalize(vectors: FloatArray) -> FloatArray:
    """Return unit vectors; zero vectors stay zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    lengths[lengths == 0] = 1
    directions: FloatArray = vectors / lengths
    return directions


def cross(one: FloatArray, other: FloatArray) -> FloatArray:
    """Return the z component of the cross products of vectors in the plane."""
    return one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0]


MAX_COARSE_CORNERS = 2_000
MIN_TOLERANCE_FEET = 0.05


def coarsen(area: Polygonal, max_corners: int) -> tuple[Polygonal, float]:
    """Return an area with few enough corners, and how far in feet its walls may have moved.

    Obstacles smaller than that are left out. An area with at most `max_corners` stays as it is.

    >>> area, tolerance_feet = coarsen(shapely.box(0, 0, 20, 10), 4)
    >>> tolerance_feet
    0.0
    """
    if len(find_corners(area)) <= max_corners:
        return area, 0.0
    coarse, tolerance_feet = area, MIN_TOLERANCE_FEET / 2
    while len(find_corners(coarse)) > min(max_corners, MAX_COARSE_CORNERS):
        tolerance_feet *= 2
        # This never joins what was apart, and never cuts what was joined.
        coarse = shapely.simplify(coarse, tolerance_feet / 2, preserve_topology=True)
        coarse = drop_obstacles(coarse, 2 * tolerance_feet)
    return coarse, tolerance_feet


def move_inside(xy: FloatArray, area: Polygonal, coarse: Polygonal) -> FloatArray:
    """Return points (n, 2) of an area, moved to where what is left of their polygon is nearest."""
    # Both have the same polygons in the same order.
    points, parts = shapely.points(xy), np.array(extract_polygons(coarse))
    own = shapely.STRtree(extract_polygons(area)).nearest(points)
    return shapely.get_coordinates(shapely.get_point(shapely.shortest_line(parts[own], points), 0))


def drop_obstacles(area: Polygonal, max_feet: float) -> Polygonal:
    """Return an area without the holes that are at most so long from corner to corner."""
    kept = []
    for polygon in extract_polygons(area):
        bounds = shapely.bounds(np.array(polygon.interiors))
        holes = [
            hole
            for hole, (west, south, east, north) in zip(polygon.interiors, bounds, strict=True)
            if math.hypot(east - west, north - south) > max_feet
        ]
        kept.append(Polygon(polygon.exterior, holes))
    return to_polygonal(kept)


OUTSIDE = -1
ON_SIDE_FEET = 1e-9
"""A position this near to a side is inside on both sides of it: rounding leaves no gap between."""


class Grid(NamedTuple):
    """Squares over the triangles of one or more levels.

    The squares of level l are from `first[l]` on, row by row; there are `shape[l]` columns and rows
    of them, each `size[l]` feet wide, from `origin[l]` on. Square s touches
    `triangles[starts[s]:starts[s + 1]]`.
    """

    origin: FloatArray
    size: FloatArray
    shape: IntArray
    first: IntArray
    starts: IntArray
    triangles: IntArray

    def find_candidates(self, xy: FloatArray, levels: IntArray) -> tuple[IntArray, IntArray]:
        """Return the triangles near positions (n, 2), and the index of the position of each."""
        shape = self.shape[levels]
        column, row = np.clip(
            (xy - self.origin[levels]) // self.size[levels, None], 0, shape - 1
        ).T.astype(np.int64)
        squares = self.first[levels] + row * shape[:, 0] + column
        positions, entries = expand_ranges(self.starts[:-1][squares], self.starts[1:][squares])
        return positions, self.triangles[entries]


def build_grid(corners: FloatArray, level_starts: IntArray) -> Grid:
    """Return a grid with about as many squares as there are triangles, `corners` (t, 3, 2)."""
    counts = np.diff(level_starts)
    level_of = np.repeat(np.arange(len(counts)), counts)
    origin, size, shape = np.zeros((len(counts), 2)), np.ones(len(counts)), []
    for level, (start, end) in enumerate(pairwise(level_starts.tolist())):
        own = corners[start:end].reshape(-1, 2)
        columns, rows = 1, 1
        if len(own):
            origin[level] = own.min(axis=0)
            extent = own.max(axis=0) - origin[level]
            size[level] = max(np.sqrt(extent.prod() / (end - start)), extent.max() / (end - start))
            columns, rows = (extent // size[level] + 1).astype(int).tolist()
        shape.append((columns, rows))
    shapes = np.array(shape, dtype=np.int64).reshape(-1, 2)
    first = np.concatenate(([0], shapes.prod(axis=1).cumsum()))
    triangles, squares = _cover_squares(
        (corners - origin[level_of, None]) / size[level_of, None, None], shapes[level_of]
    )
    squares += first[level_of[triangles]]
    order = np.argsort(squares, kind="stable")
    starts = squares[order].searchsorted(np.arange(first[-1] + 1))
    return Grid(origin, size, shapes, first[:-1], shrink(starts), shrink(triangles[order]))


def _cover_squares(corners: FloatArray, shape: IntArray) -> tuple[IntArray, IntArray]:
    """Return the squares that triangles (t, 3, 2) touch, as pairs of triangle and square.

    Coordinates count squares of a grid with `shape` (t, 2) columns and rows.
    """
    bottom, top = (
        np.clip(side(axis=1) // 1, 0, shape[:, 1] - 1).astype(np.int64)
        for side in (corners[..., 1].min, corners[..., 1].max)
    )
    triangles, rows = expand_ranges(bottom, top + 1)
    left, right = _find_extents(corners[triangles], rows)
    # A hair wider, as rounding may move a side across the line between two squares.
    first, last = (
        np.clip(side // 1, 0, shape[triangles, 0] - 1).astype(np.int64)
        for side in (left - ON_SIDE_FEET, right + ON_SIDE_FEET)
    )
    spans, columns = expand_ranges(first, last + 1)
    return triangles[spans], rows[spans] * shape[triangles[spans], 0] + columns


def _find_extents(corners: FloatArray, rows: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return how far to the left and right triangles (n, 3, 2) reach within a row of squares."""
    ends = np.roll(corners, -1, axis=1)
    below, above = rows[:, None] - ON_SIDE_FEET, rows[:, None] + 1 + ON_SIDE_FEET
    low, high = (side(corners[..., 1], ends[..., 1]) for side in (np.minimum, np.maximum))
    touches = (low <= above) & (high >= below)
    rise = ends[..., 1] - corners[..., 1]
    rise[rise == 0] = np.inf
    xs = []
    for level in (np.maximum(low, below), np.minimum(high, above)):
        share = (level - corners[..., 1]) / rise
        xs.append(corners[..., 0] + share * (ends[..., 0] - corners[..., 0]))
    # A level side touches with both its ends.
    is_level = ~np.isfinite(rise)
    xs[1] = np.where(is_level, ends[..., 0], xs[1])
    left = np.where(touches, np.minimum(*xs), np.inf).min(axis=1)
    return left, np.where(touches, np.maximum(*xs), -np.inf).max(axis=1)


def are_inside(corners: FloatArray, xy: FloatArray) -> BoolArray:
    """Return whether positions (n, 2) lie in counterclockwise triangles (n, 3, 2)."""
    sides = corners.take((1, 2, 0), axis=1) - corners
    lines = xy[:, None] - corners
    crosses = sides[..., 0] * lines[..., 1] - sides[..., 1] * lines[..., 0]
    return np.asarray((crosses >= -ON_SIDE_FEET * np.abs(sides).sum(axis=2)).all(axis=1))


SIGHT_TOLERANCE_FEET = 1e-6
"""Lines of sight may cut this far into a wall, so that rounding hides no corner."""
PUBLIC = -1
"""It stands for the number of a region where there is no private space."""
BEYOND_WALL_FEET = 1e-4
"""Thresholds are drawn so far into the walls beside them that they surely meet these."""
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
