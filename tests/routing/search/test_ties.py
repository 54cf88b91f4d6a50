"""The fastest route is chosen; of routes that take the same time, the shortest, by all searches."""

import numpy as np
import pytest
from shapely import Point, box

from routing.costing import TravelMode
from routing.plan import Connector, ConnectorKind, Level, Plan, PlanLocation, Space, SpaceKind
from routing.processing import ProcessedPlan, process_plan
from routing.search.matrix import compute_matrix
from routing.search.route import ConnectorLeg
from routing.search.router import Router

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
    nearest = router.nearest("here", ["far", "above"], 2)
    assert [each.location_id for each in nearest] == ["above", "far"]
    assert nearest[0].seconds == pytest.approx(nearest[1].seconds)
