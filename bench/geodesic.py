"""Exact geodesics of a walkable area by brute force: the reference for accuracy.

Builds the full visibility graph over all vertices, without dropping any that are not corners or
edges that are not tangent. Shares no code with `routing`.
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
    """Return feet of the shortest paths inside `area` between all `points`; inf if there is none.

    Lines may leave `area` by `graze_feet`. With 0 they may not, and points must lie inside.

    >>> area = shapely.Polygon([(0, 0), (20, 0), (20, 10), (10, 10), (10, 30), (0, 30)])
    >>> geodesic_feet(area, [(0, 10), (20, 10)]).round(3).tolist()
    [[0.0, 20.0], [20.0, 0.0]]
    """
    corners = np.unique(shapely.get_coordinates(area), axis=0)
    xy = np.concatenate((np.array(points, dtype=float).reshape(-1, 2), corners))
    first, second = np.triu_indices(len(xy), k=1)
    sight = area.buffer(graze_feet, join_style="mitre") if graze_feet else area
    shapely.prepare(sight)
    visible = shapely.covers(sight, shapely.linestrings(np.stack((xy[first], xy[second]), axis=1)))
    neighbours: list[list[tuple[int, float]]] = [[] for _ in xy]
    for one, other in zip(first[visible].tolist(), second[visible].tolist(), strict=True):
        feet = float(np.hypot(*(xy[one] - xy[other])))
        neighbours[one].append((other, feet))
        neighbours[other].append((one, feet))
    return np.array([search(neighbours, index)[: len(points)] for index in range(len(points))])


def search(neighbours: list[list[tuple[int, float]]], source: int) -> list[float]:
    """Return distances from `source` to all vertices, by Dijkstra's algorithm."""
    best = [np.inf] * len(neighbours)
    best[source] = 0.0
    queue = [(0.0, source)]
    while queue:
        feet, vertex = heapq.heappop(queue)
        if feet > best[vertex]:
            continue
        for other, step in neighbours[vertex]:
            if feet + step < best[other]:
                best[other] = feet + step
                heapq.heappush(queue, (best[other], other))
    return best
