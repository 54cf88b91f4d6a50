"""Shortest walks on one level, found by igraph: the one module that knows it.

Walking costs feet alone, alike in both directions, so that any search may start from the side
with fewer ends. igraph sets up its arrays again for each call: calls here are few and large.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import igraph  # type: ignore[import-untyped]
import numpy as np

from routing.arrays import FloatArray, IntArray
from routing.network.visibility import Edges


class Adjacency:
    """What each vertex is joined to by some edges, alike in both directions."""

    def __init__(self, edges: Edges) -> None:
        ones = np.concatenate((edges.first, edges.second))
        others = np.concatenate((edges.second, edges.first))
        order = np.lexsort((others, ones))
        self.vertices, self.neighbours = ones[order], others[order]
        self.feet = np.tile(edges.feet, 2)[order]

    def neighbours_of(self, vertex: int) -> tuple[IntArray, FloatArray]:
        """The vertices joined to this one, in their order, and how far they are."""
        part = slice(*self.vertices.searchsorted((vertex, vertex + 1)).tolist())
        return self.neighbours[part], self.feet[part]

    def neighbours_of_all(self, vertices: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """As `of` for all `vertices` in turn, with which of them each is joined to."""
        begin, end = self.vertices.searchsorted(vertices), self.vertices.searchsorted(vertices + 1)
        counts = end - begin
        of = np.repeat(np.arange(len(vertices)), counts)
        at = np.arange(len(of)) + np.repeat(begin - (np.cumsum(counts) - counts), counts)
        return of, self.neighbours[at], self.feet[at]


class WalkGraph:
    """An undirected graph of `count` vertices whose edges are walked in straight lines."""

    def __init__(self, count: int, edges: Iterable[Edges]) -> None:
        self.edges = concatenate_edges(edges)
        pairs = np.stack((self.edges.first, self.edges.second), axis=1)
        self.graph: Any = igraph.Graph(count, pairs)
        self.graph.es["feet"] = self.edges.feet.tolist()

    @property
    def vertex_count(self) -> int:
        return int(self.graph.vcount())

    @property
    def edge_count(self) -> int:
        return len(self.edges.feet)

    @cached_property
    def adjacency(self) -> Adjacency:
        return Adjacency(self.edges)

    def with_vertices(self, count: int, edges: Iterable[Edges]) -> WalkGraph:
        """A copy with `count` more vertices and the given edges."""
        return WalkGraph(self.vertex_count + count, [self.edges, *edges])

    def distances(self, sources: IntArray, targets: IntArray) -> FloatArray:
        """Feet of the shortest walk from each source to each target; inf where there is none."""
        if not len(sources) or not len(targets):
            return np.empty((len(sources), len(targets)))
        rows, row_of = np.unique(sources, return_inverse=True)
        columns, column_of = np.unique(targets, return_inverse=True)
        if len(rows) <= len(columns):
            feet = self.search_distances(rows, columns)
        else:
            feet = self.search_distances(columns, rows).T
        return feet[row_of[:, None], column_of[None, :]]

    def search_distances(self, sources: IntArray, targets: IntArray) -> FloatArray:
        """As `distances`, for vertices that are each given once: one search a source."""
        found = self.graph.distances(
            sources.tolist(), targets.tolist(), weights="feet", algorithm="dijkstra"
        )
        return np.array(found, dtype=np.float64).reshape(len(sources), len(targets))

    def shortest_path(self, source: int, target: int) -> list[int]:
        """The vertices of the shortest walk; there must be one."""
        found = self.graph.get_shortest_path(source, target, weights="feet", algorithm="dijkstra")
        return [int(vertex) for vertex in found]


def concatenate_edges(edges: Iterable[Edges]) -> Edges:
    """All of them in one."""
    parts = list(edges)
    none = np.empty(0, dtype=np.int64)
    first = np.concatenate([none, *(part.first for part in parts)])
    second = np.concatenate([none, *(part.second for part in parts)])
    feet = np.concatenate([np.empty(0), *(part.feet for part in parts)])
    return Edges(first, second, feet)


def label_components(count: int, pairs: IntArray) -> IntArray:
    """For each of `count` vertices its component in the graph of the given pairs (n, 2)."""
    graph = igraph.Graph(count, pairs)
    return np.array(graph.connected_components().membership, dtype=np.int64)
