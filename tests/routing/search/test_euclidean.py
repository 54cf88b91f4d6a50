"""Straight-line distances ignore walls and storeys."""

import numpy as np
import pytest

from routing.search.euclidean import euclidean_distances


def test_distances_are_lengths_on_the_plan_and_times_to_walk_as_far() -> None:
    feet, seconds = euclidean_distances([(0, 0), (3, 4)], [(3, 4)], feet_per_second=2.5)
    assert feet.tolist() == [[5.0], [0.0]]
    assert seconds == pytest.approx(np.array([[2.0], [0.0]]))


def test_an_empty_side_makes_an_empty_matrix() -> None:
    assert euclidean_distances([], [(1, 1), (2, 2)], 1.0).feet.shape == (0, 2)
