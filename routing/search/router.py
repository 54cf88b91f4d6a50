"""The query interface of a routable map: matrices, routes, nearest locations, isochrones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from routing.costing import TravelMode
from routing.network.network import Network
from routing.search.distance_table import DistanceTable
from routing.search.isochrone import Isochrone, find_isochrone
from routing.search.matrix import TravelMatrix, compute_matrix
from routing.search.route import ComputedRoute, find_route
from routing.search.waypoints import Position, WaypointRef, find_stops
from routing.values import NearestLocation as NearestLocation

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
        table = self.tables.get(mode)
        ids = [waypoint for waypoint in (*sources, *targets) if isinstance(waypoint, str)]
        if table is not None and len(ids) == len(sources) + len(targets):
            return table.look_up(ids[: len(sources)], ids[len(sources) :])
        return compute_matrix(self.networks[mode], sources, targets)

    @cached_property
    def location_index(self) -> Mapping[str, int]:
        """The positions of locations by id; those of all modes are the same, attached or not."""
        return self.networks[TravelMode.FOOT].location_index

    def has_location(self, location_id: str) -> bool:
        return location_id in self.location_index

    def has_level(self, level_id: str) -> bool:
        return level_id in self.networks[TravelMode.FOOT].level_index

    def are_attached(
        self, waypoints: Iterable[WaypointRef], mode: TravelMode = TravelMode.FOOT
    ) -> bool:
        """Return whether all waypoints are on the walkable area, or near enough to it."""
        network = self.networks[mode]
        attached = network.attached_ids
        others = [point for point in waypoints if point not in attached]
        return not others or bool(find_stops(network, others).are_attached.all())

    def route(
        self, source: WaypointRef, target: WaypointRef, mode: TravelMode = TravelMode.FOOT
    ) -> ComputedRoute | None:
        """Return the fastest route, None if there is none."""
        return find_route(self.networks[mode], source, target)

    def nearest(
        self,
        source: WaypointRef,
        candidates: Sequence[str],
        limit: int,
        mode: TravelMode = TravelMode.FOOT,
        max_seconds: float = math.inf,
    ) -> list[NearestLocation]:
        """Return at most `limit` reachable `candidates`, those with the fastest routes first.

        None of them is farther than `max_seconds`.
        """
        [found] = self.nearest_from_each([source], candidates, limit, mode, max_seconds)
        return found

    def nearest_from_each(
        self,
        sources: Sequence[WaypointRef],
        candidates: Sequence[str],
        limit: int,
        mode: TravelMode = TravelMode.FOOT,
        max_seconds: float = math.inf,
    ) -> list[list[NearestLocation]]:
        """Return for each source what `nearest` returns, from one matrix."""
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
