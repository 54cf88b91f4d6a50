"""The graph of straight walks between vertices, and shortest paths in it.

The only module that uses igraph. The graph is undirected and weighted in feet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import igraph  # type: ignore[import-untyped]
import numpy as np

from routing.arrays import BoolArray, FloatArray, IntArray
from routing.network.corners import Corners
from routing.network.mesh import PUBLIC, Mesh
from routing.network.views import Views

MAX_BLOCK_ROWS = 32
"""Rows of distances that are computed together; igraph returns them as Python numbers."""
SAME_RATIO = 1e-12
"""Walks whose lengths differ by this share are equally long; rounding makes larger differences."""


@dataclass(frozen=True)
class Edges:
    """Pairs of vertices in sight of each other: indexes `first` and `second`, `feet`; each (n,)."""

    first: IntArray
    second: IntArray
    feet: FloatArray

    def __len__(self) -> int:
        return len(self.first)

    def take(self, chosen: IntArray | BoolArray) -> Edges:
        return Edges(self.first[chosen], self.second[chosen], self.feet[chosen])


def join_edges(parts: Sequence[Edges]) -> Edges:
    """Return all edges of some parts, in their order."""
    columns = ([getattr(part, name) for part in parts] for name in ("first", "second", "feet"))
    return Edges(*map(np.concatenate, columns))


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
