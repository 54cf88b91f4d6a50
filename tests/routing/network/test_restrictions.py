"""Without what is closed or avoided, routes lead elsewhere or nowhere; the shortest are left."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shapely import box

from bench.geodesic import geodesic_feet
from routing.costing import TravelMode
from routing.network.network import Network
from routing.network.restrictions import Restrictions, find_closed_area, restrict_networks
from routing.plan import ConnectorKind, Level, Plan, PlanLocation, Space, SpaceKind
from routing.processing import process_plan
from routing.search.router import Position, Router
from tests.routing.ascii_plans import process_drawing
from tests.routing.random_plans import plans

HOUSE = process_drawing(
    """
    #########
    #A.#..B.#
    #+###+###
    #,,,,,es#
    #+#######
    #C.D....#
    #########
    """,
    """
    #########
    #########
    #########
    #F.,,,es#
    #########
    """,
)
FOOT, WHEELCHAIR = TravelMode.FOOT, TravelMode.WHEELCHAIR
Networks = Mapping[TravelMode, Network]


def close(**closed: object) -> Router:
    return Router(restrict_networks(HOUSE.networks, Restrictions(**closed)))  # type: ignore[arg-type]


def feet(router: Router, start: str, end: str, mode: TravelMode = FOOT) -> float:
    return float(router.matrix([start], [end], mode).feet[0, 0])


def test_nothing_restricted_changes_nothing() -> None:
    assert not Restrictions()
    everywhere = close()
    ids = list(HOUSE.networks[FOOT].location_ids)
    for mode in TravelMode:
        expected = HOUSE.router.matrix(ids, ids, mode)
        np.testing.assert_allclose(everywhere.matrix(ids, ids, mode).feet, expected.feet, atol=1e-6)


def test_a_closed_connector_is_not_ridden() -> None:
    [lift] = [c.id for c in HOUSE.plan.connectors if c.kind is ConnectorKind.ELEVATOR]
    closed = close(connector_ids=frozenset([lift]))
    route = closed.route("A", "F")
    assert route is not None
    assert {leg.kind for leg in route.legs if hasattr(leg, "kind")} == {ConnectorKind.STEPS}
    assert closed.route("A", "F", WHEELCHAIR) is None


def test_a_kind_of_connector_is_avoided() -> None:
    without_stairs = close(connector_kinds=frozenset([ConnectorKind.STEPS]))
    assert without_stairs.route("A", "F") is not None
    neither = close(connector_kinds=frozenset([ConnectorKind.STEPS, ConnectorKind.ELEVATOR]))
    assert neither.route("A", "F") is None
    assert feet(neither, "A", "B") == pytest.approx(feet(HOUSE.router, "A", "B"))


def test_a_closed_door_is_walked_around() -> None:
    closed = close(door_ids=frozenset(["0:1,2"]))
    assert np.isnan(feet(closed, "A", "B"))
    assert feet(closed, "B", "C") == pytest.approx(feet(HOUSE.router, "B", "C"))
    two_doors = process_drawing("A,,,,,,,\n##+###+#\nB.......").networks
    one_door = Router(restrict_networks(two_doors, Restrictions(door_ids=frozenset(["0:2,1"]))))
    assert feet(one_door, "A", "B") > feet(Router(two_doors), "A", "B") > 0


def test_nothing_leads_to_what_stands_in_a_closed_space() -> None:
    closed = close(space_ids=frozenset(["room C"]))
    for place in "CD":
        assert np.isnan(feet(closed, "A", place))
    assert np.isnan(feet(closed, "C", "D"))
    assert not closed.are_attached(["C"]) and closed.are_attached(["A"])
    by_the_wall = Position("0", 6.0, 20.5)
    assert not closed.are_attached([by_the_wall])
    assert feet(closed, "A", "B") == pytest.approx(feet(HOUSE.router, "A", "B"))


def test_a_connector_in_a_closed_space_is_not_entered() -> None:
    corridor = next(space.id for space in HOUSE.plan.spaces if space.level_id == "1")
    closed = close(space_ids=frozenset([corridor]))
    assert closed.route("A", "F") is None


def test_closing_a_door_twice_or_one_that_is_not_there_changes_nothing() -> None:
    known, both = (frozenset(ids) for ids in (["0:1,2"], ["0:1,2", "gone"]))
    assert feet(close(door_ids=known), "B", "C") == feet(close(door_ids=both), "B", "C")
    assert feet(close(door_ids=frozenset(["gone"])), "A", "B") == pytest.approx(
        feet(HOUSE.router, "A", "B")
    )


def test_grounds_are_avoided_but_not_the_building_on_them() -> None:
    grounds = Space("grounds", "0", box(0, 0, 100, 60), SpaceKind.AREA, is_outdoors=True)
    arcade = Space("arcade", "0", box(0, 40, 100, 50), SpaceKind.CORRIDOR)
    west, east = PlanLocation("west", "0", 5, 45), PlanLocation("east", "0", 95, 45)
    lawn = PlanLocation("lawn", "0", 50, 5)
    plan = Plan((Level("0", 0),), (grounds, arcade), locations=(west, east, lawn))
    indoors = Router(restrict_networks(process_plan(plan).networks, Restrictions(outdoors=True)))
    assert feet(indoors, "west", "east") == pytest.approx(90)
    assert np.isnan(feet(indoors, "west", "lawn"))


@pytest.mark.slow
@given(plans(max_levels=1), st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_left_is_measured_exactly(plan: Plan, data: st.DataObject) -> None:
    networks = process_plan(plan).networks
    ids = st.sampled_from([space.id for space in plan.spaces])
    restrictions = Restrictions(
        space_ids=frozenset(data.draw(st.sets(ids, min_size=1, max_size=2))),
        door_ids=frozenset(door.id for door in plan.doors[: data.draw(st.integers(0, 3))]),
    )
    foot = restrict_networks(networks, restrictions)[FOOT]
    [level] = foot.level_numbers.tolist()
    left = foot.levels.walkable_area(level)
    closed = find_closed_area(networks[FOOT].levels, 0, restrictions)
    assert left.intersection(closed).area == pytest.approx(0, abs=1e-6)
    attached = np.flatnonzero(foot.locations.are_attached)
    names = [foot.location_ids[position] for position in attached.tolist()]
    near = foot.locations.take(attached)
    exact = geodesic_feet(left, near.near.tolist()) + near.offset_feet[:, None] + near.offset_feet
    found = Router({FOOT: foot}).matrix(names, names).feet
    same = (near.xy[:, None] == near.xy).all(axis=2)
    exact[same] = 0
    found = np.where(np.isnan(found), np.inf, found)
    np.testing.assert_allclose(found, exact, atol=1e-6)
