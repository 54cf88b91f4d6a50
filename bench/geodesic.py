"""The exact geodesic of a walkable area, found in the plainest way: the truth to compare with.

All vertices see all others; nothing is left out for being no corner or not tangent. Shares no code
with the library.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

GRAZE_FEET = 1e-6
Floats = NDArray[np.float64]


def geodesic_feet(
    area: BaseGeometry, points: Sequence[tuple[float, float]], graze_feet: float = GRAZE_FEET
) -> Floats:
    """Feet of the shortest path inside `area` between all `points`; inf where there is none.

    With 0 for `graze_feet` no line leaves `area` by any rounding; points have to lie inside.
    """
    corners = np.unique(shapely.get_coordinates(area), axis=0)
    xy = np.concatenate((np.array(points, dtype=float).reshape(-1, 2), corners))
    first, second = np.triu_indices(len(xy), k=1)
    sight = area.buffer(graze_feet, join_style="mitre") if graze_feet else area
    shapely.prepare(sight)
    seen = shapely.covers(sight, shapely.linestrings(np.stack((xy[first], xy[second]), axis=1)))
    neighbours: list[list[tuple[int, float]]] = [[] for _ in xy]
    for one, other in zip(first[seen].tolist(), second[seen].tolist(), strict=True):
        feet = float(np.hypot(*(xy[one] - xy[other])))
        neighbours[one].append((other, feet))
        neighbours[other].append((one, feet))
    return np.array([search(neighbours, at)[: len(points)] for at in range(len(points))])


def search(neighbours: list[list[tuple[int, float]]], source: int) -> list[float]:
    """Dijkstra's algorithm."""
    best = [np.inf] * len(neighbours)
    best[source] = 0.0
    queue = [(0.0, source)]
    while queue:
        feet, at = heapq.heappop(queue)
        if feet > best[at]:
            continue
        for other, step in neighbours[at]:
            if feet + step < best[other]:
                best[other] = feet + step
                heapq.heappush(queue, (best[other], other))
    return best
