"""Distances equal the exact geodesic of the walkable space, on drawn, random and real plans."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.accuracy import Comparison, compare_levels
from bench.geodesic import geodesic_feet
from routing.costing import TravelMode
from routing.network.network import Network
from routing.network.regions import build_regions, edges_from_stops, edges_within_regions
from routing.network.walk_graph import WalkGraph
from tests.routing.buildings import process_caserne, process_demo
from tests.routing.world import process_drawing

pytestmark = pytest.mark.slow

EXACT = 1e-9
MEAN, P95, NEAREST = 0.002, 0.01, 0.99
"""For levels that are seen piece by piece; NEAREST for all, as places may be equally near."""

Floats = NDArray[np.float64]


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


def test_the_coarse_graph_of_huge_levels_is_nearly_exact() -> None:
    processed = process_demo()
    for index, built in enumerate(processed.walkable_levels[:2]):
        network = processed.networks[TravelMode.FOOT].levels[index]
        regions, own = build_regions(
            built.floor, built.openings, network.walkable_area, max_corners=0
        )
        places = network.xy[network.portal_vertices[-1] + 1 :]
        ids = np.arange(len(own), len(own) + len(places))
        edges = edges_within_regions(regions, own) + edges_from_stops(regions, own, places, ids)
        found = WalkGraph(len(own) + len(places), edges).distances(ids, ids)
        exact = geodesic_feet(network.walkable_area, [tuple(at) for at in places.tolist()])
        compared = Comparison(found, exact)
        assert (np.isfinite(found) == np.isfinite(exact)).all()
        assert (found >= exact - 1e-3).all()
        assert compared.errors.mean() <= MEAN
        assert np.percentile(compared.errors, 95) <= P95


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
