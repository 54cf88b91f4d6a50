"""Shortest walks in a graph, and labels of its hubs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from routing.costing import TravelMode
from routing.network import walk_graph
from routing.network import walk_graph as module
from routing.network.mesh import find_corners, triangulate
from routing.network.views import spread_views, tangent_sectors
from routing.network.walk_graph import (
    Edges,
    Labels,
    WalkGraph,
    build_edges,
    build_labels,
    drop_compound_edges,
    label_components,
)
from tests.routing.buildings import process_demo
from tests.routing.hard_areas import build_area, teeth

EDGES = Edges(np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([3.0, 4.0, 9.0]))
GRAPH = WalkGraph(4, EDGES)


def pairs(edges: Edges) -> set[tuple[int, int]]:
    return set(zip(edges.first.tolist(), edges.second.tolist(), strict=True))


def test_distances_are_those_of_the_shortest_walks_in_either_direction() -> None:
    feet = GRAPH.distances(np.arange(4))
    assert feet[0].tolist() == [0, 3, 7, np.inf]
    np.testing.assert_array_equal(feet, feet.T)


def test_many_rows_are_computed_in_blocks() -> None:
    sources = np.resize(np.arange(4), walk_graph.MAX_BLOCK_ROWS + 3)
    np.testing.assert_array_equal(GRAPH.distances(sources)[-1], GRAPH.distances(sources[-1:])[0])


def test_the_shortest_walk_has_all_its_vertices() -> None:
    assert GRAPH.shortest_path(0, 2) == [0, 1, 2]


def test_a_part_of_a_graph_has_the_edges_between_its_vertices() -> None:
    part = GRAPH.restrict(np.array([0, 2, 3]))
    assert part.vertex_count == 3
    assert pairs(part.edges) == {(1, 0)}
    assert part.edges.feet.tolist() == [9]


def line_of(*x: float) -> tuple[NDArray[np.float64], Edges]:
    """Points on a line, each of which sees all others."""
    xy = np.array([(at, 0.0) for at in x])
    first, second = np.triu_indices(len(x), k=1)
    return xy, Edges(first, second, np.abs(xy[second, 0] - xy[first, 0]))


def test_an_edge_through_another_vertex_is_dropped() -> None:
    assert pairs(drop_compound_edges(*line_of(0, 3, 10, 12))) == {(0, 1), (1, 2), (2, 3)}


def test_an_edge_is_kept_if_the_way_through_the_vertex_is_a_hair_longer() -> None:
    xy, edges = line_of(0, 3, 10)
    longer = Edges(edges.first, edges.second, edges.feet + np.array([0, 0, 1e-9]))
    assert len(drop_compound_edges(xy, longer)) == 3


def test_vertices_at_one_place_do_not_replace_each_other() -> None:
    """Each of two edges to them would be made of the other and the edge of no length."""
    xy, edges = line_of(0, 10, 10)
    assert pairs(drop_compound_edges(xy, edges)) == {(0, 1), (0, 2), (1, 2)}


def test_without_compound_edges_the_distances_are_the_same() -> None:
    area = build_area(teeth, 0, 17.3, 0)
    corners, mesh = find_corners(area), triangulate(area)
    views = spread_views(mesh, corners.xy, tangent_sectors(corners))
    graph = WalkGraph(len(corners), build_edges(mesh, views, corners))
    sights = views.sights(views.xy, mesh.locate_cells(views.xy))
    points = np.repeat(np.arange(len(corners)), np.diff(sights.starts))
    other = points != sights.vertices
    everything = Edges(points[other], sights.vertices[other], sights.feet[other])
    assert len(graph.edges) < len(everything) / 4
    ids = np.arange(len(corners))
    np.testing.assert_allclose(
        graph.distances(ids), WalkGraph(len(ids), everything).distances(ids), rtol=1e-11
    )


def test_components_are_numbered() -> None:
    labels = label_components(4, np.array([[0, 1], [1, 2]]))
    assert labels[0] == labels[1] == labels[2] != labels[3]


Floats = NDArray[np.float64]


def distances_by(labels: Labels) -> Floats:
    """The least sum of two walks to the same hub, for each pair of vertices."""
    count = len(labels)
    to_hubs = np.full((count, count), np.inf)
    vertices = np.repeat(np.arange(count), np.diff(labels.starts))
    to_hubs[vertices, labels.hubs] = labels.feet
    return np.asarray((to_hubs[:, None] + to_hubs[None]).min(axis=2))


@given(st.integers(1, 12), st.data())
def test_labels_have_all_distances_of_a_graph(count: int, data: st.DataObject) -> None:
    vertex = st.integers(0, count - 1)
    drawn = data.draw(st.lists(st.tuples(vertex, vertex, st.integers(1, 50)), max_size=3 * count))
    first, second, feet = np.array(drawn, dtype=np.int64).reshape(-1, 3).T
    graph = WalkGraph(count, Edges(first, second, feet.astype(np.float64)))
    distances = graph.distances(np.arange(count))
    np.testing.assert_array_equal(distances_by(build_labels(graph)), distances)


@pytest.mark.parametrize("first_batch", [module.FIRST_BATCH, 1])
def test_labels_of_a_building_are_few(first_batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_BATCH", first_batch)
    levels = process_demo().networks[TravelMode.FOOT].levels
    graph = levels.graph_of(np.asarray(levels.vertices(0)))
    distances = graph.distances(np.arange(graph.vertex_count))
    labels = build_labels(graph)
    np.testing.assert_allclose(distances_by(labels), distances, rtol=1e-9)
    assert len(labels.hubs) < np.isfinite(distances).sum() / 4


@pytest.mark.parametrize("count", [0, 3])
def test_each_vertex_is_a_hub_of_its_own(count: int) -> None:
    none = np.empty(0, dtype=np.int64)
    labels = build_labels(WalkGraph(count, Edges(none, none, np.empty(0))))
    assert labels.hubs.tolist() == [*range(count)]
    assert labels.feet.tolist() == [0] * count
