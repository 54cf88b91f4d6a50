"""The fastest paths between the portals of connectors."""

from itertools import pairwise

import numpy as np
import pytest

from routing.costing import Costing, RideCost, TravelMode
from routing.network.portals import Link, Portal, allows_rise, find_fastest_paths, list_links
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
    paths = find_fastest_paths(walks, [Link(2, 3, RideCost(feet=12, seconds=5))], feet_per_second=4)
    assert paths.seconds[0, 1] == 8 / 4 + 5 + 8 / 4
    assert paths.feet[0, 1] == 8 + 12 + 8
    assert paths.path(0, 1) == [0, 2, 3, 1]
    assert np.isinf(paths.seconds[1, 0]) and paths.next_portal[1, 0] == -1


def test_a_slow_ride_does_not_replace_a_walk() -> None:
    walks = np.array([[0.0, 8.0], [8.0, 0.0]])
    paths = find_fastest_paths(walks, [Link(0, 1, RideCost(100, 100))], feet_per_second=4)
    assert (paths.seconds[0, 1], paths.feet[0, 1]) == (2, 8)


def test_paths_are_the_fastest_whatever_order_links_have() -> None:
    random = np.random.default_rng(8)
    places, levels = random.uniform(0, 100, (30, 2)), random.integers(0, 4, 30)
    walks = np.linalg.norm(places[:, None] - places, axis=2)
    walks[levels[:, None] != levels] = np.inf
    ends = np.array([random.choice(30, 2, replace=False) for _ in range(40)])
    costs = random.uniform(0, 20, (40, 2)).tolist()
    links = [
        Link(start, end, RideCost(*cost))
        for (start, end), cost in zip(ends.tolist(), costs, strict=True)
    ]
    paths = find_fastest_paths(walks, links, feet_per_second=4)
    expected = walks / 4
    for start, end, cost in links:
        expected[start, end] = min(expected[start, end], cost.seconds)
    for via in range(30):
        expected = np.minimum(expected, expected[:, via, None] + expected[via])
    np.testing.assert_allclose(paths.seconds, expected, atol=1e-4)
    for start, end in np.argwhere(np.isfinite(expected)).tolist():
        legs = [*pairwise(paths.path(start, end))]
        assert paths.seconds[start, end] == pytest.approx(sum(paths.seconds[leg] for leg in legs))
        assert paths.feet[start, end] == pytest.approx(sum(paths.feet[leg] for leg in legs))
