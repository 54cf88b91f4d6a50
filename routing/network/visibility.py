"""The reduced visibility graph of a walkable area: every segment that a shortest path can use.

A shortest path among obstacles bends only at reflex corners and only around them, so each of its
segments is tangent at both ends (Lozano-Pérez and Wesley 1979; Rohnert 1986). Pairs that are not
tangent are dropped by cross products, before the slower test of visibility.

Nothing else is dropped, so the graph holds every segment of every shortest path. That includes
edges that pass through another corner: their halves may not be tangent there and then could not
replace them.

The tolerances only ever add edges. Each must stay well below the one before: how far a line may
graze a wall, how far it may miss being tangent, and how little a wall may bend at a corner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import shapely

from routing.arrays import BoolArray, FloatArray, IntArray
from routing.plan import Polygonal

SIGHT_TOLERANCE_FEET = 1e-6
"""Lines of sight may cut this far into a wall, so that rounding hides no corner."""
TANGENT_TOLERANCE_FEET = 1e-7
"""A line is tangent if it crosses neither wall at its corner by more than this.

A length and not an angle: rounding moves points off their walls, which turns short lines by large
angles.
"""
MIN_TURN_SINE = 1e-12
"""Sine of the smallest turn that counts as a corner; rounding bends straight walls by less."""
MAX_BLOCK_PAIRS = 1 << 21
"""Pairs per block of cross products; limits memory to about 100 MB."""


@dataclass(frozen=True)
class Corners:
    """Reflex corners: `xy`, and unit vectors to the previous and next corner; each (n, 2)."""

    xy: FloatArray
    before: FloatArray
    after: FloatArray

    def __len__(self) -> int:
        return len(self.xy)


@dataclass(frozen=True)
class Edges:
    """Pairs of points that see each other: indexes `first` and `second`, and `feet`; each (n,)."""

    first: IntArray
    second: IntArray
    feet: FloatArray


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


def are_tangent(corners: Corners, lines: FloatArray) -> BoolArray:
    """Return whether lines through each corner have both its walls on one side.

    `lines` are vectors in feet, from or to the corner, of shape (m, n, 2) for n corners; the
    result is (m, n).
    """
    before, after = cross(lines, corners.before), cross(lines, corners.after)
    left = (before >= -TANGENT_TOLERANCE_FEET) & (after >= -TANGENT_TOLERANCE_FEET)
    return left | ((before <= TANGENT_TOLERANCE_FEET) & (after <= TANGENT_TOLERANCE_FEET))


class PairFilter(Protocol):
    """A cheap test that rejects most pairs that cannot see each other, and no others."""

    def may_see(
        self, starts: FloatArray, ends: FloatArray, first: IntArray, second: IntArray
    ) -> BoolArray: ...


class LineOfSight:
    """Test lines of sight within one area."""

    def __init__(self, area: Polygonal, pair_filter: PairFilter | None = None) -> None:
        # Round joins would add vertices at each corner, and so make every test slower.
        self.area = area.buffer(SIGHT_TOLERANCE_FEET, join_style="mitre")
        self.pair_filter = pair_filter
        shapely.prepare(self.area)

    def are_clear(self, starts: FloatArray, ends: FloatArray) -> BoolArray:
        """Return whether each segment, from (n, 2) to (n, 2), stays within the area."""
        lines = shapely.linestrings(np.stack((starts, ends), axis=1))
        return np.asarray(shapely.covers(self.area, lines))

    def visible_edges(
        self, starts: FloatArray, ends: FloatArray, first: IntArray, second: IntArray
    ) -> Edges:
        """Return the pairs `starts[first]`, `ends[second]` that see each other."""
        if self.pair_filter is not None:
            may_see = self.pair_filter.may_see(starts, ends, first, second)
            first, second = first[may_see], second[may_see]
        clear = self.are_clear(starts[first], ends[second])
        first, second = first[clear], second[clear]
        return Edges(first, second, np.linalg.norm(ends[second] - starts[first], axis=1))


def edges_among_corners(sight: LineOfSight, corners: Corners) -> Edges:
    """Return edges between corners that are tangent at both ends; first < second."""
    count = len(corners)
    rows = max(1, MAX_BLOCK_PAIRS // max(count, 1))
    blocks = [np.empty((0, 2), dtype=np.int64)]
    for start in range(0, count, rows):
        block = slice(start, min(start + rows, count))
        blocks.append(tangent_pairs(corners, block))
    pairs = np.concatenate(blocks)
    return sight.visible_edges(corners.xy, corners.xy, pairs[:, 0], pairs[:, 1])


def tangent_pairs(corners: Corners, block: slice) -> IntArray:
    """Return the pairs (i, j), i in `block` and i < j, that are tangent at both corners."""
    lines = corners.xy[None, :] - corners.xy[block, None]
    rows = Corners(corners.xy[block], corners.before[block], corners.after[block])
    both = are_tangent(corners, lines)
    both &= are_tangent(rows, lines.transpose(1, 0, 2)).T
    first, second = np.nonzero(both)
    first = first + block.start
    ordered = first < second
    return np.stack((first[ordered], second[ordered]), axis=1)


def edges_to_corners(sight: LineOfSight, points: FloatArray, corners: Corners) -> Edges:
    """Return edges from `points` to the corners that they see and at which they are tangent."""
    rows = max(1, MAX_BLOCK_PAIRS // max(len(corners), 1))
    blocks = [np.empty((0, 2), dtype=np.int64)]
    for start in range(0, len(points), rows):
        lines = corners.xy[None, :] - points[start : start + rows, None]
        first, second = np.nonzero(are_tangent(corners, lines))
        blocks.append(np.stack((first + start, second), axis=1))
    pairs = np.concatenate(blocks)
    return sight.visible_edges(points, corners.xy, pairs[:, 0], pairs[:, 1])


def edges_among_points(sight: LineOfSight, points: FloatArray) -> Edges:
    """Return edges between the `points` that see each other."""
    first, second = np.triu_indices(len(points), k=1)
    return sight.visible_edges(points, points, first.astype(np.int64), second.astype(np.int64))


def edges_between_points(sight: LineOfSight, starts: FloatArray, ends: FloatArray) -> Edges:
    """Return edges from `starts` to the `ends` that they see."""
    first, second = np.indices((len(starts), len(ends))).reshape(2, -1)
    return sight.visible_edges(starts, ends, first.astype(np.int64), second.astype(np.int64))
