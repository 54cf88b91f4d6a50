"""Matrices, routes and walks have the fastest ways, and of equal ones the shortest."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from shapely import Point, box

from routing.costing import TravelMode
from routing.errors import WaypointError
from routing.network.levels import Levels
from routing.network.network import UNKNOWN_LEVEL, Network, Stops
from routing.plan import Connector, ConnectorKind, Level, Plan, PlanLocation, Space, SpaceKind
from routing.processing import ProcessedPlan, process_plan
from routing.search import matrix as module
from routing.search import walks as walks_module
from routing.search.matrix import (
    WaypointRef,
    build_distance_table,
    compute_matrix,
    euclidean_distances,
    find_stops,
)
from routing.search.router import (
    ComputedRoute,
    ConnectorLeg,
    Position,
    Router,
    WalkLeg,
    find_route,
    merge_walks,
)
from routing.search.walks import measure_portal_walks, measure_walks, place_stops, trace_walk
from tests.routing.ascii_plans import draw_plan, process_drawing
from tests.routing.geodesic import geodesic_feet
from tests.routing.hard_areas import process_demo

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


FLAT = process_drawing(
    """
    ###############
    #A....#..#B...#
    #.....#..n....#
    ###+####+###+##
    #,,,,,,,,,,,C,#
    ###############
    #D##############
    """
)
THREE_STOREYS = process_drawing("A,,,e", ",,s,e", "B,s,,")


@pytest.mark.parametrize(("outside_feet", "attached"), [(5.9, True), (6.2, False)])
def test_a_position_up_to_six_feet_outside_is_attached(outside_feet: float, attached: bool) -> None:
    below = Position("0", 30, 20 + outside_feet)
    assert FLAT.router.are_attached([below]) is attached
    feet, _ = FLAT.router.matrix([below], [Position("0", 30, 18)])
    if attached:
        assert feet[0, 0] == pytest.approx(outside_feet + 2)
    else:
        assert np.isnan(feet[0, 0])


@pytest.mark.parametrize(
    ("waypoint", "message"),
    [
        ("X", "no location 'X'"),
        (Position("0", float("nan"), 0), "give finite numbers"),
    ],
)
def test_unknown_waypoints_are_refused(waypoint: str | Position, message: str) -> None:
    for router in (FLAT.router, Router(FLAT.networks)):
        with pytest.raises(WaypointError, match=message):
            router.matrix([waypoint], ["A"])


def test_a_level_that_the_map_does_not_have_is_out_of_reach() -> None:
    nowhere = Position("9", 0, 0)
    for router in (FLAT.router, Router(FLAT.networks)):
        assert not router.has_level("9")
        assert not router.are_attached([nowhere])
        assert np.isnan(router.matrix([nowhere, "A"], ["A", nowhere]).feet[:, 1]).all()
        assert router.route("A", nowhere) is None


def test_a_route_names_the_connectors_in_order() -> None:
    route = THREE_STOREYS.router.route("A", "B")
    assert isinstance(route, ComputedRoute)
    described = [
        leg.level_id if isinstance(leg, WalkLeg) else (leg.kind.value, leg.to_level_id)
        for leg in route.legs
    ]
    assert described == ["0", ("elevator", "1"), "1", ("steps", "2"), "2"]


def test_the_walks_of_a_route_join_its_ends_and_connectors_and_add_up_to_the_matrix() -> None:
    route = THREE_STOREYS.router.route("A", "B")
    assert isinstance(route, ComputedRoute)
    feet, seconds = THREE_STOREYS.router.matrix(["A"], ["B"])
    assert (route.feet, route.seconds) == pytest.approx((feet[0, 0], seconds[0, 0]))
    walks = [leg for leg in route.legs if isinstance(leg, WalkLeg)]
    assert walks[0].points[0] == (2.0, 2.0)
    assert walks[0].points[-1] == walks[1].points[0] == (18.0, 2.0)
    assert walks[-1].points[-1] == (2.0, 2.0)
    assert sum(leg.feet for leg in route.legs) == route.feet


def test_there_may_be_no_route() -> None:
    assert FLAT.router.route("A", "D") is None
    assert FLAT.router.route("A", Position("0", 2, 99)) is None


def test_the_route_to_the_same_place_is_a_point() -> None:
    route = FLAT.router.route("A", "A")
    assert route is not None
    (leg,) = route.legs
    assert isinstance(leg, WalkLeg)
    assert (len(leg.points), route.feet, route.seconds) == (1, 0, 0)


def test_walks_that_follow_one_another_become_one() -> None:
    first = WalkLeg("0", ((0, 0), (3, 0)), 3, 1)
    second = WalkLeg("0", ((3, 0), (3, 4)), 4, 2)
    nowhere = WalkLeg("0", ((0, 0), (0, 0)), 0, 0)
    assert merge_walks([nowhere, first, second]) == [WalkLeg("0", ((0, 0), (3, 0), (3, 4)), 7, 3)]


def test_a_route_goes_by_the_faster_connector_not_the_shorter() -> None:
    """One storey by stairs takes 60 ft of walking time, a lift 35 s."""
    short = process_drawing("A,s,,e", "B,s,,e").router.route("A", "B")
    high = process_drawing("A,s,,e", *[",,s,,e"] * 4, "B,s,,e").router.route("A", "B")
    for route, kind in ((short, "steps"), (high, "elevator")):
        assert isinstance(route, ComputedRoute)
        assert [leg.kind.value for leg in route.legs if isinstance(leg, ConnectorLeg)] == [kind]


def test_the_nearest_come_in_the_order_of_walking_time() -> None:
    near = FLAT.router.nearest_from_each(["C"], ["A", "B", "C", "D"], 10)[0]
    assert [place.location_id for place in near] == ["C", "B", "A"]
    assert near[0].seconds == 0
    assert (
        FLAT.router.nearest_from_each([Position("0", 46, 18)], ["A", "B", "C"], 1)[0][0].location_id
        == "C"
    )


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2], [2], []])
def test_waypoints_are_found_in_their_order(order: list[int]) -> None:
    network = process_drawing("A,,,", ",,,,").networks[TravelMode.FOOT]
    attic, above = Position("attic", 1, 1), Position("1", 4, 2)
    waypoints: list[WaypointRef] = [Position("0", 8, 2), "A", attic, above]
    stops = find_stops(network, [waypoints[index] for index in order])
    assert stops.xy[:, 0].tolist() == [[8, 2, 1, 4][index] for index in order]
    assert stops.levels.tolist() == [[0, 0, UNKNOWN_LEVEL, 1][index] for index in order]


def test_straight_lines_ignore_walls_and_storeys() -> None:
    feet, seconds = euclidean_distances([(0, 0), (3, 4)], [(3, 4)], feet_per_second=2.5)
    assert feet.tolist() == [[5.0], [0.0]]
    assert seconds == pytest.approx(np.array([[2.0], [0.0]]))
    assert euclidean_distances([], [(1, 1), (2, 2)], 1.0).feet.shape == (0, 2)
