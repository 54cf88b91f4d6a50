"""Matrices and tables have the fastest routes, and of equal ones the shortest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shapely import Point, box

from routing.costing import TravelMode
from routing.network.network import Network
from routing.plan import Connector, ConnectorKind, Level, Plan, PlanLocation, Space, SpaceKind
from routing.processing import ProcessedPlan, process_plan
from routing.search import matrix as module
from routing.search.matrix import Position, WaypointRef, build_distance_table, compute_matrix
from routing.search.router import ConnectorLeg, Router, find_route
from tests.routing.ascii_plans import draw_plan, process_drawing
from tests.routing.buildings import process_demo

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


TIES = [
    # Stairs take as long as 60 ft on the level, an escalator as 56 2/3, a ramp as 120.
    (100, 100 + 5 / 3, ConnectorKind.ESCALATOR),
    (100.1, 100.1 + 5 / 3, ConnectorKind.ESCALATOR),
    (100, 70, ConnectorKind.RAMP),
    (130.3, 100.3, ConnectorKind.RAMP),
]


def process_tie(stairs_at: float, other_at: float, other: ConnectorKind) -> ProcessedPlan:
    """Two storeys with locations along a corridor, on one side of stairs and something else."""
    levels = Level("0", 0), Level("1", 1)
    connectors = tuple(
        Connector(kind, kind, {level.id: Point(at, 10) for level in levels})
        for kind, at in ((ConnectorKind.STEPS, stairs_at), (other, other_at))
    )
    along = [5.0, *np.random.default_rng(1).uniform(5, 95, 8).tolist()]
    return process_plan(
        Plan(
            levels,
            tuple(
                Space(level.id, level.id, box(0, 0, 300, 20), SpaceKind.CORRIDOR)
                for level in levels
            ),
            connectors=connectors,
            locations=tuple(
                PlanLocation(f"{level.id}/{x}", level.id, x, 10) for level in levels for x in along
            ),
        )
    )


@pytest.mark.parametrize(("stairs_at", "other_at", "other"), TIES)
def test_matrix_table_and_route_choose_the_shortest(
    stairs_at: float, other_at: float, other: ConnectorKind
) -> None:
    processed = process_tie(stairs_at, other_at, other)
    router, ids = processed.router, [location.id for location in processed.plan.locations]
    table = router.matrix(ids, ids)
    searched = compute_matrix(processed.networks[TravelMode.FOOT], ids, ids)
    np.testing.assert_allclose(table.feet, searched.feet, atol=1e-6)
    np.testing.assert_allclose(table.feet, table.feet.T, atol=1e-6)
    for row, start in enumerate(ids):
        for column, end in enumerate(ids):
            route = router.route(start, end)
            assert route is not None
            assert route.feet == pytest.approx(table.feet[row, column], abs=1e-6)
            assert route.seconds == pytest.approx(table.seconds[row, column], abs=1e-6)


@pytest.mark.parametrize(
    ("other_at", "kind"),
    [
        (99.999, ConnectorKind.RAMP),  # half a thousandth of a second faster, 40 ft longer
        (100, ConnectorKind.STEPS),
        (100.001, ConnectorKind.STEPS),
    ],
)
def test_a_faster_route_is_chosen_however_much_longer_it_is(
    other_at: float, kind: ConnectorKind
) -> None:
    processed = process_tie(130, other_at, ConnectorKind.RAMP)
    route = processed.router.route("0/5.0", "1/5.0")
    assert route is not None
    [ride] = [leg for leg in route.legs if isinstance(leg, ConnectorLeg)]
    assert ride.kind is kind
    for router in (processed.router, Router(processed.networks)):
        feet, seconds = router.matrix(["0/5.0"], ["1/5.0"])
        assert feet[0, 0] == pytest.approx(route.feet, abs=1e-5)
        assert seconds[0, 0] == pytest.approx(route.seconds, abs=1e-5)


def test_the_nearest_of_two_that_take_the_same_time_is_the_shorter_one() -> None:
    """A lift takes 35 s without a step, so a walk of as long on the level is farther."""
    levels = Level("0", 0), Level("1", 1)
    lift = Connector("lift", ConnectorKind.ELEVATOR, {level.id: Point(10, 10) for level in levels})
    walk_feet = 35 * 5.1 / 3.6 / 0.3048
    locations = (
        PlanLocation("here", "0", 10, 10),
        PlanLocation("far", "0", 10 + walk_feet, 10),
        PlanLocation("above", "1", 10, 10),
    )
    spaces = tuple(
        Space(each.id, each.id, box(0, 0, 300, 20), SpaceKind.CORRIDOR) for each in levels
    )
    router = process_plan(Plan(levels, spaces, connectors=(lift,), locations=locations)).router
    nearest = router.nearest_from_each(["here"], ["far", "above"], 2)[0]
    assert [each.location_id for each in nearest] == ["above", "far"]
    assert nearest[0].seconds == pytest.approx(nearest[1].seconds)
