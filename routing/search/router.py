"""The query interface of a routable map: matrices, routes, nearest locations, isochrones.

A route has its geometry: walks as lines on levels, and rides on connectors.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from shapely import LineString

from routing.arrays import FloatArray, IntArray
from routing.costing import TravelMode, cost_of
from routing.network.levels import is_foreign
from routing.network.network import Network, Stops
from routing.plan import ConnectorKind
from routing.search.isochrone import Isochrone, find_isochrone
from routing.search.matrix import (
    DistanceTable,
    Position,
    TravelMatrix,
    WaypointRef,
    compute_matrix,
    find_coinciding,
    find_stops,
)
from routing.search.walks import measure_portal_walks, measure_walks, place_stops, trace_walk
from routing.values import NearestLocation as NearestLocation

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
    """A ride or climb by one connector from one level to another, between two points in feet."""

    connector_id: str
    kind: ConnectorKind
    name: str
    from_level_id: str
    to_level_id: str
    feet: float
    seconds: float
    start: tuple[float, float]
    end: tuple[float, float]


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
    start, end = find_stops(network, [source]), find_stops(network, [target])
    if not (start.are_attached[0] and end.are_attached[0]):
        return None
    level, (x, y) = int(start.levels[0]), start.xy[0].tolist()
    if find_coinciding(start, end)[0, 0]:
        return ComputedRoute((WalkLeg(network.levels.ids[level], ((x, y),), 0.0, 0.0),))
    walk_feet = np.inf
    if level == end.levels[0]:
        placed = (place_stops(network.levels, stop) for stop in (start, end))
        walk_feet = float(measure_walks(network.levels, *placed)[0, 0])
    portals, cost_by_portals = fastest_portals(network, start, end)
    # If neither exists, both sides are infinite, which is the case of no route.
    if cost_of(walk_feet / network.feet_per_second, walk_feet) <= cost_by_portals:
        return (
            ComputedRoute((build_walk_leg(network, start, end),))
            if np.isfinite(walk_feet)
            else None
        )
    return ComputedRoute(tuple(merge_walks(legs_through_portals(network, start, end, portals))))


def fastest_portals(network: Network, start: Stops, end: Stops) -> tuple[tuple[int, int], float]:
    """Return the first and last portal of the fastest route through portals, and its cost."""
    ends = network.levels.mesh.regions[[start.triangles[0], end.triangles[0]]].tolist()
    usable = np.flatnonzero(~is_foreign(network.portal_regions, *ends))
    among = (np.intersect1d(each, usable) for each in (network.link_starts, network.link_ends))
    (first, first_feet), (last, last_feet) = (
        portal_distances(network, stop, portals)
        for stop, portals in zip((start, end), among, strict=True)
    )
    if not len(first) or not len(last):
        return (-1, -1), np.inf
    walk_feet, between = first_feet[:, None] + last_feet, np.ix_(first, last)
    paths, speed = network.portal_paths, network.feet_per_second
    costs = cost_of(walk_feet / speed, walk_feet)
    costs += cost_of(paths.seconds[between], paths.feet[between])
    row, column = np.unravel_index(costs.argmin(), costs.shape)
    return (int(first[row]), int(last[column])), float(costs[row, column])


def portal_distances(network: Network, stop: Stops, among: IntArray) -> tuple[IntArray, FloatArray]:
    """Return which of some portals are on the stop's level, and the walks to them in feet."""
    portals = network.levels.portals[stop.levels[0]]
    walks = measure_portal_walks(network.levels, place_stops(network.levels, stop))[0]
    chosen = np.isin(portals, among)
    return portals[chosen], walks[chosen]


def legs_through_portals(
    network: Network, start: Stops, end: Stops, portals: tuple[int, int]
) -> list[Leg]:
    """Return the legs of the fastest route through this first and last portal."""
    path = network.portal_paths.path(*portals)
    legs: list[Leg] = [build_walk_leg(network, start, portal_stop(network, path[0]))]
    legs += [leg_between_portals(network, one, other) for one, other in pairwise(path)]
    return [*legs, build_walk_leg(network, portal_stop(network, path[-1]), end)]


def portal_stop(network: Network, portal: int) -> Stops:
    """Return a portal, given by index, as a stop."""
    at = network.portals[portal]
    return network.attach(network.level_numbers[[at.level]], np.array([(at.x, at.y)]))


def leg_between_portals(network: Network, one: int, other: int) -> Leg:
    """Return the leg between two consecutive portals of a path."""
    start, end = network.portals[one], network.portals[other]
    if start.level == end.level and is_way_through(network, one, other):
        points = (start.x, start.y), (end.x, end.y)
        level_id = network.levels.ids[network.level_numbers[start.level]]
        feet = float(network.portal_paths.feet[one, other])
        return WalkLeg(level_id, points, feet, feet / network.feet_per_second)
    if start.level == end.level:
        return build_walk_leg(network, portal_stop(network, one), portal_stop(network, other))
    connector = network.connectors[start.connector]
    from_level, to_level = network.level_numbers[[start.level, end.level]].tolist()
    levels = network.levels.ids[from_level], network.levels.ids[to_level]
    portal_paths = network.portal_paths
    feet, seconds = float(portal_paths.feet[one, other]), float(portal_paths.seconds[one, other])
    ends = (start.x, start.y), (end.x, end.y)
    return ConnectorLeg(connector.id, connector.kind, connector.name, *levels, feet, seconds, *ends)


def is_way_through(network: Network, one: int, other: int) -> bool:
    """Return whether a path leads through a one-way door here, and not around it."""
    return network.link_feet.get((one, other)) == float(network.portal_paths.feet[one, other])


def build_walk_leg(network: Network, start: Stops, end: Stops) -> WalkLeg:
    """Return the shortest walk between two stops of one level; there must be one."""
    levels = network.levels
    bends = trace_walk(levels, place_stops(levels, start), place_stops(levels, end))
    line = np.concatenate((start.xy, bends, end.xy)).tolist()
    # Its length is taken before it is simplified, so that it equals the matrix's.
    path = LineString(line)
    points = [(x, y) for x, y in path.simplify(STRAIGHT_TOLERANCE_FEET).coords]
    level_id = levels.ids[start.levels[0]]
    return WalkLeg(level_id, tuple(points), path.length, path.length / network.feet_per_second)


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


__all__ = [
    "ComputedRoute",
    "Isochrone",
    "NearestLocation",
    "Position",
    "Router",
    "TravelMatrix",
    "TravelMode",
    "WaypointRef",
]


SAME_DECIMALS = 6
"""Times and lengths of routes that differ by less differ by rounding."""


@dataclass(frozen=True)
class Router:
    """Networks of a map, and distance tables unless it has too many locations.

    Methods raise WaypointError for an unknown location. A position on an unknown level is treated
    as unreachable.
    """

    networks: Mapping[TravelMode, Network]
    tables: Mapping[TravelMode, DistanceTable] = field(default_factory=dict)

    def matrix(
        self,
        sources: Sequence[WaypointRef],
        targets: Sequence[WaypointRef],
        mode: TravelMode = TravelMode.FOOT,
    ) -> TravelMatrix:
        """Return distances from the table if all waypoints are locations, else by search."""
        if self.has_distances((*sources, *targets), mode):
            return self.tables[mode].look_up(sources, targets)
        return compute_matrix(self.networks[mode], sources, targets)

    def has_distances(self, waypoints: Iterable[WaypointRef], mode: TravelMode) -> bool:
        """Return whether distances between waypoints are in the table, and need no search."""
        return mode in self.tables and self.location_index.keys() >= {*waypoints}

    @cached_property
    def location_index(self) -> Mapping[str, int]:
        """The positions of locations by id; those of all modes are the same, attached or not."""
        return self.networks[TravelMode.FOOT].location_index

    def has_location(self, location_id: str) -> bool:
        return location_id in self.location_index

    def has_level(self, level_id: str) -> bool:
        return level_id in self.networks[TravelMode.FOOT].level_index

    def are_attached(
        self, waypoints: Collection[WaypointRef], mode: TravelMode = TravelMode.FOOT
    ) -> bool:
        """Return whether all waypoints are on the walkable area, or near enough to it."""
        network = self.networks[mode]
        attached = network.attached_ids
        if attached.issuperset(waypoints):
            return True
        others = [point for point in waypoints if point not in attached]
        return bool(find_stops(network, others).are_attached.all())

    def route(
        self, source: WaypointRef, target: WaypointRef, mode: TravelMode = TravelMode.FOOT
    ) -> ComputedRoute | None:
        """Return the fastest route, None if there is none."""
        return find_route(self.networks[mode], source, target)

    def nearest_from_each(
        self,
        sources: Sequence[WaypointRef],
        candidates: Sequence[str],
        limit: int,
        mode: TravelMode = TravelMode.FOOT,
        max_seconds: float = math.inf,
    ) -> list[list[NearestLocation]]:
        """Return for each source at most `limit` reachable `candidates`, nearest in time first.

        None of them is farther than `max_seconds`. All come from one matrix.
        """
        all_feet, all_seconds = self.matrix(sources, candidates, mode)
        found = []
        for feet, seconds in zip(all_feet, all_seconds, strict=True):
            # Stable: candidates with equal times and lengths keep the caller's order. NaN, no
            # path, sorts last.
            order = np.lexsort((feet.round(SAME_DECIMALS), seconds.round(SAME_DECIMALS)))
            near = order[np.isfinite(seconds[order]) & (seconds[order] <= max_seconds)][:limit]
            found.append(
                [NearestLocation(candidates[i], float(feet[i]), float(seconds[i])) for i in near]
            )
        return found

    def isochrone(
        self, source: WaypointRef, seconds: float, mode: TravelMode = TravelMode.FOOT
    ) -> Isochrone:
        """Return what is within `seconds` of a source; areas are computed when asked for."""
        return find_isochrone(self.networks[mode], source, seconds)
