"""Questions to a routable map: matrices, straight lines, routes, what is nearest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from routing.costing import TravelMode
from routing.network.network import Network
from routing.search.distance_table import DistanceTable
from routing.search.euclidean import euclidean_distances, list_points
from routing.search.matrix import TravelMatrix, compute_matrix
from routing.search.route import Route, find_route
from routing.search.stops import Position, WaypointRef, find_stop

__all__ = [
    "NearestLocation",
    "Position",
    "Route",
    "Router",
    "TravelMatrix",
    "TravelMode",
    "WaypointRef",
]


class NearestLocation(NamedTuple):
    """A location and how far it is by the fastest route."""

    location_id: str
    feet: float
    seconds: float


@dataclass(frozen=True)
class Router:
    """A map's networks, and its tables where it has them.

    Every method raises WaypointError for a location that the map does not have. A position on a
    level that it does not have is like one that lies far from everything walkable.
    """

    networks: Mapping[TravelMode, Network]
    tables: Mapping[TravelMode, DistanceTable] = field(default_factory=dict)

    def matrix(
        self,
        sources: Sequence[WaypointRef],
        targets: Sequence[WaypointRef],
        mode: TravelMode = TravelMode.FOOT,
    ) -> TravelMatrix:
        """From the table if every waypoint is a location, else by search."""
        table = self.tables.get(mode)
        known = [place for place in (*sources, *targets) if isinstance(place, str)]
        if table is not None and len(known) == len(sources) + len(targets):
            return table.look_up(known[: len(sources)], known[len(sources) :])
        return compute_matrix(self.networks[mode], sources, targets)

    def euclidean_matrix(
        self,
        sources: Sequence[WaypointRef],
        targets: Sequence[WaypointRef],
        mode: TravelMode = TravelMode.FOOT,
    ) -> TravelMatrix:
        """Straight lines on the plan, whatever stands in between."""
        network = self.networks[mode]
        starts, ends = list_points(network, sources), list_points(network, targets)
        return euclidean_distances(starts, ends, network.feet_per_second)

    def has_location(self, location_id: str) -> bool:
        return location_id in self.networks[TravelMode.FOOT].location_index

    def has_level(self, level_id: str) -> bool:
        return level_id in self.networks[TravelMode.FOOT].level_index

    def is_attached(self, waypoint: WaypointRef, mode: TravelMode = TravelMode.FOOT) -> bool:
        """Whether it lies in the walkable space, or near enough to it."""
        return self.are_attached([waypoint], mode)

    def are_attached(
        self, waypoints: Iterable[WaypointRef], mode: TravelMode = TravelMode.FOOT
    ) -> bool:
        """Whether all of them are; of locations that is known beforehand."""
        network = self.networks[mode]
        others = [each for each in waypoints if each not in network.attached_location_ids]
        return all(find_stop(network, waypoint).is_attached for waypoint in others)

    def route(
        self, source: WaypointRef, target: WaypointRef, mode: TravelMode = TravelMode.FOOT
    ) -> Route | None:
        return find_route(self.networks[mode], source, target)

    def nearest(
        self,
        source: WaypointRef,
        candidates: Sequence[str],
        limit: int,
        mode: TravelMode = TravelMode.FOOT,
    ) -> list[NearestLocation]:
        """The first `limit` of `candidates` by seconds, without those that cannot be reached."""
        feet, seconds = (cells[0] for cells in self.matrix([source], candidates, mode))
        order = np.argsort(seconds, kind="stable")
        reached = order[np.isfinite(seconds[order])][:limit]
        return [NearestLocation(candidates[i], float(feet[i]), float(seconds[i])) for i in reached]
