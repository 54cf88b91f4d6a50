"""Gates: where connectors are entered on each level, and the fastest ways between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import numpy as np
from shapely.geometry.base import BaseGeometry
from shapely.ops import nearest_points

from routing.arrays import FloatArray, IntArray
from routing.costing import Costing, RideCost, TravelMode
from routing.plan import Connector, Direction, Polygonal
from routing.space.floor import FloorSurface
from routing.space.plan_repair import to_polygonal


class Portal(NamedTuple):
    """One end of a connector: `level` and `connector` are positions in the plan's tuples."""

    level: int
    connector: int
    x: float
    y: float


class Link(NamedTuple):
    """A ride from one portal to another of the same connector, by their positions."""

    start: int
    end: int
    cost: RideCost


def find_entry_point(
    floor: FloorSurface, free: Polygonal, place: BaseGeometry, within_feet: float
) -> tuple[float, float] | None:
    """Where a connector is entered: in the middle of its place, or at the floor nearest to it.

    Corridors and areas come before rooms, which have walls. None if no floor is near.
    """
    middle = place.centroid if place.covers(place.centroid) else place.representative_point()
    inside = place.intersection(free)
    if not inside.is_empty:
        entry = nearest_points(inside, middle)[0]
        return entry.x, entry.y
    open_floor = to_polygonal([piece.polygon for piece in floor.pieces if piece.room_id is None])
    for area in (open_floor.intersection(free), free):
        if not area.is_empty:
            entry = nearest_points(area, place)[0]
            if entry.distance(place) <= within_feet:
                return entry.x, entry.y
    return None


def list_links(
    portals: Sequence[Portal],
    connectors: Sequence[Connector],
    ordinals: Sequence[float],
    mode: TravelMode,
    costing: Costing,
) -> list[Link]:
    """Every ride between two levels of one connector that its direction and `mode` permit."""
    ends: dict[int, list[int]] = {}
    for index, portal in enumerate(portals):
        ends.setdefault(portal.connector, []).append(index)
    links: list[Link] = []
    for at, own in ends.items():
        connector = connectors[at]
        if not costing.allows(mode, connector):
            continue
        for start, end in permutations(own, 2):
            rise = ordinals[portals[end].level] - ordinals[portals[start].level]
            if allows_rise(connector.direction, rise):
                links.append(Link(start, end, costing.ride_cost(mode, connector.kind, abs(rise))))
    return links


def allows_rise(direction: Direction | None, rise: float) -> bool:
    return direction is None or (rise > 0) == (direction is Direction.UP)


@dataclass(frozen=True)
class PortalPaths:
    """The fastest way from each portal to each other, all (g, g); inf where there is none.

    `feet` are those of the fastest way. `next_portal` is the portal after the row's on the way to the
    column's, -1 where there is none.
    """

    seconds: FloatArray
    feet: FloatArray
    next_portal: IntArray

    def path(self, start: int, end: int) -> list[int]:
        """The portals of the fastest way, both ends included; there must be one."""
        way = [start]
        while way[-1] != end:
            way.append(int(self.next_portal[way[-1], end]))
        return way


def floyd_warshall(
    walks_feet: FloatArray, links: Iterable[Link], feet_per_second: float
) -> PortalPaths:
    """All fastest ways, from walks between portals of one level (g, g) and rides (Floyd 1962)."""
    count = len(walks_feet)
    feet = walks_feet.copy()
    seconds = feet / feet_per_second
    for start, end, ride in links:
        if ride.seconds < seconds[start, end]:
            seconds[start, end], feet[start, end] = ride.seconds, ride.feet
    columns = np.broadcast_to(np.arange(count), (count, count))
    next_portal = np.where(np.isfinite(seconds), columns, -1)
    for via in range(count):
        candidate = seconds[:, via, None] + seconds[via]
        shorter = candidate < seconds
        seconds[shorter] = candidate[shorter]
        feet[shorter] = (feet[:, via, None] + feet[via])[shorter]
        next_portal[shorter] = np.broadcast_to(next_portal[:, via, None], (count, count))[shorter]
    return PortalPaths(seconds, feet, next_portal)


def portals_on_level(portals: Sequence[Portal], level: int) -> tuple[IntArray, FloatArray]:
    """The portals on one level: which they are, and where (n, 2)."""
    own = [index for index, portal in enumerate(portals) if portal.level == level]
    xy = np.array([(portals[index].x, portals[index].y) for index in own]).reshape(-1, 2)
    return np.array(own, dtype=np.int64), xy
