"""Tables have the distances that a search finds."""

import numpy as np
import pytest

from routing.costing import TravelMode
from routing.errors import WaypointError
from routing.search.distance_table import build_distance_table
from routing.search.matrix import compute_matrix
from tests.routing.ascii_plans import process_drawing

NETWORK = process_drawing("A,,e#C", "B,,e#,").networks[TravelMode.FOOT]
TABLE = build_distance_table(NETWORK)


def test_a_table_has_what_a_search_finds() -> None:
    ids = TABLE.location_ids
    found = compute_matrix(NETWORK, ids, ids)
    np.testing.assert_allclose(TABLE.feet, found.feet, rtol=1e-6)
    np.testing.assert_allclose(TABLE.seconds, found.seconds, rtol=1e-6)


def test_distances_are_looked_up_in_the_order_of_the_request() -> None:
    feet, seconds = TABLE.look_up(["B", "A"], ["A", "C", "A"])
    assert feet.shape == seconds.shape == (2, 3)
    assert feet[1, 0] == 0
    assert feet[0, 0] == feet[0, 2] > 0
    assert np.isnan(feet[:, 1]).all()


def test_an_unknown_location_is_an_error() -> None:
    with pytest.raises(WaypointError, match="no location 'X'"):
        TABLE.look_up(["A"], ["X"])
