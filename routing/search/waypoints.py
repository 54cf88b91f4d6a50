"""Waypoints: locations by id or positions on a level, and their stops on a network."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from routing.errors import WaypointError
from routing.network.network import Network
from routing.network.stops import UNKNOWN_LEVEL, Stops, join_stops
from routing.values import Position as Position
from routing.values import WaypointRef as WaypointRef


def find_stops(network: Network, waypoints: Sequence[WaypointRef]) -> Stops:
    """Return the stops of waypoints; those of an unknown level are on UNKNOWN_LEVEL.

    Raises WaypointError for an unknown location, or a position that is not finite.
    """
    ids = [waypoint for waypoint in waypoints if isinstance(waypoint, str)]
    positions = [waypoint for waypoint in waypoints if not isinstance(waypoint, str)]
    by_id, placed = find_location_stops(network, ids), place_positions(network, positions)
    if not positions or not ids:
        return by_id if ids else placed
    is_id = np.array([isinstance(waypoint, str) for waypoint in waypoints])
    order = np.argsort(np.argsort(~is_id, kind="stable"))
    return join_stops((by_id, placed)).take(order)


def find_location_stops(network: Network, location_ids: Sequence[str]) -> Stops:
    """Return the stops of locations. Raises WaypointError for an unknown one."""
    index = network.location_index
    try:
        chosen = [index[location_id] for location_id in location_ids]
    except KeyError as error:
        raise WaypointError(f"The map has no location {error.args[0]!r}.") from None
    return network.locations.take(np.array(chosen, dtype=np.int64))


def place_positions(network: Network, positions: Sequence[Position]) -> Stops:
    """Return the stops of positions. Raises WaypointError for one that is not finite."""
    xy = np.array([(x, y) for _, x, y in positions], dtype=np.float64).reshape(-1, 2)
    for x, y in xy[~np.isfinite(xy).all(axis=1)]:
        raise WaypointError(f"({x}, {y}) is not a position; give finite numbers, in feet.")
    index = network.level_index
    levels = [index.get(position.level_id, UNKNOWN_LEVEL) for position in positions]
    return network.attach(np.array(levels, dtype=np.int64), xy)
