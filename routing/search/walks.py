"""Walks between stops of one level, by way of its hubs: no search, but sums of what is known.

The hubs of a level are its corners, the points in its doors and its portals; the walks between all
of them are measured when the level is built. Any other walk is a straight line, or leaves its
start for a hub in sight and reaches its end from one.
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
    """Feet from starts (rows) to ends (columns), and from all stops to the level's portals.

    inf where there is no walk. Ways from where stops join the walkable space do not count.
    """

    feet: FloatArray
    portal_feet: FloatArray


class HubDistances(NamedTuple):
    """The hubs that stops see, and how far they are; those of stop i from `starts[i]` on."""

    starts: IntArray
    hubs: IntArray
    feet: FloatArray

    def __len__(self) -> int:
        return len(self.starts) - 1

    def slice_stops(self, first: int, last: int) -> HubDistances:
        """Those of the stops from `first` to before `last`."""
        begin, end = self.starts[first], self.starts[last]
        starts = self.starts[first : last + 1] - begin
        return HubDistances(starts, self.hubs[begin:end], self.feet[begin:end])


def measure_walks(
    level: LevelNetwork, starts: Sequence[Stop], ends: Sequence[Stop]
) -> WalkDistances:
    """All stops are on the level and attached."""
    stops, count = [*starts, *ends], len(starts)
    if level.hub_feet is None:
        placed = augment_graph(level, stops)
        feet = placed.graph.distances(placed.stop_vertices[:count], placed.stop_vertices[count:])
        return WalkDistances(feet, placed.portal_feet.T)
    ids, _, edges = connect_stops(level, stops)
    views = [level.graph.adjacency]
    if edges:
        views.append(Adjacency(concatenate_edges(edges)))
    sights = find_visible_hubs(views, ids, len(level.hub_feet))
    feet = distances_through_hubs(
        level.hub_feet, sights.slice_stops(0, count), sights.slice_stops(count, len(stops))
    )
    apply_direct_sight(views, ids[:count], ids[count:], feet)
    portals = len(level.portal_vertices)
    at_portals = HubDistances(np.arange(portals + 1), level.portal_vertices, np.zeros(portals))
    return WalkDistances(feet, distances_through_hubs(level.hub_feet, sights, at_portals))


def find_visible_hubs(views: Sequence[Adjacency], ids: IntArray, hub_count: int) -> HubDistances:
    """A hub sees itself; any other stop is told to be infinitely far from the first hub."""
    is_hub = ids < hub_count
    stops, hubs = [np.arange(len(ids))], [np.where(is_hub, ids, 0)]
    feet = [np.where(is_hub, 0.0, np.inf)]
    for view in views:
        of, seen, seen_feet = view.neighbours_of_all(ids)
        near = seen < hub_count
        stops, hubs, feet = [*stops, of[near]], [*hubs, seen[near]], [*feet, seen_feet[near]]
    of_stop = np.concatenate(stops)
    order = np.argsort(of_stop, kind="stable")
    starts = of_stop[order].searchsorted(np.arange(len(ids) + 1))
    return HubDistances(starts, np.concatenate(hubs)[order], np.concatenate(feet)[order])


def distances_through_hubs(
    hub_feet: FloatArray, starts: HubDistances, ends: HubDistances
) -> FloatArray:
    """The walks by way of hubs from starts (rows) to ends (columns), from the side with fewer."""
    if len(starts) > len(ends):
        return distances_through_hubs(hub_feet, ends, starts).T
    walks = np.full((len(starts), len(ends)), np.inf)
    for row in range(len(starts) if len(hub_feet) else 0):
        own = starts.slice_stops(row, row + 1)
        to_hubs = (hub_feet[own.hubs] + own.feet[:, None]).min(axis=0)
        walks[row] = np.minimum.reduceat(to_hubs[ends.hubs] + ends.feet, ends.starts[:-1])
    return walks


def apply_direct_sight(
    views: Sequence[Adjacency], starts: IntArray, ends: IntArray, feet: FloatArray
) -> None:
    """Lower `feet` where an end is in sight of a start, or at the same vertex."""
    if len(starts) > len(ends):
        starts, ends, feet = ends, starts, feet.T
    for row, vertex in enumerate(starts.tolist()):
        feet[row, ends == vertex] = 0.0
        for view in views:
            seen, seen_feet = view.neighbours_of(vertex)
            at = seen.searchsorted(ends)
            found = np.flatnonzero(seen.take(at, mode="clip") == ends) if len(seen) else at[:0]
            feet[row, found] = np.minimum(feet[row, found], seen_feet[at[found]])
