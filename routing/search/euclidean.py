"""Straight lines between waypoints, which ignore walls and floors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from routing.network.network import Network
from routing.search.matrix import TravelMatrix
from routing.search.stops import WaypointRef, find_stop

PlanPoint = tuple[float, float]


def euclidean_distances(
    sources: Sequence[PlanPoint], targets: Sequence[PlanPoint], feet_per_second: float
) -> TravelMatrix:
    """The length of straight lines on the plan, in feet, and the time to walk as far.

    Plans do not say how high their storeys are: points above each other are at the same place.
    """
    starts, ends = np.array(sources).reshape(-1, 2), np.array(targets).reshape(-1, 2)
    feet = np.linalg.norm(ends[None, :] - starts[:, None], axis=2)
    return TravelMatrix(feet, feet / feet_per_second)


def list_points(network: Network, waypoints: Sequence[WaypointRef]) -> list[PlanPoint]:
    """Where waypoints are. Raises WaypointError for one that the network does not have."""
    stops = [find_stop(network, waypoint) for waypoint in waypoints]
    return [(stop.x, stop.y) for stop in stops]
