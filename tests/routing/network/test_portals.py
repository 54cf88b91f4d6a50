"""The fastest paths between the portals of connectors."""

import numpy as np
import pytest

from routing.costing import Costing, RideCost, TravelMode
from routing.network.portals import Link, Portal, allows_rise, floyd_warshall, list_links
from routing.plan import Connector, ConnectorKind, Direction

PORTALS = [Portal(0, 0, 0, 0), Portal(1, 0, 0, 0), Portal(0, 1, 9, 0), Portal(1, 1, 9, 0)]


def links(mode: TravelMode, *connectors: Connector) -> set[tuple[int, int]]:
    found = list_links(PORTALS, connectors, [0.0, 1.0], mode, Costing())
    return {(link.start, link.end) for link in found}


def test_rides_join_the_levels_of_one_connector_in_its_direction() -> None:
    lift = Connector("lift", ConnectorKind.ELEVATOR, {})
    escalator = Connector("up", ConnectorKind.ESCALATOR, {}, direction=Direction.UP)
    assert links(TravelMode.FOOT, lift, escalator) == {(0, 1), (1, 0), (2, 3)}
    assert links(TravelMode.WHEELCHAIR, lift, escalator) == {(0, 1), (1, 0)}


@pytest.mark.parametrize(
    ("direction", "up", "down"),
    [(None, True, True), (Direction.UP, True, False), (Direction.DOWN, False, True)],
)
def test_a_direction_allows_one_rise(direction: Direction | None, up: bool, down: bool) -> None:
    assert (allows_rise(direction, 1), allows_rise(direction, -1)) == (up, down)


def test_fastest_paths_combine_walks_and_rides() -> None:
    walks = np.full((4, 4), np.inf)
    np.fill_diagonal(walks, 0)
    walks[0, 2] = walks[2, 0] = walks[1, 3] = walks[3, 1] = 8
    paths = floyd_warshall(walks, [Link(2, 3, RideCost(feet=12, seconds=5))], feet_per_second=4)
    assert paths.seconds[0, 1] == 8 / 4 + 5 + 8 / 4
    assert paths.feet[0, 1] == 8 + 12 + 8
    assert paths.path(0, 1) == [0, 2, 3, 1]
    assert np.isinf(paths.seconds[1, 0]) and paths.next_portal[1, 0] == -1


def test_a_slow_ride_does_not_replace_a_walk() -> None:
    walks = np.array([[0.0, 8.0], [8.0, 0.0]])
    paths = floyd_warshall(walks, [Link(0, 1, RideCost(100, 100))], feet_per_second=4)
    assert (paths.seconds[0, 1], paths.feet[0, 1]) == (2, 8)
