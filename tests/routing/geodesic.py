"""Exact geodesics of a walkable area by brute force: the reference for accuracy.

Builds the full visibility graph over all vertices, without dropping any that are not corners or
edges that are not tangent. The search shares no code with `routing`.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely.geometry.base import BaseGeometry

from routing.network.network import Network
from routing.search.walks import measure_walks, place_stops

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


@dataclass(frozen=True)
class Comparison:
    """Measured and exact walks on one level; both (n, n) in feet, inf if there is no walk."""

    measured: Floats
    exact: Floats

    @property
    def errors(self) -> Floats:
        """Relative error of each pair of distinct, connected places."""
        pairs = np.isfinite(self.exact) & (self.exact > 0)
        return np.asarray(np.abs(self.measured[pairs] / self.exact[pairs] - 1))

    @property
    def same_nearest(self) -> Floats:
        """Whether each place has the same nearest other place."""
        measured, exact = self.measured.copy(), self.exact.copy()
        np.fill_diagonal(measured, np.inf)
        np.fill_diagonal(exact, np.inf)
        return np.asarray(measured.argmin(axis=1) == exact.argmin(axis=1))


def compare_levels(network: Network) -> list[Comparison]:
    """Compare walks between the locations of each level, without leaving it."""
    compared = []
    levels = network.levels
    for level in network.level_numbers.tolist():
        own = np.flatnonzero((network.locations.levels == level) & network.locations.are_attached)
        if len(own) < 2:
            continue
        stops = place_stops(levels, network.locations.take(own))
        exact = geodesic_feet(levels.walkable_area(level), [(x, y) for x, y in stops.xy.tolist()])
        walks = measure_walks(levels, stops, stops) - stops.offset_feet[:, None] - stops.offset_feet
        compared.append(Comparison(walks, exact))
    return compared
