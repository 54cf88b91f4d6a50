"""One route in full: walks as lines on their levels, and the connectors ridden between them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from shapely import LineString

from routing.network import Network
from routing.plan import ConnectorKind
from routing.stops import Stop, Waypoint, find_stop, place
from routing.visibility import Floats, Ints

STRAIGHT_FEET = 1e-4
"""A path that bends by less than this is drawn straight."""


@dataclass(frozen=True)
class Walk:
    """A walk on one level along `points`, a line of (x, y) in feet."""

    level_id: str
    points: tuple[tuple[float, float], ...]
    feet: float
    seconds: float


@dataclass(frozen=True)
class Passage:
    """A ride or climb by one connector from one level to another."""

    connector_id: str
    kind: ConnectorKind
    name: str
    from_level_id: str
    to_level_id: str
    feet: float
    seconds: float


Leg: TypeAlias = Walk | Passage


@dataclass(frozen=True)
class Route:
    legs: tuple[Leg, ...]

    @property
    def feet(self) -> float:
        return sum(leg.feet for leg in self.legs)

    @property
    def seconds(self) -> float:
        return sum(leg.seconds for leg in self.legs)


def find_route(network: Network, source: Waypoint, target: Waypoint) -> Route | None:
    """The fastest route, None if there is none; feet and seconds are those of the matrix.

    Raises WaypointError for a location that the network does not have.
    """
    start, end = find_stop(network, source), find_stop(network, target)
    if not (start.attached and end.attached):
        return None
    if (start.level, start.x, start.y) == (end.level, end.x, end.y):
        return Route((Walk(network.levels[start.level].id, ((start.x, start.y),), 0.0, 0.0),))
    walk_feet = np.inf
    if start.level == end.level:
        walk_feet = walking_feet(network, start, end)
    gates, gates_seconds = best_gates(network, start, end)
    if walk_feet / network.feet_per_second <= gates_seconds:
        return Route((walk(network, start, end),)) if np.isfinite(walk_feet) else None
    return Route(tuple(merge(legs_through(network, start, end, gates))))


def walking_feet(network: Network, start: Stop, end: Stop) -> float:
    placed = place(network.levels[start.level], [start, end])
    feet = placed.graph.distances(placed.ids[:1], placed.ids[1:])[0, 0]
    return float(feet) + start.leg_feet + end.leg_feet


def best_gates(network: Network, start: Stop, end: Stop) -> tuple[tuple[int, int], float]:
    """The gates by which the fastest route through any leaves and arrives, and its seconds."""
    first, first_feet = gates_of(network, start)
    last, last_feet = gates_of(network, end)
    if not len(first) or not len(last):
        return (-1, -1), np.inf
    walks = (first_feet[:, None] + last_feet[None, :]) / network.feet_per_second
    seconds = walks + network.closure.seconds[np.ix_(first, last)]
    at = np.unravel_index(seconds.argmin(), seconds.shape)
    return (int(first[at[0]]), int(last[at[1]])), float(seconds[at])


def gates_of(network: Network, stop: Stop) -> tuple[Ints, Floats]:
    level = network.levels[stop.level]
    return level.gates, place(level, [stop]).gate_feet[:, 0] + stop.leg_feet


def legs_through(network: Network, start: Stop, end: Stop, gates: tuple[int, int]) -> list[Leg]:
    way = network.closure.way(*gates)
    legs: list[Leg] = [walk(network, start, stop_at_gate(network, way[0]))]
    legs += [step(network, one, other) for one, other in pairwise(way)]
    return [*legs, walk(network, stop_at_gate(network, way[-1]), end)]


def stop_at_gate(network: Network, gate: int) -> Stop:
    level = network.levels[network.gates[gate].level]
    vertex = int(level.gate_ids[np.flatnonzero(level.gates == gate)[0]])
    _, _, x, y = network.gates[gate]
    return Stop(network.gates[gate].level, x, y, x, y, 0.0, vertex)


def step(network: Network, one: int, other: int) -> Leg:
    """The leg between two gates that follow one another on a way."""
    start, end = network.gates[one], network.gates[other]
    if start.level == end.level:
        return walk(network, stop_at_gate(network, one), stop_at_gate(network, other))
    connector = network.connectors[start.connector]
    levels = network.levels[start.level].id, network.levels[end.level].id
    closure = network.closure
    feet, seconds = float(closure.feet[one, other]), float(closure.seconds[one, other])
    return Passage(connector.id, connector.kind, connector.name, *levels, feet, seconds)


def walk(network: Network, start: Stop, end: Stop) -> Walk:
    """The shortest walk between two stops of one level; there must be one."""
    level = network.levels[start.level]
    placed = place(level, [start, end])
    vertices = placed.graph.path(int(placed.ids[0]), int(placed.ids[1]))
    line = [(start.x, start.y), *map(tuple, placed.xy[vertices].tolist()), (end.x, end.y)]
    path = LineString(line)
    bends = [(x, y) for x, y in path.simplify(STRAIGHT_FEET).coords]
    return Walk(level.id, tuple(bends), path.length, path.length / network.feet_per_second)


def merge(legs: list[Leg]) -> list[Leg]:
    """Walks that follow one another as one; walks of no length left out."""
    merged: list[Leg] = []
    for leg in legs:
        last = merged[-1] if merged else None
        if isinstance(leg, Walk) and isinstance(last, Walk):
            points = (*last.points, *leg.points[1:])
            feet, seconds = last.feet + leg.feet, last.seconds + leg.seconds
            merged[-1] = Walk(leg.level_id, points, feet, seconds)
        elif isinstance(leg, Passage) or leg.feet > 0:
            merged.append(leg)
    return merged
