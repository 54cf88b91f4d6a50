"""Routes begin and end in private space, and never lead through that of others."""

from typing import Any

import numpy as np
import pytest
import shapely
from shapely import MultiPoint, box
from shapely.affinity import rotate

from routing.costing import TravelMode
from routing.network.mesh import BEYOND_WALL_FEET, PUBLIC, find_thresholds, triangulate
from routing.processing import ProcessedPlan
from routing.search.router import Position
from tests.routing.ascii_plans import draw_plan, process_drawing
from tests.routing.fuzz.checks import check_building

APARTMENT = """
    ###############
    #,,,,,,A,,,,,,#
    #,####+######,#
    #,#;;;P;;;;;#,#
    #,#;;;#####+#,#
    #,#;;;#;;;;Q#,#
    #,###+#######,#
    #,,,,,B,,,,,,,#
    ###############
    """
"""A living room with two doors, and a bedroom behind it."""


def feet_between(processed: ProcessedPlan, one: str, other: str) -> float:
    return float(processed.router.matrix([one], [other]).feet[0, 0])


def test_a_room_with_two_doors_is_a_way_only_if_it_is_not_private() -> None:
    private, public = (process_drawing(APARTMENT.replace(";", sign)) for sign in ";.")
    assert feet_between(public, "A", "B") < 30 < 55 < feet_between(private, "A", "B")
    for one, other in ("PA", "PB", "QA", "QB", "QP"):
        assert feet_between(private, one, other) == pytest.approx(feet_between(public, one, other))


def test_everything_about_a_building_with_apartments_is_exact() -> None:
    check_building(
        draw_plan(
            """
            ###################
            #,,,,A,,,,,,,,,B,,#
            #,#+###+#+##+###+##
            #,#;;;+;;;#;;;#;;;#
            #,#;C;#;D;#;E;+;F;#
            #,#+#####+###+#####
            #,,,,G,,,,,,,,,H,,#
            ###################
            """
        ),
        seed=1,
    )


def test_private_doors_lead_only_to_where_routes_end() -> None:
    processed = process_drawing(
        """
        #############
        #,A,,p,,B,###
        #,####,####,#
        #,####,,,#C,#
        #,####,,,p,,#
        #,,,,,,######
        #############
        """
    )
    assert feet_between(processed, "A", "B") > 2 * 6 * 4
    assert np.isfinite(feet_between(processed, "A", "C"))


def test_a_plain_room_behind_a_private_one_is_private_too() -> None:
    processed = process_drawing(
        """
        #########
        #,,,A,,,#
        #,##+##,#
        #,#;;;#,#
        #,##+##,#
        #,#.D.#,#
        #,#####,#
        #,,,B,,,#
        #########
        """
    )
    assert feet_between(processed, "A", "B") > 24
    assert feet_between(processed, "D", "A") == pytest.approx(16)


def test_a_home_on_two_storeys_is_no_way_between_them_but_for_its_own() -> None:
    storey = """
        ###############
        #{}####;;#
        #,,,,,,,,+;s;{}#
        #,######,#;;;##
        #,#,,,,,,######
        #e############
        """
    lower, upper = storey.format("A,,,,,,,,", "P"), storey.format("B,,,,,,,,", "Q")
    processed = process_drawing(lower, upper)
    route = processed.router.route("A", "B")
    assert route is not None and [leg.kind for leg in route.legs if hasattr(leg, "kind")] == [
        "elevator"
    ]
    own = processed.router.route("P", "B")
    assert own is not None and any(getattr(leg, "kind", "") == "steps" for leg in own.legs)


def test_floor_behind_a_private_room_is_cut_off_and_the_report_names_the_room() -> None:
    processed = process_drawing(
        """
        #########
        #A,,,,,C#
        ###+#####
        #P;;;;;;#
        ###+#####
        #B,,,,,,#
        #########
        """
    )
    assert np.isnan(feet_between(processed, "A", "B"))
    assert np.isfinite(feet_between(processed, "P", "B"))
    [lost] = processed.report.reachability[0].cut_off
    assert (lost.location_id, lost.cause) == ("B", "only-private-way")
    assert "only the private room 'P' leads to" in lost.reason


def test_where_everything_is_private_nothing_is_lost() -> None:
    processed = process_drawing("A;;+;B;+;;C")
    assert np.isfinite(feet_between(processed, "A", "C"))


def test_an_isochrone_ends_where_private_space_of_others_begins_to_lead_on() -> None:
    router = process_drawing(APARTMENT).router
    start = Position("0", 7 * 4 + 2.0, 4 + 2.0)
    area = router.isochrone(start, 30 / router.networks[TravelMode.FOOT].feet_per_second).area("0")
    assert area.intersects(area.envelope) and not area.covers(area.envelope)
    assert area.bounds[3] < 7 * 4


@pytest.mark.parametrize("turn_degrees", [0, 30])
def test_a_region_ends_at_doors_that_meet_at_its_corner(turn_degrees: float) -> None:
    region, doors = box(0, 0, 20, 10), (box(8, -1, 19.9, 1), box(19, -1, 21, 3))
    floor = shapely.union_all([box(0.05, 0.05, 19.95, 9.95), box(0, -9, 30, -0.05), *doors])
    turned: list[Any] = [
        rotate(shape, turn_degrees, origin=(0, 0)) for shape in (floor, region, *doors)
    ]
    thresholds = find_thresholds(turned[1:2], turned[2:], BEYOND_WALL_FEET)
    mesh = triangulate(turned[0], turned[1:2], thresholds)
    at = shapely.get_coordinates(rotate(MultiPoint([(1, 1), (1, -1)]), turn_degrees, origin=(0, 0)))
    assert mesh.regions[mesh.locate(at)].tolist() == [0, PUBLIC]
