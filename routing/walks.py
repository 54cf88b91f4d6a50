"""Walks between stops of one level, by way of its hubs: no search, but sums of what is known.

The hubs of a level are its corners, the points in its doors and its gates; the walks between all
of them are measured when the level is built. Any other walk is a straight line, or leaves its
start for a hub in sight and reaches its end from one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from routing.graph import Neighbours, joined
from routing.network import LevelNetwork
from routing.stops import Stop, join, place
from routing.visibility import Floats, Ints


class Walks(NamedTuple):
    """Feet from starts (rows) to ends (columns), and from all stops to the level's gates.

    inf where there is no walk. Ways from where stops join the walkable space do not count.
    """

    feet: Floats
    gate_feet: Floats


class Sights(NamedTuple):
    """The hubs that stops see, and how far they are; those of stop i from `starts[i]` on."""

    starts: Ints
    hubs: Ints
    feet: Floats

    def __len__(self) -> int:
        return len(self.starts) - 1

    def part(self, first: int, last: int) -> Sights:
        """Those of the stops from `first` to before `last`."""
        begin, end = self.starts[first], self.starts[last]
        starts = self.starts[first : last + 1] - begin
        return Sights(starts, self.hubs[begin:end], self.feet[begin:end])


def find_walks(level: LevelNetwork, starts: Sequence[Stop], ends: Sequence[Stop]) -> Walks:
    """All stops are on the level and attached."""
    stops, count = [*starts, *ends], len(starts)
    if level.hub_feet is None:
        placed = place(level, stops)
        feet = placed.graph.distances(placed.ids[:count], placed.ids[count:])
        return Walks(feet, placed.gate_feet.T)
    ids, _, edges = join(level, stops)
    views = [level.graph.neighbours]
    if edges:
        views.append(Neighbours(joined(edges)))
    sights = find_sights(views, ids, len(level.hub_feet))
    feet = between(level.hub_feet, sights.part(0, count), sights.part(count, len(stops)))
    see_directly(views, ids[:count], ids[count:], feet)
    gates = len(level.gate_ids)
    at_gates = Sights(np.arange(gates + 1), level.gate_ids, np.zeros(gates))
    return Walks(feet, between(level.hub_feet, sights, at_gates))


def find_sights(views: Sequence[Neighbours], ids: Ints, hub_count: int) -> Sights:
    """A hub sees itself; any other stop is told to be infinitely far from the first hub."""
    is_hub = ids < hub_count
    stops, hubs = [np.arange(len(ids))], [np.where(is_hub, ids, 0)]
    feet = [np.where(is_hub, 0.0, np.inf)]
    for view in views:
        of, seen, seen_feet = view.of_each(ids)
        near = seen < hub_count
        stops, hubs, feet = [*stops, of[near]], [*hubs, seen[near]], [*feet, seen_feet[near]]
    of_stop = np.concatenate(stops)
    order = np.argsort(of_stop, kind="stable")
    starts = of_stop[order].searchsorted(np.arange(len(ids) + 1))
    return Sights(starts, np.concatenate(hubs)[order], np.concatenate(feet)[order])


def between(hub_feet: Floats, starts: Sights, ends: Sights) -> Floats:
    """The walks by way of hubs from starts (rows) to ends (columns), from the side with fewer."""
    if len(starts) > len(ends):
        return between(hub_feet, ends, starts).T
    walks = np.full((len(starts), len(ends)), np.inf)
    for row in range(len(starts) if len(hub_feet) else 0):
        own = starts.part(row, row + 1)
        to_hubs = (hub_feet[own.hubs] + own.feet[:, None]).min(axis=0)
        walks[row] = np.minimum.reduceat(to_hubs[ends.hubs] + ends.feet, ends.starts[:-1])
    return walks


def see_directly(views: Sequence[Neighbours], starts: Ints, ends: Ints, feet: Floats) -> None:
    """Lower `feet` where an end is in sight of a start, or at the same vertex."""
    if len(starts) > len(ends):
        starts, ends, feet = ends, starts, feet.T
    for row, vertex in enumerate(starts.tolist()):
        feet[row, ends == vertex] = 0.0
        for view in views:
            seen, seen_feet = view.of(vertex)
            at = seen.searchsorted(ends)
            found = np.flatnonzero(seen.take(at, mode="clip") == ends) if len(seen) else at[:0]
            feet[row, found] = np.minimum(feet[row, found], seen_feet[at[found]])
