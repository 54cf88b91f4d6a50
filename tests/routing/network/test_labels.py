"""Labels have the distances of a graph: compared with the distances themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from routing.costing import TravelMode
from routing.network import labels as module
from routing.network.labels import Labels, build_labels
from routing.network.walk_graph import Edges, WalkGraph
from tests.routing.buildings import process_demo

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
