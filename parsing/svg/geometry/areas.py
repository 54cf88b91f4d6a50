"""Measure the areas that rings enclose."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from parsing.drawing import Coordinate

MAX_BANDS: Final = 32
"""Horizontal bands in which an area is measured, so that the time is linear."""
Edge = tuple[Coordinate, Coordinate]


def signed_area(ring: Sequence[Coordinate]) -> float:
    """Return the area of a ring, negative for one of the two directions."""
    return sum(
        (ring[number - 1][0] * y - x * ring[number - 1][1]) / 2
        for number, (x, y) in enumerate(ring)
    )


def even_odd_area(rings: Sequence[Sequence[Coordinate]]) -> float:
    """Return the area that `fill-rule: evenodd` fills.

    It is exact for few corners, unless edges cross each other.

    >>> even_odd_area([[(0, 0), (9, 0), (9, 9), (0, 9)], [(2, 2), (7, 2), (7, 7), (2, 7)]])
    56.0
    """
    edges = [(ring[number - 1], point) for ring in rings for number, point in enumerate(ring)]
    heights = sorted({y for (_, y), _ in edges})
    if not heights:
        return 0.0
    top, bottom = heights[0], heights[-1]
    even = (top + (bottom - top) * n / MAX_BANDS for n in range(MAX_BANDS))
    corners = heights[:: 1 + len(heights) // MAX_BANDS]
    bands = pairwise(sorted({*even, *corners, bottom}))
    return sum((end - start) * _covered_width(edges, (start + end) / 2) for start, end in bands)


def _covered_width(edges: Iterable[Edge], height: float) -> float:
    """Return how much of a horizontal line is inside."""
    crossed = sorted(
        x1 + (x2 - x1) * (height - y1) / (y2 - y1)
        for (x1, y1), (x2, y2) in edges
        if (y1 <= height) != (y2 <= height)
    )
    return sum(end - start for start, end in zip(crossed[::2], crossed[1::2], strict=False))
