"""Walks between stops of one level, by adding up precomputed walks between its vertices.

Any walk is either a straight line, or leads from the start to a vertex in sight, on to a hub that
both ends have in common, to a vertex in sight of the end, and to the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from routing.arrays import FloatArray, IntArray
from routing.network.levels import Levels
from routing.network.ranges import expand_ranges
from routing.network.stops import Stops
from routing.network.views import Sights, all_round, spread_views

MAX_TESTED_PAIRS = 200
"""Above this number of pairs, spreading views from one side is faster than testing each line."""
ON_WALK_FEET = 1e-6
"""A walk through what is on a shortest one may seem this much longer, as labels are rounded."""


class PlacedStops(NamedTuple):
    """Attached stops in the order of their levels, and the vertices that they see."""

    levels: IntArray
    xy: FloatArray
    offset_feet: FloatArray
    sights: Sights

    def __len__(self) -> int:
        return len(self.xy)

    def on_level(self, level: int) -> slice:
        """Return which of the stops are on a level."""
        return slice(*self.levels.searchsorted((level, level + 1)).tolist())


def place_stops(levels: Levels, stops: Stops) -> PlacedStops:
    """Place stops, which must be attached and in the order of their levels."""
    sights = levels.views.sights(stops.near, levels.mesh.cells[stops.triangles])
    return PlacedStops(stops.levels, stops.near, stops.offset_feet, sights)


def measure_portal_walks(levels: Levels, stops: PlacedStops) -> FloatArray:
    """Return the walks from stops (n) to the portals of their levels (s), inf if there is none."""
    starts, vertices, feet = stops.sights
    walks = minimum_by_stop(levels.portal_feet[:, vertices] + feet, starts)
    return walks.T + stops.offset_feet[:, None]


def measure_walks(levels: Levels, starts: PlacedStops, ends: PlacedStops) -> FloatArray:
    """Return the walks from starts (rows) to ends (columns), inf if there is none."""
    # The loop is over the side with fewer stops; walks are as long in both directions.
    if len(starts) > len(ends):
        return measure_walks(levels, ends, starts).T
    walks = measure_bent_walks(levels, starts, ends)
    apply_straight_walks(levels, starts, ends, walks)
    return walks + starts.offset_feet[:, None] + ends.offset_feet


def trace_walk(levels: Levels, start: PlacedStops, end: PlacedStops) -> FloatArray:
    """Return the points (n, 2) of the shortest walk between two single stops; there must be one."""
    if levels.are_clear(int(start.levels[0]), start.xy, end.xy)[0]:
        return np.concatenate((start.xy, end.xy))
    near, near_feet = start.sights.vertices, start.sights.feet
    far, far_feet = end.sights.vertices, end.sights.feet
    last = far[(VertexWalks(levels, far).measure(near, near_feet) + far_feet).argmin()]
    to_last = VertexWalks(levels, near).measure(np.array([last]), np.zeros(1))
    first = near[(to_last + near_feet).argmin()]
    bends = levels.xy[find_bends(levels, int(start.levels[0]), int(first), int(last))]
    return np.concatenate((start.xy, bends, end.xy))


def find_bends(levels: Levels, level: int, first: int, last: int) -> IntArray:
    """Return the vertices of the shortest walk between two vertices of a level, both included."""
    vertices = levels.vertices(level)
    walks = VertexWalks(levels, vertices)
    from_first, to_last = (walks.measure(np.array([end]), np.zeros(1)) for end in (first, last))
    # The others are on no shortest walk, and they are most of the level.
    between = vertices[from_first + to_last <= from_first[last - vertices[0]] + ON_WALK_FEET]
    path = levels.graph_of(between).shortest_path(*between.searchsorted((first, last)).tolist())
    return np.asarray(between[path])


def find_common_levels(starts: PlacedStops, ends: PlacedStops) -> list[int]:
    return sorted({*starts.levels.tolist()} & {*ends.levels.tolist()})


def measure_bent_walks(levels: Levels, starts: PlacedStops, ends: PlacedStops) -> FloatArray:
    """Return the walks through at least one vertex, without offsets."""
    walks = np.full((len(starts), len(ends)), np.inf)
    for level in find_common_levels(starts, ends):
        columns = ends.on_level(level)
        sights = ends.sights.of_points(columns)
        vertices, of_end = np.unique(sights.vertices, return_inverse=True)
        to_vertices = VertexWalks(levels, vertices)
        rows = starts.on_level(level)
        for row in range(rows.start, rows.stop):
            _, near, near_feet = starts.sights.of_points(slice(row, row + 1))
            feet = to_vertices.measure(near, near_feet)
            walks[row, columns] = minimum_by_stop(feet[of_end] + sights.feet, sights.starts)
    return walks


class VertexWalks:
    """Walks to some vertices of one level, by labels."""

    def __init__(self, levels: Levels, vertices: IntArray) -> None:
        self._levels = levels
        self._vertices = vertices
        labels = levels.labels
        begin, end = labels.starts[:-1][vertices], labels.starts[1:][vertices]
        counts, entries = expand_ranges(begin, end)
        self._starts = counts.searchsorted(np.arange(len(vertices) + 1))
        self._hubs, self._feet = labels.hubs[entries], labels.feet[entries]

    def measure(self, vertices: IntArray, feet: FloatArray) -> FloatArray:
        """Return the shortest walks that begin with `feet` to one of `vertices`."""
        labels = self._levels.labels
        begin, end = labels.starts[:-1][vertices], labels.starts[1:][vertices]
        of_vertex, entries = expand_ranges(begin, end)
        to_hubs = np.full(len(labels), np.inf)
        np.minimum.at(to_hubs, labels.hubs[entries], labels.feet[entries] + feet[of_vertex])
        return minimum_by_stop(to_hubs[self._hubs] + self._feet, self._starts)


def minimum_by_stop(feet: FloatArray, starts: IntArray) -> FloatArray:
    """Return the minima of the parts of the last axis that begin at `starts`; inf of empty ones."""
    filled = np.flatnonzero(starts[:-1] < starts[1:])
    minima = np.full((*feet.shape[:-1], len(starts) - 1), np.inf)
    if len(filled):
        minima[..., filled] = np.minimum.reduceat(feet, starts[filled], axis=-1)
    return minima


def apply_straight_walks(
    levels: Levels, starts: PlacedStops, ends: PlacedStops, feet: FloatArray
) -> None:
    """Lower `feet` in place where a start and an end see each other."""
    for level in find_common_levels(starts, ends):
        rows, columns = starts.on_level(level), ends.on_level(level)
        own = feet[rows, columns]
        from_xy, to_xy = starts.xy[rows], ends.xy[columns]
        straight = np.hypot(*(to_xy[None] - from_xy[:, None]).T).T
        if own.size > MAX_TESTED_PAIRS:
            views = spread_views(levels.mesh, from_xy, all_round(np.arange(len(from_xy))), level)
            sights = views.sights(to_xy, levels.mesh.locate_cells(to_xy, level))
            seen_columns = np.repeat(np.arange(len(to_xy)), np.diff(sights.starts))
            seen = sights.vertices, seen_columns
        else:
            nearer = np.nonzero(straight < own)
            clear = levels.are_clear(level, from_xy[nearer[0]], to_xy[nearer[1]])
            seen = nearer[0][clear], nearer[1][clear]
        own[seen] = np.minimum(own[seen], straight[seen])
