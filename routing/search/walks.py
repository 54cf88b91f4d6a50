"""Walks between stops of one level, by adding up precomputed walks between its vertices.

Any walk is either a straight line, or leads from the start to a vertex in sight, on to a hub that
both ends have in common, to a vertex in sight of the end, and to the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from routing.arrays import FloatArray, IntArray, join_tables
from routing.network.levels import Levels, are_open, is_foreign
from routing.network.mesh import PUBLIC
from routing.network.network import Stops
from routing.network.views import Sights, all_round, spread_views
from routing.network.walk_graph import Edges, VertexWalks, WalkGraph, minimum_by_stop

MAX_TESTED_PAIRS = 200
"""Above this number of pairs, spreading views from one side is faster than testing each line."""
ON_WALK_FEET = 1e-6
"""A walk through what is on a shortest one may seem this much longer, as labels are rounded."""


class PlacedStops(NamedTuple):
    """Attached stops in the order of their levels, and the vertices that they see.

    `approaches` also have the walks to all vertices of the guarded regions that they are in: a walk
    may leave the region, return to it, and leave it elsewhere.
    """

    levels: IntArray
    xy: FloatArray
    offset_feet: FloatArray
    regions: IntArray
    sights: Sights
    approaches: Sights

    def __len__(self) -> int:
        return len(self.xy)

    def on_level(self, level: int) -> slice:
        """Return which of the stops are on a level."""
        return slice(*self.levels.searchsorted((level, level + 1)).tolist())


def place_stops(levels: Levels, stops: Stops) -> PlacedStops:
    """Place stops, which must be attached and in the order of their levels."""
    sights = levels.views.sights(stops.near, levels.mesh.cells[stops.triangles])
    regions = levels.mesh.regions[stops.triangles]
    of_stop = np.repeat(np.arange(len(stops)), np.diff(sights.starts))
    lines = np.stack((stops.near[of_stop], levels.xy[sights.vertices]), axis=1)
    if levels.are_guarded and len(lines):
        on_levels = (stops.levels[of_stop] == level for level in range(len(levels)))
        found = [levels.find_regions(level, lines[own]) for level, own in enumerate(on_levels)]
        sights = sights._replace(regions=np.concatenate(found))
    approaches = sights
    for stop in np.flatnonzero(regions != PUBLIC).tolist():
        region, vertices = regions[stop], levels.vertices(int(stops.levels[stop]))
        vertices = vertices[levels.regions[vertices] == region]
        seen = select_sights(sights, stop, region, region)
        walks = VertexWalks(levels.labels, vertices).measure(*seen)
        starts, at = approaches.starts.copy(), approaches.starts[stop + 1]
        starts[stop + 1 :] += len(vertices)
        approaches = Sights(
            starts,
            np.insert(approaches.vertices, at, vertices),
            np.insert(approaches.feet, at, walks),
            np.insert(approaches.regions, at, np.full((len(vertices), 2), region), axis=0),
        )
    return PlacedStops(stops.levels, stops.near, stops.offset_feet, regions, sights, approaches)


def select_sights(sights: Sights, stop: int, start: int, end: int) -> tuple[IntArray, FloatArray]:
    """Return the vertices that a stop sees, and how far they are, for walks between two regions."""
    _, vertices, feet, regions = sights.of_points(slice(stop, stop + 1))
    usable = are_open(regions, start, end)
    return vertices[usable], feet[usable]


def measure_portal_walks(levels: Levels, stops: PlacedStops) -> FloatArray:
    """Return the walks from stops (n) to the portals of their levels (s), inf if there is none."""
    starts, vertices, feet, through = stops.approaches
    walks = levels.portal_feet[:, vertices] + feet
    if levels.are_guarded:
        of_stop = np.repeat(np.arange(len(stops)), np.diff(starts))
        to_portals = levels.portal_regions[stops.levels[of_stop]].T
        for regions in through.T:
            walks[is_foreign(regions, stops.regions[of_stop], to_portals)] = np.inf
    return minimum_by_stop(walks, starts).T + stops.offset_feet[:, None]


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
    level, own = int(start.levels[0]), (int(start.regions[0]), int(end.regions[0]))
    line = np.stack((start.xy, end.xy), axis=1)
    is_open = are_open(levels.find_regions(level, line), *own)
    if (is_open & levels.are_clear(level, start.xy, end.xy))[0]:
        return np.asarray(line[0])
    vertices = levels.vertices(level)
    vertices = vertices[~is_foreign(levels.regions[vertices], *own)]
    walks = VertexWalks(levels.labels, vertices)
    from_start, to_end = (
        walks.measure(*select_sights(stop.approaches, 0, *own)) for stop in (start, end)
    )
    feet = from_start + to_end
    # The others are on no shortest walk, and they are most of the level.
    between = vertices[feet <= feet.min() + ON_WALK_FEET]
    count, edges = len(between), levels.graph_of(between).edges
    ends = np.stack((edges.first, edges.second), axis=1)
    through = levels.find_regions(level, levels.xy[between[ends]])
    parts = [edges.take(are_open(through, *own))]
    for number, stop in enumerate((start, end)):
        seen, seen_feet = select_sights(stop.sights, 0, *own)
        at = between.searchsorted(seen).clip(max=count - 1)
        lines = Edges(np.full(len(at), count + number), at, seen_feet)
        parts.append(lines.take(between[at] == seen))
    bends = WalkGraph(count + 2, join_tables(parts)).shortest_path(count, count + 1)[1:-1]
    return np.concatenate((start.xy, levels.xy[between[bends]], end.xy))


def find_common_levels(starts: PlacedStops, ends: PlacedStops) -> list[int]:
    return sorted({*starts.levels.tolist()} & {*ends.levels.tolist()})


def measure_bent_walks(levels: Levels, starts: PlacedStops, ends: PlacedStops) -> FloatArray:
    """Return the walks through at least one vertex, without offsets."""
    walks = np.full((len(starts), len(ends)), np.inf)
    for level in find_common_levels(starts, ends):
        columns = ends.on_level(level)
        sights = ends.approaches.of_points(columns)
        vertices, of_end = np.unique(sights.vertices, return_inverse=True)
        to_vertices = VertexWalks(levels.labels, vertices)
        end_regions = np.repeat(ends.regions[columns], np.diff(sights.starts))
        rows = starts.on_level(level)
        for row in range(rows.start, rows.stop):
            start = starts.regions[row]
            seen = starts.approaches.of_points(slice(row, row + 1)).regions
            is_open = are_open(sights.regions, start, end_regions)
            # What is seen through private rooms is only for walks that end there.
            others = np.setdiff1d(np.intersect1d(seen, end_regions), (PUBLIC, start))
            for end in (start, *others.tolist()):
                near = select_sights(starts.approaches, row, start, end)
                feet = to_vertices.measure(*near)[of_end] + sights.feet
                feet[~is_open] = np.inf
                found = minimum_by_stop(feet, sights.starts)
                own = (ends.regions[columns] == end) | (end == start)
                walks[row, columns] = np.minimum(walks[row, columns], np.where(own, found, np.inf))
    return walks


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
        lines = np.stack((from_xy[seen[0]], to_xy[seen[1]]), axis=1)
        own_regions = starts.regions[rows][seen[0]], ends.regions[columns][seen[1]]
        is_open = are_open(levels.find_regions(level, lines), *own_regions)
        seen = seen[0][is_open], seen[1][is_open]
        own[seen] = np.minimum(own[seen], straight[seen])
