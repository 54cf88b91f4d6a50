"""Find the triangles of a mesh in which positions lie, by a grid over each level."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from routing.arrays import BoolArray, FloatArray, IntArray, shrink
from routing.network.ranges import expand_ranges

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
