"""Matrices hold the fastest routes: a row for each source, a column for each target."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from routing.costing import TravelMode
from routing.network.network import Network
from routing.processing import process_plan
from routing.search import matrix as module
from routing.search.matrix import compute_matrix
from routing.search.route import find_route
from routing.search.waypoints import Position, WaypointRef
from tests.routing.ascii_plans import draw_plan, process_drawing

TOWER = process_drawing("A,,e#C,", "Bs,e#m,", "Ds,##m,")
FOOT, WHEELCHAIR = (TOWER.networks[mode] for mode in TravelMode)
SPEED = FOOT.feet_per_second


@pytest.mark.parametrize("network", [FOOT, WHEELCHAIR], ids=list(TravelMode))
def test_feet_are_those_of_the_fastest_route(network: Network) -> None:
    ids = [*"ABCD", Position("1", 10, 2)]
    feet, seconds = compute_matrix(network, ids, ids)
    for row, source in enumerate(ids):
        for column, target in enumerate(ids):
            route = find_route(network, source, target)
            expected = (route.feet, route.seconds) if route else (np.nan, np.nan)
            found = feet[row, column], seconds[row, column]
            assert found == pytest.approx(expected, nan_ok=True)


def test_a_route_that_is_faster_but_longer_has_its_own_feet() -> None:
    """By stairs it is 52 ft in 20 s, by lift 16 ft in 38 s."""
    network = process_drawing("A,e,s", "B,e,s").networks[TravelMode.FOOT]
    feet, seconds = compute_matrix(network, ["A"], ["B"])
    assert feet[0, 0] == pytest.approx(16 + 20 + 16)
    assert seconds[0, 0] == pytest.approx((32 + 3 * 20) / SPEED)


def test_a_walk_that_is_faster_but_longer_than_two_rides_has_its_own_feet() -> None:
    """Around the wall it is 360 ft in 78 s, by the lifts at its other end 72 ft in 86 s."""
    legs = [",,#,,"] * 44
    storey = "\n".join([",e#e,", *legs[:7], "A,#,B", *legs, ",,,,,"])
    network = process_drawing(storey, ",e,e,").networks[TravelMode.FOOT]
    feet, seconds = compute_matrix(network, ["A"], ["B"])
    assert 350 < feet[0, 0] < 370
    assert seconds[0, 0] == pytest.approx(feet[0, 0] / SPEED)


def test_a_row_is_a_source_and_a_column_a_target() -> None:
    waypoints: list[WaypointRef] = ["A", "B", Position("0", 6, 2)]
    feet, seconds = compute_matrix(FOOT, waypoints, waypoints[:2])
    assert feet.shape == seconds.shape == (3, 2)
    assert feet[2, 0] == pytest.approx(4)  # along the corridor
    assert feet[0, 1] == pytest.approx(12 + 12)  # by the lift, a ride of no feet


@pytest.mark.parametrize(("rows", "columns"), [(0, 0), (0, 3), (3, 0)])
def test_a_side_without_waypoints_makes_an_empty_matrix(rows: int, columns: int) -> None:
    waypoints: list[WaypointRef] = ["A", "B", Position("0", 6, 2)]
    feet, seconds = compute_matrix(FOOT, waypoints[:rows], waypoints[:columns])
    assert feet.shape == seconds.shape == (rows, columns)


def test_a_waypoint_that_is_named_twice_has_two_equal_rows_and_columns() -> None:
    waypoints: list[WaypointRef] = ["A", "B", "A", Position("0", 6, 2), Position("0", 6, 2)]
    for cells in compute_matrix(FOOT, waypoints, waypoints):
        np.testing.assert_array_equal(cells[0], cells[2])
        np.testing.assert_array_equal(cells[3], cells[4])
        np.testing.assert_array_equal(cells[:, 0], cells[:, 2])
        assert np.diagonal(cells).tolist() == [0] * 5
        assert cells[0, 2] == cells[3, 4] == 0


def test_places_without_a_path_have_neither_feet_nor_seconds() -> None:
    nowhere = [Position("0", 99, 99), Position("9", 2, 2)]
    for cells in compute_matrix(FOOT, ["A", *nowhere], ["B", "C", *nowhere]):
        assert np.isnan(cells).tolist() == [[False, True, True, True], *[[True] * 4] * 2]


def test_a_place_off_the_floor_is_no_distance_from_itself_only() -> None:
    outside, beside = Position("0", 2, -3), Position("0", 2, -2)
    feet = compute_matrix(FOOT, [outside], [outside, beside, "A"]).feet
    assert feet[0].tolist() == pytest.approx([0, 3 + 2, 3 + 2])


def test_a_position_at_a_location_is_no_distance_from_it() -> None:
    feet, seconds = compute_matrix(FOOT, [Position("0", 2, 2)], ["A"])
    assert feet[0, 0] == seconds[0, 0] == 0


@pytest.mark.parametrize(
    ("storeys", "foot", "wheelchair"),
    [
        (("A,s", "B,s"), True, False),
        (("A.n,B",), True, False),
        (("A.x,B",), False, False),
        (("A,e#s,B", ",,e,s,,"), True, False),  # two parts of one level, joined by way of another
        (("A,e#e,B", ",,e,e,,"), True, True),
    ],
)
def test_each_mode_has_the_paths_that_it_can_take(
    storeys: tuple[str, ...], foot: bool, wheelchair: bool
) -> None:
    networks = process_drawing(*storeys).networks
    found = [compute_matrix(networks[mode], ["A"], ["B"]) for mode in TravelMode]
    assert [bool(np.isfinite(matrix.feet[0, 0])) for matrix in found] == [foot, wheelchair]
    assert [bool(np.isfinite(matrix.seconds[0, 0])) for matrix in found] == [foot, wheelchair]


def test_the_way_back_may_have_other_feet() -> None:
    """Up by an escalator, down by the stairs behind it."""
    network = process_drawing("A,m,s", "B,m,s").networks[TravelMode.FOOT]
    feet = compute_matrix(network, ["A", "B"], ["A", "B"]).feet
    assert feet.tolist() == [[0, pytest.approx(8 + 20 + 8)], [pytest.approx(16 + 20 + 16), 0]]


def test_sums_over_portals_are_taken_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    waypoints = [*"ABCD", Position("1", 10, 2)]
    whole = compute_matrix(FOOT, waypoints, waypoints)
    monkeypatch.setattr(module, "MAX_BLOCK_CELLS", 1)
    for cells, expected in zip(compute_matrix(FOOT, waypoints, waypoints), whole, strict=True):
        np.testing.assert_array_equal(cells, expected)


def test_the_offset_of_a_location_counts_at_both_ends() -> None:
    plan = draw_plan("A,,e", ",,,e")
    above = replace(plan.locations[0], id="above", level_id="1", y=-3.0)
    network = process_plan(replace(plan, locations=(*plan.locations, above))).networks[
        TravelMode.FOOT
    ]
    there = 12 + 3 + np.hypot(12, 2)
    feet = compute_matrix(network, ["A", "above"], ["above", "A"]).feet
    assert np.diagonal(feet).tolist() == pytest.approx([there, there])
