"""Find the parts of walls that doors open: a door is often drawn as a point on a wall."""

from collections.abc import Iterable
from typing import Final

import numpy as np
import shapely
from numpy.typing import NDArray

from parsing.drawing import Coordinate, Coordinates

MAX_DISTANCE_FEET: Final = 3.0
"""A door farther than this from all walls stands in none."""
TOUCH_FEET: Final = 0.05
DECIMALS: Final = 2
"""Of coordinates: the same gap in the walls of two rooms has the same ends."""
MAX_SEGMENTS: Final = 8
"""Segments that one door opens: those on both sides of a corner, of the walls of two rooms."""

Segments = NDArray[np.float64]
"""Starts and ends (n, 2, 2)."""


class DoorGaps:
    """The walls of a level as segments, indexed."""

    def __init__(self, walls: Iterable[Coordinates], units_per_foot: float) -> None:
        lines = [np.asarray(wall, float) for wall in walls]
        pairs = [np.stack([line[:-1], line[1:]], axis=1) for line in lines if len(line) > 1]
        segments: Segments = np.concatenate(pairs) if pairs else np.empty((0, 2, 2))
        # Neighbouring rooms have the same walls, in opposite directions.
        rows = [sorted(map(tuple, segment)) for segment in segments.tolist()]
        self._segments: Segments = np.array(sorted({(a, b) for a, b in rows if a != b}))
        self._tree = shapely.STRtree([shapely.LineString(each) for each in self._segments])
        self._units_per_foot = units_per_foot

    def find(self, position: Coordinate, width: float) -> list[Coordinates]:
        """Return the parts of the nearest wall within half of `width` of a door, as lines.

        >>> DoorGaps([((0, 0), (9, 0))], 1).find((4, 1), 2)
        [((3.0, 0.0), (5.0, 0.0))]
        """
        point = shapely.Point(position)
        most = MAX_DISTANCE_FEET * self._units_per_foot
        nearest = self._tree.query_nearest(point, max_distance=most, all_matches=False)
        if not len(nearest):
            return []
        on_wall = shapely.shortest_line(self._tree.geometries[nearest[0]], point).coords[0]
        touch = TOUCH_FEET * self._units_per_foot
        found = self._tree.query(shapely.Point(on_wall), predicate="dwithin", distance=touch)
        parts = (_cut(self._segments[each], on_wall, width / 2) for each in found[:MAX_SEGMENTS])
        return [*dict.fromkeys(part for part in parts if part[0] != part[1])]


def _cut(segment: NDArray[np.float64], position: Coordinate, reach: float) -> Coordinates:
    """Return the part of a segment within `reach` of a position on it."""
    start, along = segment[0], segment[1] - segment[0]
    length = float(np.hypot(*along))
    middle = float(np.dot(np.asarray(position) - start, along)) / length
    ends = [min(max(each, 0.0), length) / length for each in (middle - reach, middle + reach)]
    points = (start + along * end for end in ends)
    return tuple((round(float(x), DECIMALS), round(float(y), DECIMALS)) for x, y in points)
