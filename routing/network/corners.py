"""Corners of a walkable area: the only points where a shortest path bends.

A shortest path among obstacles bends only at reflex corners and only around them, so each of its
segments is tangent at both ends (Lozano-Pérez and Wesley 1979; Rohnert 1986).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely

from routing.arrays import BoolArray, FloatArray, IntArray
from routing.plan import Polygonal

TANGENT_TOLERANCE_FEET = 1e-7
"""A line is tangent if it crosses neither wall at its corner by more than this.

A length and not an angle: rounding moves points off their walls, which turns short lines by large
angles.
"""
MIN_TURN_SINE = 1e-12
"""Sine of the smallest turn that counts as a corner; rounding bends straight walls by less."""


@dataclass(frozen=True)
class Corners:
    """Reflex corners: `xy`, and unit vectors to the previous and next corner; each (n, 2)."""

    xy: FloatArray
    before: FloatArray
    after: FloatArray

    def __len__(self) -> int:
        return len(self.xy)

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
