"""Walks on one level are the shortest there are, added up over labels."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from routing.costing import TravelMode
from routing.network.levels import Levels
from routing.network.network import Network, Stops
from routing.search import walks as walks_module
from routing.search.matrix import WaypointRef, find_stops
from routing.search.router import Position
from routing.search.walks import measure_portal_walks, measure_walks, place_stops, trace_walk
from tests.routing.ascii_plans import process_drawing
from tests.routing.geodesic import geodesic_feet

PIECES = process_drawing(
    """
    ###############
    #A....#..#B...#
    #.###.#..n..#.#
    ###+####+###+##
    #,,,,,,,,,,e,C#
    ###############
    #D.##.#E,,#e,,#
    #..+..#,#,#,#,#
    ###############
    """
).networks[TravelMode.FOOT]
"""Four pieces of floor: one with all doors, a room of two, and two corridors."""
IDS = [*"ABCDE"]


def stops_at(network: Network, *waypoints: WaypointRef) -> Stops:
    return find_stops(network, waypoints)


def geodesics(levels: Levels, stops: Stops) -> NDArray[np.float64]:
    return geodesic_feet(levels.walkable_area(int(stops.levels[0])), stops.near.tolist())


def test_walks_on_a_floor_of_several_pieces_are_exact() -> None:
    levels = PIECES.levels
    corner = Position("0", *levels.xy[0])
    portals = [Position("0", *xy) for xy in levels.xy[levels.portal_vertices(0)]]
    inside = [Position("0", 22, 6), Position("0", 54, 9), Position("0", 33, 30)]
    stops = stops_at(PIECES, *IDS, *inside, corner, *portals)
    placed = place_stops(levels, stops)
    walks = measure_walks(levels, placed, placed) - stops.offset_feet[:, None] - stops.offset_feet
    exact = geodesics(levels, stops)
    assert np.isinf(exact).any() and np.isinf(walks).any()
    np.testing.assert_allclose(walks, exact, atol=1e-6)
    to_portals = measure_portal_walks(levels, placed) - stops.offset_feet[:, None]
    np.testing.assert_allclose(to_portals, exact[:, -len(portals) :], atol=1e-6)


def test_the_line_of_a_walk_is_as_long_as_the_walk() -> None:
    levels = PIECES.levels
    stops = stops_at(PIECES, "A", "B", "C", Position("0", 54, 9))
    placed = [place_stops(levels, stops.take(np.array([index]))) for index in range(len(stops))]
    for one in placed:
        for other in placed:
            walk = measure_walks(levels, one, other)[0, 0]
            if np.isinf(walk):
                continue
            points = trace_walk(levels, one, other)
            np.testing.assert_array_equal(points[[0, -1]], np.concatenate((one.xy, other.xy)))
            length = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
            assert length == pytest.approx(walk, abs=1e-9)


@pytest.mark.parametrize("max_pairs", [0, 10_000])
def test_straight_walks_are_found_by_views_or_by_testing_lines(
    max_pairs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walks_module, "MAX_TESTED_PAIRS", max_pairs)
    levels, stops = PIECES.levels, stops_at(PIECES, *IDS, Position("0", 22, 6))
    placed = place_stops(levels, stops)
    np.testing.assert_allclose(
        measure_walks(levels, placed, placed), geodesics(levels, stops), atol=1e-6
    )


def test_the_way_from_a_stop_to_the_floor_is_included() -> None:
    levels = PIECES.levels
    outside, beside = (
        place_stops(levels, stops_at(PIECES, Position("0", *at))) for at in ((10, 3), (10, 5))
    )
    assert outside.offset_feet == pytest.approx([1.05])
    assert measure_walks(levels, outside, beside) == pytest.approx(2)


@pytest.mark.parametrize(("drawing", "feet"), [("A,,B", 12.0), ("A,#B,", np.inf)])
def test_rooms_without_a_corner_are_walked_in_a_straight_line(drawing: str, feet: float) -> None:
    network = process_drawing(drawing).networks[TravelMode.FOOT]
    levels = network.levels
    assert len(levels.xy) == 0
    starts = place_stops(levels, stops_at(network, "A", Position("0", 3, 2)))
    walks = measure_walks(levels, starts, place_stops(levels, stops_at(network, "B")))
    assert walks[:, 0].tolist() == [feet, feet - 1]
    assert measure_portal_walks(levels, starts).shape == (2, 0)
