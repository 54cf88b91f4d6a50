"""Which points can possibly see each other through doors: a test far cheaper than sight itself.

Whoever stands in a room sees what is outside it through one of its doors. So a line between two
pieces of floor has to pass near the middle of a door of each. Corridors and areas with many doors
hide nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import shapely
from shapely import Polygon, STRtree

from routing.arrays import BoolArray, FloatArray, IntArray
from routing.network.visibility import cross, normalize
from routing.space.doors import Opening

MAX_DOORS_PER_PIECE = 4
"""A piece with more doors is taken to be open on all sides."""
DOOR_SLACK_FEET = 0.01
MAX_BLOCK_PAIRS = 1 << 17


@dataclass(frozen=True)
class DoorFilter:
    """`doors` (pieces + 1, MOST_DOORS, 3) are circles around doors: x, y and radius in feet.

    A radius of -1 is no door, an infinite one lets everything through. The last row is for points
    that are in no piece, or in more than one.
    """

    pieces: tuple[Polygon, ...]
    doors: FloatArray

    @cached_property
    def tree(self) -> STRtree:
        return STRtree(self.pieces)

    def pieces_at(self, xy: FloatArray) -> IntArray:
        """For each position (n, 2) its piece, or the number of pieces where that is unclear."""
        points, pieces = self.tree.query(shapely.points(xy), "dwithin", distance=1e-3)
        found = np.full(len(xy), len(self.pieces), dtype=np.int64)
        found[points] = pieces
        found[np.bincount(points, minlength=len(xy)) > 1] = len(self.pieces)
        return found

    def may_see(
        self, starts: FloatArray, ends: FloatArray, first: IntArray, second: IntArray
    ) -> BoolArray:
        """Which of the pairs `starts[first]`, `ends[second]` may see each other."""
        one, other = self.pieces_at(starts)[first], self.pieces_at(ends)[second]
        passing: BoolArray = one == other
        apart = np.flatnonzero(~passing)
        for at in range(0, len(apart), MAX_BLOCK_PAIRS):
            some = apart[at : at + MAX_BLOCK_PAIRS]
            start, end = starts[first[some]], ends[second[some]]
            directions = normalize(end - start)
            leaving = self.leaves_by_door(one[some], start, directions)
            passing[some] = leaving & self.leaves_by_door(other[some], end, -directions)
        return passing

    def leaves_by_door(
        self, pieces: IntArray, starts: FloatArray, directions: FloatArray
    ) -> BoolArray:
        """Whether lines from `starts` pass a door of their piece."""
        doors = self.doors[pieces]
        towards, radius = doors[..., :2] - starts[:, None], doors[..., 2]
        beside = np.abs(cross(directions[:, None], towards))
        ahead = (directions[:, None] * towards).sum(axis=2)
        return np.asarray(((beside <= radius) & (ahead >= -radius)).any(axis=1))


def build_door_filter(pieces: Sequence[Polygon], openings: Sequence[Opening]) -> DoorFilter:
    """The screen of a level's pieces with the openings that somebody passes."""
    doors = np.zeros((len(pieces) + 1, MAX_DOORS_PER_PIECE, 3))
    doors[:, :, 2] = -1
    doors[-1, 0, 2] = np.inf
    count = np.zeros(len(pieces), dtype=np.int64)
    for opening in openings:
        circle = bounding_circle(opening.shape)
        for piece in opening.piece_indexes:
            if count[piece] < MAX_DOORS_PER_PIECE:
                doors[piece, count[piece]] = circle
            else:
                doors[piece, 0, 2] = np.inf
            count[piece] += 1
    return DoorFilter(tuple(pieces), doors)


def bounding_circle(shape: Polygon) -> tuple[float, float, float]:
    middle = shape.centroid
    away = shapely.get_coordinates(shape) - (middle.x, middle.y)
    return middle.x, middle.y, float(np.linalg.norm(away, axis=1).max()) + DOOR_SLACK_FEET
