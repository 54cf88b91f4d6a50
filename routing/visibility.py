"""The reduced visibility graph of a walkable area: what a shortest path can consist of.

A shortest path among obstacles bends only at reflex corners and only around them, so that each of
its segments is tangent at both ends (Lozano-Pérez and Wesley 1979; Rohnert 1986). Pairs that are
not tangent are dropped by cross products before any visibility is tested.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import shapely
from numpy.typing import NDArray

from routing.plan import Area

Floats: TypeAlias = NDArray[np.float64]
Singles: TypeAlias = NDArray[np.float32]
Ints: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

SEEN_FEET = 1e-4
"""Lines of sight may graze a wall by this much, so that rounding hides nothing."""
LEAST_TURN = 1e-4
"""The sine of the least angle that makes a corner."""
TANGENT_TOLERANCE = 1e-9
SAME_ANGLE = 1e-7
"""Radians between directions that are one: 0.0006 ft on the longest line in a building."""
BLOCK = 1 << 21
"""Pairs per block of cross products: bounds memory at about 100 MB."""


@dataclass(frozen=True)
class Corners:
    """Reflex corners: `xy`, and the unit vectors to the corner before and after; each (n, 2)."""

    xy: Floats
    before: Floats
    after: Floats

    def __len__(self) -> int:
        return len(self.xy)


@dataclass(frozen=True)
class Edges:
    """Pairs of points that see each other: `first` and `second` (n,), and how far, in feet."""

    first: Ints
    second: Ints
    feet: Floats


def find_corners(area: Area) -> Corners:
    """The corners of `area` at which its inside turns by more than half a circle."""
    rings = shapely.get_rings(shapely.get_parts(shapely.orient_polygons(area)))
    parts = [corners_of_ring(shapely.get_coordinates(ring)[:-1]) for ring in rings]
    if not parts:
        return Corners(*(np.empty((0, 2)) for _ in range(3)))
    return Corners(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def corners_of_ring(xy: Floats) -> tuple[Floats, Floats, Floats]:
    """Reflex corners of one ring that has the area on its left."""
    before, after = unit(np.roll(xy, 1, axis=0) - xy), unit(np.roll(xy, -1, axis=0) - xy)
    reflex = cross(-before, after) < -LEAST_TURN
    return xy[reflex], before[reflex], after[reflex]


def unit(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    lengths[lengths == 0] = 1
    directions: Floats = vectors / lengths
    return directions


def cross(one: Floats, other: Floats) -> Floats:
    """The z component of the cross products of vectors in the plane."""
    return one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0]


def tangent(corners: Corners, directions: Floats) -> Flags:
    """Whether lines through each corner leave both its walls on one side.

    `directions` are unit vectors of shape (m, n, 2) for n corners; the result is (m, n).
    """
    before, after = cross(directions, corners.before), cross(directions, corners.after)
    tolerance = TANGENT_TOLERANCE
    left = (before >= -tolerance) & (after >= -tolerance)
    return left | ((before <= tolerance) & (after <= tolerance))


class Filter(Protocol):
    """A quick test that drops pairs which cannot see each other."""

    def passes(self, starts: Floats, ends: Floats, first: Ints, second: Ints) -> Flags: ...


class Sight:
    """Tests lines of sight within one area."""

    def __init__(self, area: Area, screen: Filter | None = None) -> None:
        self.area = area.buffer(SEEN_FEET, join_style="mitre")
        self.screen = screen
        shapely.prepare(self.area)

    def clear(self, starts: Floats, ends: Floats) -> Flags:
        """Whether each of the segments (n, 2) to (n, 2) stays within the area."""
        lines = shapely.linestrings(np.stack((starts, ends), axis=1))
        return np.asarray(shapely.covers(self.area, lines))

    def edges(self, starts: Floats, ends: Floats, first: Ints, second: Ints) -> Edges:
        """Those of the pairs `starts[first]`, `ends[second]` that see each other."""
        if self.screen is not None:
            passing = self.screen.passes(starts, ends, first, second)
            first, second = first[passing], second[passing]
        seen = self.clear(starts[first], ends[second])
        first, second = first[seen], second[seen]
        return Edges(first, second, np.linalg.norm(ends[second] - starts[first], axis=1))


def see_corners(sight: Sight, corners: Corners) -> Edges:
    """Edges between corners that see each other and are tangent at both ends; first < second."""
    count = len(corners)
    rows = max(1, BLOCK // max(count, 1))
    found = [np.empty((0, 2), dtype=np.int64)]
    for start in range(0, count, rows):
        block = slice(start, min(start + rows, count))
        found.append(tangent_pairs(corners, block))
    pairs = np.concatenate(found)
    seen = sight.edges(corners.xy, corners.xy, pairs[:, 0], pairs[:, 1])
    return drop_passing(seen, corners.xy)


def drop_passing(edges: Edges, xy: Floats) -> Edges:
    """The edges without those that pass through another corner: two shorter ones are as far.

    Along a wall with many doors each door post sees every other, and only neighbours are needed.
    """
    ends = np.concatenate((edges.first, edges.second))
    along = xy[np.concatenate((edges.second, edges.first))] - xy[ends]
    angles = np.arctan2(along[:, 1], along[:, 0])
    angles[angles > np.pi - SAME_ANGLE] -= 2 * np.pi
    feet = np.concatenate((edges.feet, edges.feet))
    order = np.lexsort((feet, np.round(angles, 6), ends))
    again = (np.diff(ends[order]) == 0) & (np.abs(np.diff(angles[order])) < SAME_ANGLE)
    passing = np.zeros(len(ends), dtype=bool)
    passing[order[1:][again]] = True
    kept = ~(passing[: len(edges.feet)] | passing[len(edges.feet) :])
    return Edges(edges.first[kept], edges.second[kept], edges.feet[kept])


def tangent_pairs(corners: Corners, block: slice) -> Ints:
    """Pairs (i, j), i in `block` and i < j, that are tangent at both corners."""
    directions = unit(corners.xy[None, :] - corners.xy[block, None])
    rows = Corners(corners.xy[block], corners.before[block], corners.after[block])
    both = tangent(corners, directions)
    both &= tangent(rows, directions.transpose(1, 0, 2)).T
    first, second = np.nonzero(both)
    first = first + block.start
    ordered = first < second
    return np.stack((first[ordered], second[ordered]), axis=1)


def see_from(sight: Sight, points: Floats, corners: Corners) -> Edges:
    """Edges from `points` to the corners that they see and at which the line is tangent."""
    rows = max(1, BLOCK // max(len(corners), 1))
    found = [np.empty((0, 2), dtype=np.int64)]
    for start in range(0, len(points), rows):
        directions = unit(corners.xy[None, :] - points[start : start + rows, None])
        first, second = np.nonzero(tangent(corners, directions))
        found.append(np.stack((first + start, second), axis=1))
    pairs = np.concatenate(found)
    return sight.edges(points, corners.xy, pairs[:, 0], pairs[:, 1])


def see_each_other(sight: Sight, points: Floats) -> Edges:
    """Edges between those of `points` that see each other."""
    first, second = np.triu_indices(len(points), k=1)
    return sight.edges(points, points, first.astype(np.int64), second.astype(np.int64))


def see_across(sight: Sight, starts: Floats, ends: Floats) -> Edges:
    """Edges from each of `starts` to those of `ends` that it sees."""
    first, second = np.indices((len(starts), len(ends))).reshape(2, -1)
    return sight.edges(starts, ends, first.astype(np.int64), second.astype(np.int64))
