"""Plans that others have published are routable as they are, and every distance on them is exact.

The files are not in this repository; `python -m tests.real_plans --fetch` downloads them.
"""

import numpy as np
import pytest
import shapely

from parsing.plans import read_plan
from resolvers.plans.translation import translate_plan
from routing.costing import TravelMode
from routing.network.network import Network
from routing.processing import process_plan
from routing.search.walks import measure_walks, place_stops
from tests.real_plans.catalog import list_plans, require_plan
from tests.routing.geodesic import geodesic_feet

MAX_ORACLE_CORNERS = 350
"""On levels with more, the oracle would take minutes."""
ERROR_FEET = 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("name", [plan.name for plan in list_plans()])
def test_a_plan_is_routable_as_it_is_and_exact(name: str) -> None:
    plan = require_plan(name)
    processed = process_plan(translate_plan(read_plan(plan.read()), name).plan)
    assert TravelMode.FOOT in processed.report.modes
    on_foot, _ = processed.report.reachability
    assert on_foot.share >= plan.foot_share
    check_walks(processed.networks[TravelMode.FOOT])


def check_walks(network: Network) -> None:
    """Walks between locations are those of an oracle, where a level has few enough corners."""
    levels, stops = network.levels, network.locations
    for level in network.level_numbers.tolist():
        area = levels.walkable_area(level)
        own = np.flatnonzero((stops.levels == level) & stops.are_attached)
        if shapely.get_num_coordinates(area) > MAX_ORACLE_CORNERS or len(own) < 2:
            continue
        placed = place_stops(levels, stops.take(own))
        walks = measure_walks(levels, placed, placed)
        walks -= placed.offset_feet[:, None] + placed.offset_feet
        exact = geodesic_feet(area, [(x, y) for x, y in placed.xy.tolist()])
        np.testing.assert_allclose(walks, exact, rtol=1e-9, atol=ERROR_FEET)
