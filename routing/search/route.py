"""A single route with its geometry: walks as lines on levels, and rides on connectors."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from shapely import LineString

from routing.arrays import FloatArray, IntArray
from routing.network.network import Network
from routing.plan import ConnectorKind
from routing.search.stops import Stop, WaypointRef, augment_graph, find_stop

STRAIGHT_TOLERANCE_FEET = 1e-4
"""Bends of less than this are removed from the lines of walks."""


@dataclass(frozen=True)
class WalkLeg:
    """A walk on one level along `points`, a line of (x, y) in feet."""

    level_id: str
    points: tuple[tuple[float, float], ...]
    feet: float
    seconds: float


@dataclass(frozen=True)
class ConnectorLeg:
    """A ride or climb by one connector from one level to another."""

    connector_id: str
    kind: ConnectorKind
    name: str
    from_level_id: str
    to_level_id: str
    feet: float
    seconds: float


Leg: TypeAlias = WalkLeg | ConnectorLeg


@dataclass(frozen=True)
class ComputedRoute:
    """Walks and rides in order; adjacent walks are merged."""

    legs: tuple[Leg, ...]

    @property
    def feet(self) -> float:
        return sum(leg.feet for leg in self.legs)

    @property
    def seconds(self) -> float:
        return sum(leg.seconds for leg in self.legs)


def find_route(network: Network, source: WaypointRef, target: WaypointRef) -> ComputedRoute | None:
    """Return the fastest route, None if there is none; feet and seconds equal the matrix's.

    Raises WaypointError for an unknown location.
    """
    start, end = find_stop(network, source), find_stop(network, target)
    if not (start.is_attached and end.is_attached):
        return None
    if (start.level, start.x, start.y) == (end.level, end.x, end.y):
        return ComputedRoute(
            (WalkLeg(network.levels[start.level].id, ((start.x, start.y),), 0.0, 0.0),)
        )
    walk_feet = np.inf
    if start.level == end.level:
        walk_feet = direct_walk_feet(network, start, end)
    portals, seconds_by_portals = fastest_portals(network, start, end)
    # If neither exists, both sides are infinite, which is the case of no route.
    if walk_feet / network.feet_per_second <= seconds_by_portals:
        return (
            ComputedRoute((build_walk_leg(network, start, end),))
            if np.isfinite(walk_feet)
            else None
        )
    return ComputedRoute(tuple(merge_walks(legs_through_portals(network, start, end, portals))))


def direct_walk_feet(network: Network, start: Stop, end: Stop) -> float:
    """Return the shortest walk between two stops of one level that stays on it, or inf."""
    augmented = augment_graph(network.levels[start.level], [start, end])
    feet = augmented.graph.distances(augmented.stop_vertices[:1], augmented.stop_vertices[1:])[0, 0]
    return float(feet) + start.offset_feet + end.offset_feet


def fastest_portals(network: Network, start: Stop, end: Stop) -> tuple[tuple[int, int], float]:
    """Return the first and last portal of the fastest route through portals, and its seconds."""
    first, first_feet = portal_distances(network, start)
    last, last_feet = portal_distances(network, end)
    if not len(first) or not len(last):
        return (-1, -1), np.inf
    walk_seconds = (first_feet[:, None] + last_feet[None, :]) / network.feet_per_second
    seconds = walk_seconds + network.portal_paths.seconds[np.ix_(first, last)]
    row, column = np.unravel_index(seconds.argmin(), seconds.shape)
    return (int(first[row]), int(last[column])), float(seconds[row, column])


def portal_distances(network: Network, stop: Stop) -> tuple[IntArray, FloatArray]:
    """Return the portals of the stop's level and the walks to them in feet."""
    level = network.levels[stop.level]
    return level.portal_indexes, augment_graph(level, [stop]).portal_feet[:, 0] + stop.offset_feet


def legs_through_portals(
    network: Network, start: Stop, end: Stop, portals: tuple[int, int]
) -> list[Leg]:
    """Return the legs of the fastest route through this first and last portal."""
    path = network.portal_paths.path(*portals)
    legs: list[Leg] = [build_walk_leg(network, start, portal_stop(network, path[0]))]
    legs += [leg_between_portals(network, one, other) for one, other in pairwise(path)]
    return [*legs, build_walk_leg(network, portal_stop(network, path[-1]), end)]


def portal_stop(network: Network, portal: int) -> Stop:
    """Return a portal, given by index, as a stop."""
    level = network.levels[network.portals[portal].level]
    vertex = int(level.portal_vertices[np.flatnonzero(level.portal_indexes == portal)[0]])
    _, _, x, y = network.portals[portal]
    return Stop(network.portals[portal].level, x, y, x, y, 0.0, vertex)


def leg_between_portals(network: Network, one: int, other: int) -> Leg:
    """Return the leg between two consecutive portals of a path."""
    start, end = network.portals[one], network.portals[other]
    if start.level == end.level:
        return build_walk_leg(network, portal_stop(network, one), portal_stop(network, other))
    connector = network.connectors[start.connector]
    levels = network.levels[start.level].id, network.levels[end.level].id
    portal_paths = network.portal_paths
    feet, seconds = float(portal_paths.feet[one, other]), float(portal_paths.seconds[one, other])
    return ConnectorLeg(connector.id, connector.kind, connector.name, *levels, feet, seconds)


def build_walk_leg(network: Network, start: Stop, end: Stop) -> WalkLeg:
    """Return the shortest walk between two stops of one level; there must be one."""
    level = network.levels[start.level]
    augmented = augment_graph(level, [start, end])
    first, last = augmented.stop_vertices.tolist()
    vertices = augmented.graph.shortest_path(first, last)
    line = [(start.x, start.y), *map(tuple, augmented.xy[vertices].tolist()), (end.x, end.y)]
    # Its length is taken before it is simplified, so that it equals the matrix's.
    path = LineString(line)
    points = [(x, y) for x, y in path.simplify(STRAIGHT_TOLERANCE_FEET).coords]
    return WalkLeg(level.id, tuple(points), path.length, path.length / network.feet_per_second)


def merge_walks(legs: list[Leg]) -> list[Leg]:
    """Join consecutive walks, and drop walks of no length."""
    merged: list[Leg] = []
    for leg in legs:
        last = merged[-1] if merged else None
        if isinstance(leg, WalkLeg) and isinstance(last, WalkLeg):
            # The first point of a walk is the last one of the walk before it.
            points = (*last.points, *leg.points[1:])
            feet, seconds = last.feet + leg.feet, last.seconds + leg.seconds
            merged[-1] = WalkLeg(leg.level_id, points, feet, seconds)
        elif isinstance(leg, ConnectorLeg) or leg.feet > 0:
            merged.append(leg)
    return merged
