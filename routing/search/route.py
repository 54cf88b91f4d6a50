"""One route in full: walks as lines on their levels, and the connectors ridden between them."""

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
"""A path that bends by less than this is drawn straight."""


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
class Route:
    legs: tuple[Leg, ...]

    @property
    def feet(self) -> float:
        return sum(leg.feet for leg in self.legs)

    @property
    def seconds(self) -> float:
        return sum(leg.seconds for leg in self.legs)


def find_route(network: Network, source: WaypointRef, target: WaypointRef) -> Route | None:
    """The fastest route, None if there is none; feet and seconds are those of the matrix.

    Raises WaypointError for a location that the network does not have.
    """
    start, end = find_stop(network, source), find_stop(network, target)
    if not (start.is_attached and end.is_attached):
        return None
    if (start.level, start.x, start.y) == (end.level, end.x, end.y):
        return Route((WalkLeg(network.levels[start.level].id, ((start.x, start.y),), 0.0, 0.0),))
    walk_feet = np.inf
    if start.level == end.level:
        walk_feet = direct_walk_feet(network, start, end)
    portals, portals_seconds = fastest_portals(network, start, end)
    if walk_feet / network.feet_per_second <= portals_seconds:
        return Route((build_walk_leg(network, start, end),)) if np.isfinite(walk_feet) else None
    return Route(tuple(merge_walks(legs_through_portals(network, start, end, portals))))


def direct_walk_feet(network: Network, start: Stop, end: Stop) -> float:
    placed = augment_graph(network.levels[start.level], [start, end])
    feet = placed.graph.distances(placed.stop_vertices[:1], placed.stop_vertices[1:])[0, 0]
    return float(feet) + start.offset_feet + end.offset_feet


def fastest_portals(network: Network, start: Stop, end: Stop) -> tuple[tuple[int, int], float]:
    """The portals by which the fastest route through any leaves and arrives, and its seconds."""
    first, first_feet = portal_distances(network, start)
    last, last_feet = portal_distances(network, end)
    if not len(first) or not len(last):
        return (-1, -1), np.inf
    walks = (first_feet[:, None] + last_feet[None, :]) / network.feet_per_second
    seconds = walks + network.portal_paths.seconds[np.ix_(first, last)]
    at = np.unravel_index(seconds.argmin(), seconds.shape)
    return (int(first[at[0]]), int(last[at[1]])), float(seconds[at])


def portal_distances(network: Network, stop: Stop) -> tuple[IntArray, FloatArray]:
    level = network.levels[stop.level]
    return level.portal_indexes, augment_graph(level, [stop]).portal_feet[:, 0] + stop.offset_feet


def legs_through_portals(
    network: Network, start: Stop, end: Stop, portals: tuple[int, int]
) -> list[Leg]:
    way = network.portal_paths.path(*portals)
    legs: list[Leg] = [build_walk_leg(network, start, portal_stop(network, way[0]))]
    legs += [leg_between_portals(network, one, other) for one, other in pairwise(way)]
    return [*legs, build_walk_leg(network, portal_stop(network, way[-1]), end)]


def portal_stop(network: Network, portal: int) -> Stop:
    level = network.levels[network.portals[portal].level]
    vertex = int(level.portal_vertices[np.flatnonzero(level.portal_indexes == portal)[0]])
    _, _, x, y = network.portals[portal]
    return Stop(network.portals[portal].level, x, y, x, y, 0.0, vertex)


def leg_between_portals(network: Network, one: int, other: int) -> Leg:
    """The leg between two portals that follow one another on a way."""
    start, end = network.portals[one], network.portals[other]
    if start.level == end.level:
        return build_walk_leg(network, portal_stop(network, one), portal_stop(network, other))
    connector = network.connectors[start.connector]
    levels = network.levels[start.level].id, network.levels[end.level].id
    portal_paths = network.portal_paths
    feet, seconds = float(portal_paths.feet[one, other]), float(portal_paths.seconds[one, other])
    return ConnectorLeg(connector.id, connector.kind, connector.name, *levels, feet, seconds)


def build_walk_leg(network: Network, start: Stop, end: Stop) -> WalkLeg:
    """The shortest walk between two stops of one level; there must be one."""
    level = network.levels[start.level]
    placed = augment_graph(level, [start, end])
    vertices = placed.graph.shortest_path(
        int(placed.stop_vertices[0]), int(placed.stop_vertices[1])
    )
    line = [(start.x, start.y), *map(tuple, placed.xy[vertices].tolist()), (end.x, end.y)]
    path = LineString(line)
    bends = [(x, y) for x, y in path.simplify(STRAIGHT_TOLERANCE_FEET).coords]
    return WalkLeg(level.id, tuple(bends), path.length, path.length / network.feet_per_second)


def merge_walks(legs: list[Leg]) -> list[Leg]:
    """Walks that follow one another as one; walks of no length left out."""
    merged: list[Leg] = []
    for leg in legs:
        last = merged[-1] if merged else None
        if isinstance(leg, WalkLeg) and isinstance(last, WalkLeg):
            points = (*last.points, *leg.points[1:])
            feet, seconds = last.feet + leg.feet, last.seconds + leg.seconds
            merged[-1] = WalkLeg(leg.level_id, points, feet, seconds)
        elif isinstance(leg, ConnectorLeg) or leg.feet > 0:
            merged.append(leg)
    return merged
