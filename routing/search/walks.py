"""Walks between stops of one level, by adding up precomputed walks between its hubs.

The hubs of a level are its corners, the points in its doors and its portals; the walks between all
hubs are measured when the level is built. Any walk is either a straight line, or leads from the
start to a hub in sight, on between hubs, and from a hub to the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from routing.arrays import FloatArray, IntArray
from routing.network.network import LevelNetwork
from routing.network.walk_graph import Adjacency, concatenate_edges
from routing.search.stops import Stop, augment_graph, connect_stops


class WalkDistances(NamedTuple):
    """Feet from starts (rows) to ends (columns), and from starts and ends to the level's portals.

    inf if there is no walk. Offsets of stops from the walkable area are not included.
    """

    feet: FloatArray
    portal_feet: FloatArray


class HubDistances(NamedTuple):
    """Hubs that stops see, and their distances; those of stop i begin at `starts[i]`."""

    starts: IntArray
    hubs: IntArray
    feet: FloatArray

    def __len__(self) -> int:
        return len(self.starts) - 1

    def slice_stops(self, first: int, last: int) -> HubDistances:
        """Return the hubs of the stops from `first` to before `last`."""
        begin, end = self.starts[first], self.starts[last]
        starts = self.starts[first : last + 1] - begin
        return HubDistances(starts, self.hubs[begin:end], self.feet[begin:end])


def measure_walks(
    level: LevelNetwork, starts: Sequence[Stop], ends: Sequence[Stop]
) -> WalkDistances:
    """Return the walks between stops, which must be on the level and attached."""
    stops, count = [*starts, *ends], len(starts)
    if level.hub_feet is None:
        placed = augment_graph(level, stops)
        feet = placed.graph.distances(placed.stop_vertices[:count], placed.stop_vertices[count:])
        return WalkDistances(feet, placed.portal_feet.T)
    vertices, _, edges = connect_stops(level, stops)
    adjacencies = [level.graph.adjacency]
    if edges:
        adjacencies.append(Adjacency(concatenate_edges(edges)))
    hubs = find_visible_hubs(adjacencies, vertices, len(level.hub_feet))
    feet = distances_through_hubs(
        level.hub_feet, hubs.slice_stops(0, count), hubs.slice_stops(count, len(stops))
    )
    apply_direct_sight(adjacencies, vertices[:count], vertices[count:], feet)
    portal_count = len(level.portal_vertices)
    # Portals are hubs themselves, each 0 feet from itself.
    portals = HubDistances(
        np.arange(portal_count + 1), level.portal_vertices, np.zeros(portal_count)
    )
    return WalkDistances(feet, distances_through_hubs(level.hub_feet, hubs, portals))


def find_visible_hubs(
    adjacencies: Sequence[Adjacency], vertices: IntArray, hub_count: int
) -> HubDistances:
    """Return the hubs that stops at `vertices` see; vertices below `hub_count` are hubs."""
    # Every stop gets at least one entry, as reduceat below needs: a hub itself, at 0 feet, and
    # any other stop the first hub, at an infinite distance.
    is_hub = vertices < hub_count
    stops, hubs = [np.arange(len(vertices))], [np.where(is_hub, vertices, 0)]
    feet = [np.where(is_hub, 0.0, np.inf)]
    for adjacency in adjacencies:
        stop_indexes, visible, visible_feet = adjacency.neighbours_of_all(vertices)
        to_hub = visible < hub_count
        stops.append(stop_indexes[to_hub])
        hubs.append(visible[to_hub])
        feet.append(visible_feet[to_hub])
    all_stops = np.concatenate(stops)
    order = np.argsort(all_stops, kind="stable")
    starts = all_stops[order].searchsorted(np.arange(len(vertices) + 1))
    return HubDistances(starts, np.concatenate(hubs)[order], np.concatenate(feet)[order])


def distances_through_hubs(
    hub_feet: FloatArray, starts: HubDistances, ends: HubDistances
) -> FloatArray:
    """Return the shortest walks through hubs, from starts (rows) to ends (columns)."""
    # The loop is over the side with fewer stops; walks are as long in both directions.
    if len(starts) > len(ends):
        return distances_through_hubs(hub_feet, ends, starts).T
    walks = np.full((len(starts), len(ends)), np.inf)
    # Without hubs, the hub 0 that `find_visible_hubs` gives to each stop does not exist.
    for row in range(len(starts) if len(hub_feet) else 0):
        own = starts.slice_stops(row, row + 1)
        to_hubs = (hub_feet[own.hubs] + own.feet[:, None]).min(axis=0)
        walks[row] = np.minimum.reduceat(to_hubs[ends.hubs] + ends.feet, ends.starts[:-1])
    return walks


def apply_direct_sight(
    adjacencies: Sequence[Adjacency], starts: IntArray, ends: IntArray, feet: FloatArray
) -> None:
    """Lower `feet` in place where an end is in sight of a start, or at the same vertex."""
    if len(starts) > len(ends):
        # A transposed array is a view, so what is written to it is written to `feet`.
        starts, ends, feet = ends, starts, feet.T
    for row, vertex in enumerate(starts.tolist()):
        feet[row, ends == vertex] = 0.0
        for adjacency in adjacencies:
            visible, visible_feet = adjacency.neighbours_of(vertex)
            if not len(visible):
                continue
            positions = visible.searchsorted(ends)
            # searchsorted returns an index past the end for an end above all others; clipped, it
            # points to one that differs.
            columns = np.flatnonzero(visible.take(positions, mode="clip") == ends)
            direct_feet = visible_feet[positions[columns]]
            feet[row, columns] = np.minimum(feet[row, columns], direct_feet)
