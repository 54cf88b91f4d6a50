"""Straight lines between waypoints, which ignore walls and floors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from routing.matrix import Matrix
from routing.network import Network
from routing.stops import Waypoint, find_stop

Point = tuple[float, float]


def measure_straight(
    sources: Sequence[Point], targets: Sequence[Point], feet_per_second: float
) -> Matrix:
    """The length of straight lines on the plan, in feet, and the time to walk as far.

    Plans do not say how high their storeys are: points above each other are at the same place.
    """
    starts, ends = np.array(sources).reshape(-1, 2), np.array(targets).reshape(-1, 2)
    feet = np.linalg.norm(ends[None, :] - starts[:, None], axis=2)
    return Matrix(feet, feet / feet_per_second)


def points_of(network: Network, waypoints: Sequence[Waypoint]) -> list[Point]:
    """Where waypoints are. Raises WaypointError for one that the network does not have."""
    stops = [find_stop(network, waypoint) for waypoint in waypoints]
    return [(stop.x, stop.y) for stop in stops]
