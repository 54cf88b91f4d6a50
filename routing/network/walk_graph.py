"""The graph of straight walks between vertices, and shortest paths in it.

The graph is undirected and weighted in feet. This is the only module that uses igraph.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import igraph  # type: ignore[import-untyped]
import numpy as np

from routing.arrays import (
    ArrayTable,
    FloatArray,
    IntArray,
    expand_ranges,
    join_starts,
    shift,
    shift_and_join,
)
from routing.network.mesh import PUBLIC, Corners, Mesh
from routing.network.views import Views

MAX_BLOCK_ROWS = 32
"""Rows of distances that are computed together; igraph returns them as Python numbers."""
SAME_RATIO = 1e-12
"""Walks whose lengths differ by this share are equally long; rounding makes larger differences."""


@dataclass(frozen=True)
class Edges(ArrayTable):
    """Pairs of vertices in sight of each other: indexes `first` and `second`, `feet`; each (n,)."""

    first: IntArray
    second: IntArray
    feet: FloatArray


class WalkGraph:
    """An undirected graph of `count` vertices; its edges are straight walks.

    >>> edges = Edges(np.array([0, 1]), np.array([1, 2]), np.array([3.0, 4.0]))
    >>> WalkGraph(3, edges).distances(np.array([2])).tolist()
    [[7.0, 4.0, 0.0]]

    If `regions` (count,) are given, walks do not lead out of private space.
    """

    def __init__(self, count: int, edges: Edges, regions: IntArray | None = None) -> None:
        self.vertex_count = count
        self.edges = edges
        self.regions = np.full(count, PUBLIC) if regions is None else regions

    @cached_property
    def graph(self) -> Any:
        pairs = np.stack((self.edges.first, self.edges.second), axis=1).astype(np.int64)
        feet, is_directed = self.edges.feet, bool((self.regions != PUBLIC).any())
        if is_directed:
            pairs, feet = np.concatenate((pairs, pairs[:, ::-1])), np.tile(feet, 2)
            start, end = self.regions[pairs].T
            leads_on = (start == PUBLIC) | (start == end)
            pairs, feet = pairs[leads_on], feet[leads_on]
        graph = igraph.Graph(self.vertex_count, pairs, directed=is_directed)
        graph.es["feet"] = feet.tolist()
        return graph

    def restrict(self, vertices: IntArray) -> WalkGraph:
        """Return the part of the graph with only some vertices, in ascending order."""
        number = np.full(self.vertex_count, -1)
        number[vertices] = np.arange(len(vertices))
        first, second = number[self.edges.first], number[self.edges.second]
        kept = (first >= 0) & (second >= 0)
        edges = Edges(first[kept], second[kept], self.edges.feet[kept])
        return WalkGraph(len(vertices), edges, self.regions[vertices])

    def distances(self, sources: IntArray) -> FloatArray:
        """Return feet of the shortest walks from sources (rows) to all vertices, or inf."""
        feet = np.empty((len(sources), self.vertex_count))
        for first in range(0, len(sources), MAX_BLOCK_ROWS):
            block = slice(first, first + MAX_BLOCK_ROWS)
            feet[block] = self.graph.distances(
                sources[block].tolist(), weights="feet", algorithm="dijkstra"
            )
        return feet

    def shortest_path(self, source: int, target: int) -> list[int]:
        """Return the vertices of the shortest walk; there must be one."""
        path = self.graph.get_shortest_path(source, target, weights="feet", algorithm="dijkstra")
        return [int(vertex) for vertex in path]


def build_edges(mesh: Mesh, views: Views, corners: Corners) -> Edges:
    """Return the reduced visibility graph of the origins of views; corners come first.

    A segment of a shortest path is tangent to the walls at both its ends. Segments that are not are
    left out, and so are those that lead straight through another vertex, if both halves are edges
    themselves. So the graph holds a shortest path between any two vertices.
    """
    sights = views.sights(views.xy, mesh.locate_cells(views.xy))
    count = len(views.xy)
    points = np.repeat(np.arange(count), np.diff(sights.starts))
    pairs = np.unique(
        np.minimum(points, sights.vertices) * count + np.maximum(points, sights.vertices)
    )
    first, second = pairs // count, pairs % count
    needed = first != second
    lines = views.xy[second] - views.xy[first]
    for ends in (first, second):
        at_corner = np.flatnonzero(ends < len(corners))
        needed[at_corner] &= corners.are_tangent(ends[at_corner], lines[at_corner])
    edges = Edges(first, second, np.hypot(lines[:, 0], lines[:, 1])).take(needed)
    return drop_compound_edges(views.xy, edges)


def drop_compound_edges(xy: FloatArray, edges: Edges) -> Edges:
    """Return edges without those that are two others, one after the other.

    Corners along a wall all see one another, so most of the edges there are such.
    """
    if not len(edges):
        return edges
    count, number = len(xy), np.arange(len(edges))
    starts = np.concatenate((edges.first, edges.second))
    ends = np.concatenate((edges.second, edges.first))
    feet, numbers = np.tile(edges.feet, 2), np.tile(number, 2)
    directions = np.arctan2(*(xy[ends] - xy[starts]).T)
    order = np.lexsort((feet, np.round(directions, 9), starts))
    starts, ends, numbers, feet = starts[order], ends[order], numbers[order], feet[order]
    # In this order, the edge to the next vertex in the same direction comes just before.
    near, far = ends[:-1], ends[1:]
    keys = edges.first * count + edges.second
    wanted = np.minimum(near, far) * count + np.maximum(near, far)
    by_key = np.argsort(keys)
    found = by_key[np.searchsorted(keys, wanted, sorter=by_key).clip(max=len(keys) - 1)]
    is_compound = (starts[:-1] == starts[1:]) & (keys[found] == wanted)
    is_compound &= feet[:-1] + edges.feet[found] <= feet[1:] * (1 + SAME_RATIO)
    # Both halves are shorter, so that no two edges are dropped for each other.
    is_compound &= np.minimum(feet[:-1], edges.feet[found]) > feet[1:] * SAME_RATIO
    kept = np.ones(len(number), dtype=bool)
    kept[numbers[1:][is_compound]] = False
    return edges.take(kept)


def label_components(count: int, pairs: IntArray) -> IntArray:
    """Return the component number of each of `count` vertices joined by `pairs` (n, 2)."""
    graph = igraph.Graph(count, pairs)
    return np.array(graph.connected_components().membership, dtype=np.int64)


# Hub labels: distances between all vertices of a graph in the space of a few for each.
#
# Each vertex keeps its distance to some hubs, chosen so that a shortest path between any two
# vertices leads through a hub of both (Cohen et al. 2003; Akiba, Iwata and Yoshida 2013). In a
# building they are few, because most paths lead through the same corridors.


SAME_FEET = 1e-9
"""Paths that differ by less are equally short."""
SAMPLED_VERTICES = 64
"""Vertices between which paths are counted to find the hubs that most of them share."""
FIRST_BATCH = 32
"""Hubs that are searched from before they are taken out of the graph; each batch is twice as large
as the one before."""

COMPARED_TOGETHER = 32
"""Hubs through which paths are compared together; the first ones leave few vertices to label."""
SEARCH_WORK = 3
"""Comparisons that take as long as a search does for a vertex or an edge, at least."""


class WorkExceededError(Exception):
    """Labels that take too much work."""


class WorkBudget:
    """A limit to the work of building labels, in comparisons of two numbers: some 2 ns each.

    Unlike time, it is the same on each machine, so that a plan always gives the same network.
    """

    def __init__(self, comparisons: float = math.inf) -> None:
        self.left = comparisons

    def spend(self, comparisons: int) -> None:
        """Raise WorkExceededError if not so many are left."""
        self.left -= comparisons
        if self.left < 0:
            raise WorkExceededError


@dataclass(frozen=True)
class Labels:
    """Hubs of each vertex and the walks to them.

    Those of vertex v are `hubs[starts[v]:starts[v + 1]]`, at a distance of `feet`. Hubs are
    vertices.
    """

    starts: IntArray
    hubs: IntArray
    feet: FloatArray

    def __len__(self) -> int:
        return len(self.starts) - 1

    def take(self, vertices: slice) -> Labels:
        """Return the labels of consecutive vertices, which must have all of their hubs."""
        starts = self.starts[vertices.start : vertices.stop + 1]
        own = slice(starts[0], starts[-1])
        return Labels(starts - starts[0], shift(self.hubs[own], -vertices.start), self.feet[own])


def join_labels(parts: Sequence[Labels]) -> Labels:
    """Return the labels of some graphs as those of one that consists of them."""
    vertices = np.cumsum([0, *map(len, parts)])
    return Labels(
        join_starts([part.starts for part in parts]),
        shift_and_join([part.hubs for part in parts], vertices),
        np.concatenate([part.feet for part in parts]),
    )


def build_labels(graph: WalkGraph, budget: WorkBudget | None = None) -> Labels:
    """Return labels for all vertices of a graph. Raises WorkExceededError.

    >>> from routing.network.walk_graph import Edges
    >>> line = Edges(np.arange(3), np.arange(1, 4), np.ones(3))
    >>> len(build_labels(WalkGraph(4, line)).hubs)
    8
    """
    budget = budget or WorkBudget()
    count = graph.vertex_count
    budget.spend(SEARCH_WORK * SAMPLED_VERTICES * (count + len(graph.edges)))
    order = rank_hubs(graph)
    feet = np.full((count, count), np.inf)
    hubs_of: list[list[int]] = [[] for _ in range(count)]
    labelled: list[IntArray] = []
    remaining, first, size = np.ones(count, dtype=bool), 0, FIRST_BATCH
    while first < count:
        batch = order[first : first + size]
        # Paths through earlier hubs are known, so these are left out: most of a building is then
        # in small parts, and searches are short.
        vertices = np.flatnonzero(remaining)
        rest = graph.restrict(vertices)
        budget.spend(SEARCH_WORK * len(batch) * (len(vertices) + len(rest.edges)))
        feet[batch[:, None], vertices] = rest.distances(vertices.searchsorted(batch))
        for hub in batch.tolist():
            needing = find_vertices_to_label(feet, hub, hubs_of[hub], budget)
            labelled.append(needing)
            for vertex in needing.tolist():
                hubs_of[vertex].append(hub)
        remaining[batch] = False
        first, size = first + size, 2 * size
    hubs = np.repeat(order, [len(vertices) for vertices in labelled])
    vertices = np.concatenate([np.empty(0, dtype=np.int64), *labelled])
    by_vertex = np.lexsort((hubs, vertices))
    hubs, vertices = hubs[by_vertex], vertices[by_vertex]
    return Labels(vertices.searchsorted(np.arange(count + 1)), hubs, feet[hubs, vertices])


def find_vertices_to_label(
    feet: FloatArray, hub: int, own_hubs: list[int], budget: WorkBudget
) -> IntArray:
    """Return the vertices to which no path through another hub is as short as the one from `hub`.

    Rows of `feet` (n, n) are walks from hubs, inf where other hubs are known to be on the way.
    """
    needing = np.flatnonzero(np.isfinite(feet[hub]))
    for first in range(0, len(own_hubs), COMPARED_TOGETHER):
        others = np.array(own_hubs[first : first + COMPARED_TOGETHER])
        # Whole rows are faster to read than most of them.
        if 4 * len(needing) > len(feet):
            budget.spend(len(others) * len(feet))
            through = (feet[others, hub, None] + feet[others]).min(axis=0)[needing]
        else:
            budget.spend(len(others) * len(needing))
            through = (feet[others, hub, None] + feet[others[:, None], needing]).min(axis=0)
        needing = needing[(feet[hub, needing] < through - SAME_FEET) | (needing == hub)]
    return needing


def rank_hubs(graph: WalkGraph) -> IntArray:
    """Return all vertices, those on most of the shortest paths between a sample first.

    Private ones come last: no path between others leads through them, and each that leaves their
    region leads through others.
    """
    count, is_private = graph.vertex_count, graph.regions != PUBLIC
    among = np.flatnonzero(~is_private)
    at = np.linspace(0, len(among) - 1, min(len(among), SAMPLED_VERTICES)).astype(np.int64)
    sample = among[np.unique(at)]
    feet = graph.distances(sample)
    on_path = np.zeros(count, dtype=np.int64)
    for start in range(len(sample)):
        between = feet[start] + feet
        on_path += (between <= feet[start, sample, None] + SAME_FEET).sum(axis=0)
    return np.lexsort((-on_path, is_private))


class VertexWalks:
    """Walks to some vertices, by labels."""

    def __init__(self, labels: Labels, vertices: IntArray) -> None:
        self._labels = labels
        begin, end = labels.starts[:-1][vertices], labels.starts[1:][vertices]
        counts, entries = expand_ranges(begin, end)
        self._starts = counts.searchsorted(np.arange(len(vertices) + 1))
        self._hubs, self._feet = labels.hubs[entries], labels.feet[entries]

    def measure(self, vertices: IntArray, feet: FloatArray) -> FloatArray:
        """Return the shortest walks that begin with `feet` to one of `vertices`."""
        labels = self._labels
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
