"""Shortest walks in a small graph: 0 -3- 1 -4- 2, 0 -9- 2, and 3 alone."""

import numpy as np
import pytest

from routing.network.visibility import Edges
from routing.network.walk_graph import Adjacency, WalkGraph, label_components

EDGES = Edges(np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([3.0, 4.0, 9.0]))
GRAPH = WalkGraph(4, [EDGES])


def test_distances_are_those_of_the_shortest_walks_in_either_direction() -> None:
    feet = GRAPH.distances(np.array([0, 3]), np.array([2, 2, 1, 3]))
    assert feet.tolist() == [[7, 7, 3, np.inf], [np.inf, np.inf, np.inf, 0]]
    np.testing.assert_array_equal(feet.T, GRAPH.distances(np.array([2, 2, 1, 3]), np.array([0, 3])))


def test_no_sources_make_an_empty_matrix() -> None:
    none = np.array([], dtype=np.int64)
    assert GRAPH.distances(none, np.array([1, 2])).shape == (0, 2)


def test_the_shortest_walk_has_all_its_vertices() -> None:
    assert GRAPH.shortest_path(0, 2) == [0, 1, 2]


def test_vertices_are_added_to_a_copy() -> None:
    link = Edges(np.array([3]), np.array([4]), np.array([1.0]))
    more = GRAPH.with_vertices(1, [link])
    assert (more.vertex_count, more.edge_count) == (5, 4)
    assert (GRAPH.vertex_count, GRAPH.edge_count) == (4, 3)
    assert more.distances(np.array([4]), np.array([3]))[0, 0] == 1


@pytest.mark.parametrize(
    ("first", "second", "feet"),
    [
        (0, 4, 1.0),
        (-1, 0, 1.0),
        (0, 1, -1.0),
        (0, 1, np.nan),
    ],
)
def test_an_edge_needs_two_vertices_and_a_length(first: int, second: int, feet: float) -> None:
    with pytest.raises(ValueError, match="edge"):
        WalkGraph(4, [Edges(np.array([first]), np.array([second]), np.array([feet]))])


def test_neighbours_come_in_order_with_their_distances() -> None:
    adjacency = Adjacency(EDGES)
    neighbours, feet = adjacency.neighbours_of(2)
    assert (neighbours.tolist(), feet.tolist()) == ([0, 1], [9, 4])
    indexes, neighbours, feet = adjacency.neighbours_of_all(np.array([1, 3, 2]))
    assert indexes.tolist() == [0, 0, 2, 2]
    assert (neighbours.tolist(), feet.tolist()) == ([0, 2, 0, 1], [3, 4, 9, 4])


def test_components_are_numbered() -> None:
    labels = label_components(4, np.array([[0, 1], [1, 2]]))
    assert labels[0] == labels[1] == labels[2] != labels[3]
