"""The reduced visibility graph of a walkable area: what a shortest path can consist of.

A shortest path among obstacles bends only at reflex corners and only around them, so that each of
its segments is tangent at both ends (Lozano-Pérez and Wesley 1979; Rohnert 1986). Pairs that are
not tangent are dropped by cross products before any visibility is tested.

Nothing else is dropped, so the graph holds every segment of every shortest path. An edge that
passes another corner stays too: both of its halves need not be tangent there, and then neither
replaces it.

The tolerances only ever let more through. They have to keep their order, each well below the one
above: how far a line may graze a wall, how far it may miss being tangent, and how far off a line
are corners that do not count as any.
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

SEEN_FEET = 1e-6
"""Lines of sight may graze a wall by this much, so that rounding hides nothing."""
TANGENT_FEET = 1e-7
"""A line is tangent where it stays this near to the right side of both walls.

A length and not an angle: points on walls are off by rounding, which turns short lines far.
"""
LEAST_TURN = 1e-12
"""The sine of the least angle that makes a corner: what rounding makes of a straight wall."""
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
    """Reflex corners of one ring that has the area on its left.

    A point given twice in a row would have no wall beside it, and so make no corner.
    """
    xy = xy[(xy != np.roll(xy, 1, axis=0)).any(axis=1)]
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


def tangent(corners: Corners, lines: Floats) -> Flags:
    """Whether lines through each corner leave both its walls on one side.

    `lines` are vectors in feet, from or to the corner, of shape (m, n, 2) for n corners; the
    result is (m, n).
    """
    before, after = cross(lines, corners.before), cross(lines, corners.after)
    left = (before >= -TANGENT_FEET) & (after >= -TANGENT_FEET)
    return left | ((before <= TANGENT_FEET) & (after <= TANGENT_FEET))


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
    return sight.edges(corners.xy, corners.xy, pairs[:, 0], pairs[:, 1])


def tangent_pairs(corners: Corners, block: slice) -> Ints:
    """Pairs (i, j), i in `block` and i < j, that are tangent at both corners."""
    lines = corners.xy[None, :] - corners.xy[block, None]
    rows = Corners(corners.xy[block], corners.before[block], corners.after[block])
    both = tangent(corners, lines)
    both &= tangent(rows, lines.transpose(1, 0, 2)).T
    first, second = np.nonzero(both)
    first = first + block.start
    ordered = first < second
    return np.stack((first[ordered], second[ordered]), axis=1)


def see_from(sight: Sight, points: Floats, corners: Corners) -> Edges:
    """Edges from `points` to the corners that they see and at which the line is tangent."""
    rows = max(1, BLOCK // max(len(corners), 1))
    found = [np.empty((0, 2), dtype=np.int64)]
    for start in range(0, len(points), rows):
        lines = corners.xy[None, :] - points[start : start + rows, None]
        first, second = np.nonzero(tangent(corners, lines))
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
