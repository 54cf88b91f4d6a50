"""Shortest walks on one level by Dijkstra's algorithm; the only module that uses igraph.

The graph is undirected and weighted in feet, so a search can start from the side with fewer
vertices. igraph rebuilds its arrays on each call, so calls are kept few and large.
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
    """Neighbours of each vertex, in compressed form: both directions, sorted by vertex."""

    def __init__(self, edges: Edges) -> None:
        vertices = np.concatenate((edges.first, edges.second))
        neighbours = np.concatenate((edges.second, edges.first))
        # The last key of lexsort is the first to sort by: by vertex, and its neighbours in order.
        order = np.lexsort((neighbours, vertices))
        self.vertices, self.neighbours = vertices[order], neighbours[order]
        self.feet = np.tile(edges.feet, 2)[order]

    def neighbours_of(self, vertex: int) -> tuple[IntArray, FloatArray]:
        """Return the neighbours of a vertex in ascending order, and their distances."""
        part = slice(*self.vertices.searchsorted((vertex, vertex + 1)).tolist())
        return self.neighbours[part], self.feet[part]

    def neighbours_of_all(self, vertices: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return three arrays: an index into `vertices`, one of its neighbours, their distance."""
        begin, end = self.vertices.searchsorted(vertices), self.vertices.searchsorted(vertices + 1)
        counts = end - begin
        vertex_indexes = np.repeat(np.arange(len(vertices)), counts)
        # Concatenate the ranges begin[i]..end[i] without a Python loop.
        shifts = np.repeat(begin - (np.cumsum(counts) - counts), counts)
        edges = np.arange(len(vertex_indexes)) + shifts
        return vertex_indexes, self.neighbours[edges], self.feet[edges]


class WalkGraph:
    """An undirected graph of `count` vertices; its edges are straight walks.

    Raises ValueError for an edge that leads to no vertex, or has a negative length or NaN.

    >>> edges = Edges(np.array([0, 1]), np.array([1, 2]), np.array([3.0, 4.0]))
    >>> WalkGraph(3, [edges]).distances(np.array([2]), np.array([0, 1])).tolist()
    [[7.0, 4.0]]
    """

    def __init__(self, count: int, edges: Iterable[Edges]) -> None:
        self.edges = concatenate_edges(edges)
        pairs = np.stack((self.edges.first, self.edges.second), axis=1)
        # igraph would add the missing vertices, and report a length only when it is searched.
        if ((pairs < 0) | (pairs >= count)).any():
            raise ValueError(f"an edge leads to a vertex that is not among the {count}")
        if len(self.edges.feet) != len(pairs) or not (self.edges.feet >= 0).all():
            raise ValueError("every edge needs a length of 0 or more")
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
        """Return a copy with `count` more vertices and these edges."""
        return WalkGraph(self.vertex_count + count, [self.edges, *edges])

    def distances(self, sources: IntArray, targets: IntArray) -> FloatArray:
        """Return feet of the shortest walk from sources (rows) to targets (columns), or inf."""
        if not len(sources) or not len(targets):
            return np.empty((len(sources), len(targets)))
        # igraph rejects repeated targets.
        rows, row_of = np.unique(sources, return_inverse=True)
        columns, column_of = np.unique(targets, return_inverse=True)
        if len(rows) <= len(columns):
            feet = self.search_distances(rows, columns)
        else:
            feet = self.search_distances(columns, rows).T
        return feet[row_of[:, None], column_of[None, :]]

    def search_distances(self, sources: IntArray, targets: IntArray) -> FloatArray:
        """Return `distances` for vertices without repetition, by one search per source."""
        feet = self.graph.distances(
            sources.tolist(), targets.tolist(), weights="feet", algorithm="dijkstra"
        )
        return np.array(feet, dtype=np.float64).reshape(len(sources), len(targets))

    def shortest_path(self, source: int, target: int) -> list[int]:
        """Return the vertices of the shortest walk; there must be one."""
        path = self.graph.get_shortest_path(source, target, weights="feet", algorithm="dijkstra")
        return [int(vertex) for vertex in path]


def concatenate_edges(edges: Iterable[Edges]) -> Edges:
    """Return all edges in one object."""
    parts = list(edges)
    empty = np.empty(0, dtype=np.int64)
    first = np.concatenate([empty, *(part.first for part in parts)])
    second = np.concatenate([empty, *(part.second for part in parts)])
    feet = np.concatenate([np.empty(0), *(part.feet for part in parts)])
    return Edges(first, second, feet)


def label_components(count: int, pairs: IntArray) -> IntArray:
    """Return the component number of each of `count` vertices joined by `pairs` (n, 2)."""
    graph = igraph.Graph(count, pairs)
    return np.array(graph.connected_components().membership, dtype=np.int64)
