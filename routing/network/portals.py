"""Portals: the points where connectors are entered on each level, and the paths between them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import numpy as np
from shapely import Point
from shapely.geometry.base import BaseGeometry
from shapely.ops import nearest_points

from routing.arrays import FloatArray, IntArray
from routing.costing import Costing, RideCost, TravelMode, cost_of, seconds_of
from routing.plan import Connector, Direction, Polygonal
from routing.space.doors import Opening
from routing.space.floor import FloorSurface
from routing.space.plan_repair import extract_polygons, to_polygonal

NO_CONNECTOR = -1


class Portal(NamedTuple):
    """One end of a connector, or one side of a one-way door.

    `level` and `connector` are indexes into the plan's tuples; a door has NO_CONNECTOR.
    """

    level: int
    connector: int
    x: float
    y: float
    door_id: str = ""


class Link(NamedTuple):
    """A ride between two portals of one connector, or the way through a one-way door.

    `start` and `end` are their indexes.
    """

    start: int
    end: int
    cost: RideCost


def find_entry_point(
    floor: FloorSurface, walkable_area: Polygonal, entrance: BaseGeometry, within_feet: float
) -> tuple[float, float] | None:
    """Return where a connector is entered: in the middle of `entrance`, or on the nearest floor.

    Corridors and areas are preferred to rooms, which have walls. Returns None if no floor lies
    within `within_feet`.
    """
    centroid = entrance.centroid
    # The centroid of a shape such as a U-shaped flight of stairs may lie outside it.
    middle = centroid if entrance.covers(centroid) else entrance.representative_point()
    inside = entrance.intersection(walkable_area)
    if not inside.is_empty:
        entry = nearest_points(inside, middle)[0]
        return entry.x, entry.y
    open_floor = to_polygonal([piece.polygon for piece in floor.pieces if piece.room_id is None])
    for area in (open_floor.intersection(walkable_area), walkable_area):
        if not area.is_empty:
            entry = nearest_points(area, entrance)[0]
            if entry.distance(entrance) <= within_feet:
                return entry.x, entry.y
    return None


def find_sides(
    floor: FloorSurface, walkable_area: Polygonal, opening: Opening
) -> tuple[Point, Point] | None:
    """Return a point before and one behind a one-way door; None if it stands in open floor."""
    assert opening.one_way is not None
    x, y = opening.one_way
    pieces = [floor.pieces[index].polygon for index in {*opening.piece_indexes}]
    beside = opening.shape.intersection(to_polygonal(pieces)).intersection(walkable_area)
    patches = extract_polygons(beside)
    points = [patch.representative_point() for patch in patches]
    points.sort(key=lambda point: point.x * x + point.y * y)
    return (points[0], points[-1]) if len(points) > 1 else None


def list_door_portals(
    floor: FloorSurface, walkable_area: Polygonal, level: int, openings: Iterable[Opening]
) -> list[Portal]:
    """Return two portals for each one-way door of a level: one before it, then one behind it."""
    return [
        Portal(level, NO_CONNECTOR, point.x, point.y, opening.door_id)
        for opening in openings
        if opening.one_way is not None
        for point in find_sides(floor, walkable_area, opening) or ()
    ]


def link_doors(portals: Sequence[Portal], first: int, feet_per_second: float) -> list[Link]:
    """Return the ways through one-way doors, whose portals are in pairs from index `first` on."""
    links = []
    for before in range(first, len(portals), 2):
        one, other = portals[before], portals[before + 1]
        feet = math.dist((one.x, one.y), (other.x, other.y))
        links.append(Link(before, before + 1, RideCost(feet, feet / feet_per_second)))
    return links


def list_links(
    portals: Sequence[Portal],
    connectors: Sequence[Connector],
    ordinals: Sequence[float],
    mode: TravelMode,
    costing: Costing,
) -> list[Link]:
    """Return every ride that `mode` and the connector's direction allow.

    `ordinals` are those of the plan's levels.
    """
    portals_of: dict[int, list[int]] = {}
    for index, portal in enumerate(portals):
        portals_of.setdefault(portal.connector, []).append(index)
    links: list[Link] = []
    for connector_index, own_portals in portals_of.items():
        connector = connectors[connector_index]
        if not costing.allows(mode, connector):
            continue
        for start, end in permutations(own_portals, 2):
            rise = ordinals[portals[end].level] - ordinals[portals[start].level]
            if allows_rise(connector.direction, rise):
                links.append(Link(start, end, costing.ride_cost(mode, connector.kind, abs(rise))))
    return links


def allows_rise(direction: Direction | None, rise: float) -> bool:
    """Return whether a connector moves by `rise` storeys, negative for down.

    >>> allows_rise(Direction.UP, 2), allows_rise(Direction.UP, -1), allows_rise(None, -1)
    (True, False, True)
    """
    return direction is None or (rise > 0) == (direction is Direction.UP)


@dataclass(frozen=True)
class PortalPaths:
    """The fastest path from each portal (rows) to each other (columns); all arrays (p, p).

    `feet` is the length of the fastest path, not of the shortest. Both are inf if there is no path.
    `next_portal` is the second portal of the path, or -1.
    """

    seconds: FloatArray
    feet: FloatArray
    next_portal: IntArray

    def path(self, start: int, end: int) -> list[int]:
        """Return the portals of the fastest path, both ends included; there must be one."""
        path = [start]
        while path[-1] != end:
            path.append(int(self.next_portal[path[-1], end]))
        return path


def floyd_warshall(
    walks_feet: FloatArray, links: Iterable[Link], feet_per_second: float
) -> PortalPaths:
    """Return all fastest paths over rides and the walks between portals of one level (p, p).

    Floyd, Algorithm 97: Shortest Path (1962).
    """
    count = len(walks_feet)
    feet = walks_feet.copy()
    costs = cost_of(feet / feet_per_second, feet)
    for start, end, ride in links:
        cost = cost_of(ride.seconds, ride.feet)
        if cost < costs[start, end]:
            costs[start, end], feet[start, end] = cost, ride.feet
    next_portal = np.where(np.isfinite(costs), np.arange(count), -1)
    for via in range(count):
        # All pairs can be updated at once: a round never changes the row and column of its own
        # `via`, because the diagonal is 0.
        candidate = costs[:, via, None] + costs[via]
        starts, ends = np.nonzero(candidate < costs)
        costs[starts, ends] = candidate[starts, ends]
        feet[starts, ends] = feet[starts, via] + feet[via, ends]
        # The path begins like the one to `via`.
        next_portal[starts, ends] = next_portal[starts, via]
    return PortalPaths(seconds_of(costs, feet), feet, next_portal)


def portals_on_level(portals: Sequence[Portal], level: int) -> tuple[IntArray, FloatArray]:
    """Return the indexes and the positions (n, 2) of the portals on one level."""
    own = [index for index, portal in enumerate(portals) if portal.level == level]
    xy = np.array([(portals[index].x, portals[index].y) for index in own]).reshape(-1, 2)
    return np.array(own, dtype=np.int64), xy
