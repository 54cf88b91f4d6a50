"""Tables have the distances that a search finds."""

import numpy as np
import pytest
from shapely import box

from routing.costing import TravelMode
from routing.plan import Level, Plan, PlanLocation, Space, SpaceKind
from routing.processing import process_plan
from routing.search.distance_table import build_distance_table
from routing.search.matrix import compute_matrix
from tests.routing.ascii_plans import process_drawing
from tests.routing.buildings import process_demo

NETWORK = process_drawing("A,,e#C", "B,,e#,").networks[TravelMode.FOOT]
TABLE = build_distance_table(NETWORK)
ONE_WAY = process_drawing("A,m,,s", "B,m,,s").networks[TravelMode.FOOT]
"""Up by an escalator, and down by the stairs."""


@pytest.mark.parametrize("mode", TravelMode)
def test_a_table_has_what_a_search_finds_to_a_millionth_of_a_foot(mode: TravelMode) -> None:
    for network in (NETWORK, ONE_WAY, process_demo().networks[mode]):
        table, ids = build_distance_table(network), network.location_ids
        found, stored = compute_matrix(network, ids, ids), table.look_up(ids, ids)
        np.testing.assert_allclose(stored.feet, found.feet, atol=1e-6, rtol=0)
        np.testing.assert_allclose(stored.seconds, found.seconds, atol=2e-6, rtol=0)


def test_a_table_has_each_pair_once_if_all_ways_lead_both_ways() -> None:
    assert len(TABLE.steps) == 6
    assert len(build_distance_table(ONE_WAY).steps) == 4
    up, down = build_distance_table(ONE_WAY).look_up(["A", "B"], ["B", "A"]).seconds[[0, 1], [0, 1]]
    assert up < down


def test_distances_are_looked_up_in_the_order_of_the_request() -> None:
    feet, seconds = TABLE.look_up(["B", "A"], ["A", "C", "A"])
    assert feet.shape == seconds.shape == (2, 3)
    assert feet[1, 0] == 0
    assert feet[0, 0] == feet[0, 2] > 0
    assert np.isnan(feet[:, 1]).all() and np.isnan(seconds[:, 1]).all()


def test_a_table_may_have_no_path_at_all() -> None:
    apart = build_distance_table(process_drawing("A,#B,").networks[TravelMode.FOOT])
    assert np.isnan(apart.look_up(["A"], ["B"]).feet[0, 0])
    assert len(build_distance_table(process_drawing(",,").networks[TravelMode.FOOT]).steps) == 0


@pytest.mark.parametrize("length_feet", [800.0, 900.0, 1e5, 1e8])
def test_a_far_location_does_not_make_short_distances_inexact(length_feet: float) -> None:
    places = [1.0, 26.4, 60.123456789, length_feet - 1]
    corridor = Space("c", "0", box(0, 0, length_feet, 10), SpaceKind.CORRIDOR)
    locations = tuple(PlanLocation(str(x), "0", x, 5) for x in places)
    table = process_plan(Plan((Level("0", 0),), (corridor,), locations=locations)).tables
    ids = [location.id for location in locations]
    expected = np.abs(np.subtract.outer(places, places))
    found = table[TravelMode.FOOT].look_up(ids, ids)
    np.testing.assert_allclose(found.feet, expected, rtol=1e-12, atol=1e-7)
