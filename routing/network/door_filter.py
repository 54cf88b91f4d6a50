"""Reject pairs of points that no door lets see each other, before the exact test of visibility.

From inside a room, everything outside is seen through one of its doors. So a line of sight between
two floor pieces passes a door of each. Pieces with many doors are treated as open on all sides.
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
"""A piece with more doors is treated as open on all sides."""
DOOR_SLACK_FEET = 0.01
"""Added to the circles around doors, so that rounding rejects no line through a door."""
PIECE_TOLERANCE_FEET = 1e-3
"""Corners on the edge of a piece belong to it in spite of rounding."""
SEVERAL_PIECES = -1
MAX_BLOCK_PAIRS = 1 << 17
"""Pairs per block; limits memory to about 50 MB."""


@dataclass(frozen=True)
class DoorFilter:
    """`doors` (pieces + 1, MAX_DOORS_PER_PIECE, 3) are circles around doors: x, y, radius in feet.

    A radius of -1 means no door, an infinite one lets every line through. The last row is for
    points in no piece.
    """

    pieces: tuple[Polygon, ...]
    doors: FloatArray

    @cached_property
    def tree(self) -> STRtree:
        """Spatial index of the pieces."""
        return STRtree(self.pieces)

    def pieces_at(self, xy: FloatArray) -> IntArray:
        """Return the piece of each position (n, 2): the last row of `doors` if it is in none.

        Where pieces touch, it is SEVERAL_PIECES.
        """
        points, pieces = self.tree.query(
            shapely.points(xy), "dwithin", distance=PIECE_TOLERANCE_FEET
        )
        rows = np.full(len(xy), len(self.pieces), dtype=np.int64)
        rows[points] = pieces
        rows[np.bincount(points, minlength=len(xy)) > 1] = SEVERAL_PIECES
        return rows

    def may_see(
        self, starts: FloatArray, ends: FloatArray, first: IntArray, second: IntArray
    ) -> BoolArray:
        """Return whether the pairs `starts[first]`, `ends[second]` may see each other."""
        start_piece, end_piece = self.pieces_at(starts)[first], self.pieces_at(ends)[second]
        # A corner where pieces touch sees into all of them, without any door.
        may_see: BoolArray = (
            (start_piece == end_piece)
            | (start_piece == SEVERAL_PIECES)
            | (end_piece == SEVERAL_PIECES)
        )
        in_two_pieces = np.flatnonzero(~may_see)
        for begin in range(0, len(in_two_pieces), MAX_BLOCK_PAIRS):
            block = in_two_pieces[begin : begin + MAX_BLOCK_PAIRS]
            start, end = starts[first[block]], ends[second[block]]
            directions = normalize(end - start)
            # Sight is symmetric: seen from its end, the same line leaves the other piece by a door.
            leaves = self.leaves_by_door(start_piece[block], start, directions)
            may_see[block] = leaves & self.leaves_by_door(end_piece[block], end, -directions)
        return may_see

    def leaves_by_door(
        self, pieces: IntArray, starts: FloatArray, directions: FloatArray
    ) -> BoolArray:
        """Return whether rays from `starts` pass through a door circle of their piece."""
        doors = self.doors[pieces]
        to_door, radius = doors[..., :2] - starts[:, None], doors[..., 2]
        sideways = np.abs(cross(directions[:, None], to_door))
        ahead = (directions[:, None] * to_door).sum(axis=2)
        # A ray that starts inside a door's circle may have the centre behind it, by up to the
        # radius.
        return np.asarray(((sideways <= radius) & (ahead >= -radius)).any(axis=1))


def build_door_filter(pieces: Sequence[Polygon], openings: Sequence[Opening]) -> DoorFilter:
    """Return the filter for a level's pieces and its passable openings."""
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
    """Return x, y and radius of a circle that contains `shape`, not the smallest one."""
    centre = shape.centroid
    offsets = shapely.get_coordinates(shape) - (centre.x, centre.y)
    return centre.x, centre.y, float(np.linalg.norm(offsets, axis=1).max()) + DOOR_SLACK_FEET
