"""Distances equal the exact geodesic of the walkable space, on drawn, random and real plans."""

from __future__ import annotations

import numpy as np
import pytest

from bench.accuracy import compare_levels
from routing.costing import TravelMode
from routing.network.network import Network
from tests.routing.ascii_plans import process_drawing
from tests.routing.buildings import process_caserne, process_demo

pytestmark = pytest.mark.slow

EXACT = 1e-9
NEAREST = 0.99
"""Not 1, as places may be equally near."""


def check(network: Network) -> None:
    compared = compare_levels(network)
    errors = np.concatenate([level.errors for level in compared])
    nearest = np.concatenate([level.same_nearest for level in compared])
    assert errors.max() <= EXACT
    assert nearest.mean() >= NEAREST
    for level in compared:
        assert (np.isfinite(level.measured) == np.isfinite(level.exact)).all()


@pytest.mark.parametrize("mode", TravelMode)
def test_the_demo_building_is_measured_exactly(mode: TravelMode) -> None:
    check(process_demo().networks[mode])


@pytest.mark.parametrize("mode", TravelMode)
def test_a_real_shopping_centre_is_measured_exactly(mode: TravelMode) -> None:
    check(process_caserne().networks[mode])


def test_pillars_and_corners_are_walked_around() -> None:
    processed = process_drawing(
        """
        ###############
        #A.....#......#
        #.###..+..##.B#
        #.#C#..#..##..#
        #...#..#......#
        ####+#####+####
        #,,,,,,,,,,,,,#
        #D,##,,,,##,,E#
        ###############
        """
    )
    (level,) = compare_levels(processed.networks[TravelMode.FOOT])
    assert level.errors.max() < 1e-6


def test_distances_are_those_measured_on_the_drawing_by_hand() -> None:
    processed = process_drawing(
        """
        #A#
        #+#
        #,#
        #B#
        """
    )
    assert processed.router.matrix(["A"], ["B"]).feet[0, 0] == pytest.approx(3 * 4.0)
