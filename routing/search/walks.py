"""Walks between stops of one level, by adding up precomputed walks between its vertices.

Any walk is either a straight line, or leads from the start to a vertex in sight, on to a hub that
both ends have in common, to a vertex in sight of the end, and to the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from routing.arrays import FloatArray, IntArray
from routing.network.mesh import are_clear
from routing.network.network import LevelNetwork
from routing.network.stops import Stops
from routing.network.views import Sights, all_round, expand_ranges, spread_views

MAX_TESTED_PAIRS = 200
"""Above this number of pairs, spreading views from one side is faster than testing each line."""


class PlacedStops(NamedTuple):
    """Attached stops on one level, and the vertices that they see."""

    xy: FloatArray
    offset_feet: FloatArray
    sights: Sights

    def __len__(self) -> int:
        return len(self.xy)


def place_stops(level: LevelNetwork, stops: Stops) -> PlacedStops:
    """Place stops, which must be on the level and attached."""
    sights = level.views.sights(stops.near, level.mesh.cells[stops.triangles])
    return PlacedStops(stops.near, stops.offset_feet, sights)


def measure_portal_walks(level: LevelNetwork, stops: PlacedStops) -> FloatArray:
    """Return the walks from stops (n) to the level's portals (p), inf if there is none."""
    starts, vertices, feet = stops.sights
    walks = minimum_by_stop(level.portal_feet[:, vertices] + feet, starts)
    return walks.T + stops.offset_feet[:, None]


def measure_walks(level: LevelNetwork, starts: PlacedStops, ends: PlacedStops) -> FloatArray:
    """Return the walks from starts (rows) to ends (columns), inf if there is none."""
    # The loop is over the side with fewer stops; walks are as long in both directions.
    if len(starts) > len(ends):
        return measure_walks(level, ends, starts).T
    walks = measure_bent_walks(level, starts, ends)
    apply_straight_walks(level, starts.xy, ends.xy, walks)
    return walks + starts.offset_feet[:, None] + ends.offset_feet


def trace_walk(level: LevelNetwork, start: PlacedStops, end: PlacedStops) -> FloatArray:
    """Return the points (n, 2) of the shortest walk between two single stops; there must be one."""
    if are_clear(level.sight_area, start.xy, end.xy)[0]:
        return np.concatenate((start.xy, end.xy))
    _, near, near_feet = start.sights
    _, far, far_feet = end.sights
    last = far[(VertexDistances(level, far).measure(near, near_feet) + far_feet).argmin()]
    to_last = VertexDistances(level, near).measure(np.array([last]), np.zeros(1))
    first = near[(to_last + near_feet).argmin()]
    bends = level.xy[level.graph.shortest_path(int(first), int(last))]
    return np.concatenate((start.xy, bends, end.xy))


def measure_bent_walks(level: LevelNetwork, starts: PlacedStops, ends: PlacedStops) -> FloatArray:
    """Return the walks through at least one vertex, without offsets."""
    walks = np.full((len(starts), len(ends)), np.inf)
    vertices, of_end = np.unique(ends.sights.vertices, return_inverse=True)
    to_vertices = VertexDistances(level, vertices)
    for row in range(len(starts)):
        own = slice(starts.sights.starts[row], starts.sights.starts[row + 1])
        feet = to_vertices.measure(starts.sights.vertices[own], starts.sights.feet[own])
        walks[row] = minimum_by_stop(feet[of_end] + ends.sights.feet, ends.sights.starts)
    return walks


class VertexDistances:
    """Walks to some vertices of a level, by labels or else by search."""

    def __init__(self, level: LevelNetwork, vertices: IntArray) -> None:
        self._level = level
        self._vertices = vertices
        if level.labels is not None:
            labels = level.labels
            counts, self._entries = expand_ranges(
                labels.starts[:-1][vertices], labels.starts[1:][vertices]
            )
            self._starts = counts.searchsorted(np.arange(len(vertices) + 1))
            self._hubs, self._feet = labels.hubs[self._entries], labels.feet[self._entries]

    def measure(self, vertices: IntArray, feet: FloatArray) -> FloatArray:
        """Return the shortest walks that begin with `feet` to one of `vertices`."""
        labels = self._level.labels
        if labels is None:
            return self._search(vertices, feet)
        begin, end = labels.starts[:-1][vertices], labels.starts[1:][vertices]
        of_vertex, entries = expand_ranges(begin, end)
        to_hubs = np.full(len(labels), np.inf)
        np.minimum.at(to_hubs, labels.hubs[entries], labels.feet[entries] + feet[of_vertex])
        return minimum_by_stop(to_hubs[self._hubs] + self._feet, self._starts)

    def _search(self, vertices: IntArray, feet: FloatArray) -> FloatArray:
        if not len(vertices):
            return np.full(len(self._vertices), np.inf)
        walks = self._level.graph.distances(vertices)[:, self._vertices]
        return np.asarray((walks + feet[:, None]).min(axis=0))


def minimum_by_stop(feet: FloatArray, starts: IntArray) -> FloatArray:
    """Return the minima of the parts of the last axis that begin at `starts`; inf of empty ones."""
    filled = np.flatnonzero(starts[:-1] < starts[1:])
    minima = np.full((*feet.shape[:-1], len(starts) - 1), np.inf)
    if len(filled):
        minima[..., filled] = np.minimum.reduceat(feet, starts[filled], axis=-1)
    return minima


def apply_straight_walks(
    level: LevelNetwork, starts: FloatArray, ends: FloatArray, feet: FloatArray
) -> None:
    """Lower `feet` in place where a start (n, 2) and an end (m, 2) see each other."""
    straight = np.hypot(*(ends[None] - starts[:, None]).T).T
    if feet.size > MAX_TESTED_PAIRS:
        views = spread_views(level.mesh, starts, all_round(np.arange(len(starts))))
        sights = views.sights(ends, level.mesh.cells[level.mesh.locate(ends)])
        columns = np.repeat(np.arange(len(ends)), np.diff(sights.starts))
        rows = sights.vertices
    else:
        rows, columns = np.nonzero(straight < feet)
        clear = are_clear(level.sight_area, starts[rows], ends[columns])
        rows, columns = rows[clear], columns[clear]
    feet[rows, columns] = np.minimum(feet[rows, columns], straight[rows, columns])
