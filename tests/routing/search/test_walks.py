"""Walks on one level are the shortest there are, added up over hubs or searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from bench.geodesic import geodesic_feet
from routing.costing import TravelMode
from routing.network import network as networks
from routing.network.network import LevelNetwork, Network
from routing.plan import Plan
from routing.processing import process_plan
from routing.search.router import Position, Router
from routing.search.stops import Stop, WaypointRef, find_stop
from routing.search.walks import measure_walks
from tests.routing.ascii_plans import process_drawing
from tests.routing.random_plans import plans, spots

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


def stops_at(network: Network, *waypoints: WaypointRef) -> list[Stop]:
    return [find_stop(network, waypoint) for waypoint in waypoints]


def geodesics(level: LevelNetwork, stops: Sequence[Stop]) -> NDArray[np.float64]:
    return geodesic_feet(level.walkable_area, [(stop.near_x, stop.near_y) for stop in stops])


def without_hubs(network: Network) -> LevelNetwork:
    return replace(network.levels[0], hub_feet=None)


@pytest.mark.parametrize("level", [PIECES.levels[0], without_hubs(PIECES)], ids=["hubs", "search"])
def test_walks_on_a_floor_of_several_pieces_are_exact(level: LevelNetwork) -> None:
    corner = Position("0", *level.xy[0])
    portal = Position("0", *level.xy[level.portal_vertices[0]])
    inside = [Position("0", 22, 6), Position("0", 54, 9), Position("0", 33, 29)]
    stops = stops_at(PIECES, *IDS, *inside, corner, portal)
    walks = measure_walks(level, stops, stops)
    exact = geodesics(level, stops)
    assert np.isinf(exact).any() and np.isinf(walks.feet).any()
    np.testing.assert_allclose(walks.feet, exact, atol=1e-6)
    portals = stops_at(PIECES, *(Position("0", *xy) for xy in level.xy[level.portal_vertices]))
    to_portals = geodesics(level, [*stops, *portals])[: len(stops), len(stops) :]
    np.testing.assert_allclose(walks.portal_feet, np.vstack((to_portals, to_portals)), atol=1e-6)


@pytest.mark.slow
@given(plans(max_levels=1), st.sampled_from(TravelMode), st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_walks_between_places_of_a_random_plan_are_exact(
    plan: Plan, mode: TravelMode, data: st.DataObject
) -> None:
    network = process_plan(plan).networks[mode]
    spaces = st.sampled_from(plan.spaces)
    spot = spaces.flatmap(lambda space: spots(space.polygon)).map(lambda at: Position("0", *at))
    waypoint = st.sampled_from([location.id for location in plan.locations]) | spot
    starts = stops_at(network, *data.draw(st.lists(waypoint, min_size=1, max_size=5)))
    ends = stops_at(network, *data.draw(st.lists(waypoint, max_size=5)))
    exact = geodesics(network.levels[0], [*starts, *ends])[: len(starts), len(starts) :]
    for level in (network.levels[0], without_hubs(network)):
        walks = measure_walks(level, starts, ends)
        assert walks.feet.shape == (len(starts), len(ends))
        assert walks.portal_feet.shape == (len(starts) + len(ends), len(level.portal_indexes))
        np.testing.assert_allclose(walks.feet, exact.reshape(walks.feet.shape), atol=1e-5)


@pytest.mark.parametrize("level", [PIECES.levels[0], without_hubs(PIECES)], ids=["hubs", "search"])
def test_walks_are_as_long_in_both_directions(level: LevelNetwork) -> None:
    few, many = stops_at(PIECES, "A", "E"), stops_at(PIECES, *IDS, Position("0", 22, 6))
    there, back = measure_walks(level, few, many), measure_walks(level, many, few)
    np.testing.assert_array_equal(there.feet, back.feet.T)
    np.testing.assert_array_equal(there.portal_feet[:2], back.portal_feet[-2:])


def test_the_way_from_a_stop_to_the_floor_is_not_included() -> None:
    outside, beside = stops_at(PIECES, Position("0", 10, 3), Position("0", 10, 5))
    assert outside.offset_feet == pytest.approx(1.05)
    assert measure_walks(PIECES.levels[0], [outside], [beside]).feet == pytest.approx(0.95)


def test_a_stop_is_no_distance_from_itself() -> None:
    (at,) = stops_at(PIECES, "A")
    assert measure_walks(PIECES.levels[0], [at, at], [at]).feet.tolist() == [[0], [0]]


@pytest.mark.parametrize(("drawing", "feet"), [("A,,B", 12.0), ("A,#B,", np.inf)])
def test_rooms_without_a_hub_are_walked_in_a_straight_line(drawing: str, feet: float) -> None:
    network = process_drawing(drawing).networks[TravelMode.FOOT]
    level = network.levels[0]
    assert level.hub_feet is not None and level.hub_feet.shape == (0, 0)
    beside = Position("0", 3, 2)
    walks = measure_walks(level, stops_at(network, "A", beside), stops_at(network, "B"))
    assert walks.feet[:, 0].tolist() == [feet, feet - 1]
    assert walks.portal_feet.shape == (3, 0)


def test_a_level_with_too_many_hubs_is_searched_and_has_the_same_distances(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = process_drawing("A..+,,e", "B..+,,e").plan
    monkeypatch.setattr(networks, "MAX_HUBS", -1)
    searched = Router(process_plan(plan).networks)
    assert searched.networks[TravelMode.FOOT].levels[0].hub_feet is None
    monkeypatch.undo()
    added = Router(process_plan(plan).networks)
    ends = [*"AB", Position("0", 22, 2)]
    found, known = searched.matrix(ends, ends), added.matrix(ends, ends)
    np.testing.assert_allclose(found.feet, known.feet, rtol=1e-12)
