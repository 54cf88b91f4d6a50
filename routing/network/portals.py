"""Portals: the points where connectors are entered on each level, and the paths between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import numpy as np
import shapely
from shapely import Point, Polygon
from shapely.geometry.base import BaseGeometry
from shapely.ops import nearest_points

from routing.arrays import BoolArray, FloatArray, IntArray
from routing.costing import Costing, RideCost, TravelMode, cost_of, seconds_of
from routing.network.mesh import PUBLIC
from routing.plan import Connector, ConnectorKind, Direction, Polygonal
from routing.space.doors import Opening
from routing.space.floor import FloorSurface
from routing.space.plan_repair import extract_polygons, to_polygonal
from routing.space.walkable import WalkableLevel

NO_CONNECTOR = -1
MAX_DOOR_POINTS = 17
"""A one-way door has at most so many on either side; walks lead from one side to the other."""
MAX_DOOR_PORTALS = 600
"""Points of all one-way doors of a map; each has two at least."""
SAME_PLACE_FEET = 3.0
"""All drawings of a ramp within this show one place: no ramp is as short."""
INSET_FEET = 1e-5
"""These points are so far inside the floor that rounding puts none into a wall."""


class Portal(NamedTuple):
    """One end of a connector, or a point on one side of a one-way door.

    `level` and `connector` are indexes into the plan's tuples; a door has NO_CONNECTOR.
    """

    level: int
    connector: int
    x: float
    y: float
    door_id: str = ""


class Link(NamedTuple):
    """A ride between two portals of one connector, or a straight way through a one-way door.

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


class Passage(NamedTuple):
    """Points before (m, 2) and behind (n, 2) a one-way door, and which see each other (m, n)."""

    before: FloatArray
    behind: FloatArray
    is_clear: BoolArray


def find_passage(
    floor: FloorSurface, walkable_area: Polygonal, opening: Opening, count: int
) -> Passage | None:
    """Return up to `count` points on either side of a one-way door; None if it is in open floor.

    They are on the edges of the floor where the door begins and ends, from one end to the other.
    """
    assert opening.one_way is not None
    x, y = opening.one_way
    pieces = [floor.pieces[index].polygon for index in {*opening.piece_indexes}]
    beside = opening.shape.intersection(to_polygonal(pieces)).intersection(walkable_area)
    patches = extract_polygons(beside)
    if len(patches) < 2:
        return None
    patches.sort(key=lambda patch: float(_middle(patch) @ (x, y)))
    sides = patches[0], patches[-1]
    # Floor of a third space in it is no obstacle.
    shape = Polygon(opening.shape.exterior)
    gaps = extract_polygons(shape.difference(beside))
    gap = shapely.union_all([gap for gap in gaps if all(gap.dwithin(s, INSET_FEET) for s in sides)])
    before, behind = (spread_points(patch, gap, count) for patch in sides)
    lines = shapely.linestrings(
        np.stack(np.broadcast_arrays(before[:, None], behind[None]), axis=2)
    )
    is_clear = np.asarray(shapely.covers(shape.buffer(INSET_FEET, join_style="mitre"), lines))
    # A door of a shape that no line crosses is passed from one of its sides to the other.
    is_clear[0, 0] |= not is_clear.any()
    return Passage(before, behind, is_clear)


def _middle(patch: Polygon) -> FloatArray:
    return np.array(patch.representative_point().coords[0])


def spread_points(patch: Polygon, gap: BaseGeometry, count: int) -> FloatArray:
    """Return at most `count` points (n, 2) of a patch of floor along its edge at a gap."""
    inside = patch.buffer(-INSET_FEET, join_style="mitre").boundary
    edge = inside.intersection(gap.buffer(3 * INSET_FEET, join_style="mitre"))
    edge = shapely.simplify(shapely.line_merge(edge), 3 * INSET_FEET)
    if edge.length == 0:
        return shapely.get_coordinates(patch.representative_point())
    if count == 1:
        longest = max(shapely.get_parts(edge), key=shapely.length)
        return shapely.get_coordinates(longest.interpolate(0.5, normalized=True))
    step_feet = edge.length / (count - 1) * (1 + 1e-9)
    points = shapely.get_coordinates(shapely.segmentize(edge, step_feet))
    chosen = np.linspace(0, len(points) - 1, min(count, len(points))).round().astype(np.int64)
    return np.asarray(points[chosen])


def link_doors(
    portals: list[Portal],
    walkable: Sequence[WalkableLevel],
    areas: Sequence[Polygonal],
    openings: Sequence[Sequence[Opening]],
) -> list[tuple[int, int]]:
    """Return the ways through the one-way doors of all levels, and append their ends to `portals`.

    The more doors there are, the fewer points each has.
    """
    doors = sum(opening.one_way is not None for own in openings for opening in own)
    count = min(max(MAX_DOOR_PORTALS // (2 * doors), 1), MAX_DOOR_POINTS) if doors else 0
    links = []
    for level, (of_level, area, own) in enumerate(zip(walkable, areas, openings, strict=True)):
        for opening in own:
            if opening.one_way is None:
                continue
            passage = find_passage(of_level.floor, area, opening, count)
            if passage is None:
                continue
            first, behind = len(portals), len(portals) + len(passage.before)
            for x, y in np.concatenate((passage.before, passage.behind)).tolist():
                portals.append(Portal(level, NO_CONNECTOR, x, y, opening.door_id))
            for one, other in np.argwhere(passage.is_clear).tolist():
                links.append((first + one, behind + other))
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
        if portal.connector != NO_CONNECTOR:
            portals_of.setdefault(portal.connector, []).append(index)
    links: list[Link] = []
    for connector_index, own_portals in portals_of.items():
        connector = connectors[connector_index]
        if not costing.allows(mode, connector):
            continue
        for start, end in permutations(own_portals, 2):
            rise = ordinals[portals[end].level] - ordinals[portals[start].level]
            if allows_rise(connector.direction, rise):
                feet = measure_ride(connector, portals[start], portals[end], ordinals, costing)
                cost = costing.ride_cost(mode, connector.kind, abs(rise), feet)
                links.append(Link(start, end, cost))
    return links


def measure_ride(
    connector: Connector, start: Portal, end: Portal, ordinals: Sequence[float], costing: Costing
) -> float:
    """Return the length of a ride as it is drawn: never less than its ends are apart."""
    apart_feet = math.dist(start[2:4], end[2:4])
    if connector.kind is ConnectorKind.ELEVATOR:
        return apart_feet
    low, high = (measure_flights(connector, portal, ordinals) for portal in (start, end))
    feet = abs(high - low)
    if connector.kind is ConnectorKind.RAMP and not feet:
        first, *others = connector.entrances.values()
        if shapely.dwithin(first.representative_point(), others, SAME_PLACE_FEET).all():
            feet = costing.ramp_feet_per_storey * abs(ordinals[end.level] - ordinals[start.level])
    return max(feet, apart_feet)


def measure_flights(connector: Connector, portal: Portal, ordinals: Sequence[float]) -> float:
    """Return how far a portal is up along the flights of its connector."""
    feet, ordinal = 0.0, ordinals[portal.level]
    for (low, high), line in connector.flights.items():
        is_between = low < ordinal < high
        at = line.project(Point(portal.x, portal.y)) if is_between else line.length
        feet += float(at) if ordinal > low else 0.0
    return feet


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


def find_fastest_paths(
    walks_feet: FloatArray,
    links: Sequence[Link],
    feet_per_second: float,
    regions: IntArray | None = None,
) -> PortalPaths:
    """Return all fastest paths over rides and the walks between portals of one level (p, p).

    Walks are shortest already. So each link in turn makes some paths faster: of those to its start,
    only the ones on which it is the fastest way to its end, and likewise from its end. Paths use
    links in a guarded region, of the `regions` (p,) of portals, only if they begin or end there.
    """
    regions = np.full(len(walks_feet), PUBLIC) if regions is None else regions
    feet = walks_feet.copy()
    costs = cost_of(feet / feet_per_second, feet)
    next_portal = np.where(np.isfinite(costs), np.arange(len(feet)), -1)
    # In the order of a row of doors, each would be the best so far for half of the portals.
    for index in np.random.default_rng(0).permutation(len(links)).tolist():
        start, end, ride = links[index]
        cost = cost_of(ride.seconds, ride.feet)
        starts = np.flatnonzero(costs[:, start] + cost < costs[:, end])
        ends = np.flatnonzero(cost + costs[end] < costs[start])
        pairs = np.ix_(starts, ends)
        through = costs[starts, start, None] + (cost + costs[end, ends])
        for inside in {*regions[[start, end]].tolist()} - {PUBLIC}:
            through[(regions[starts, None] != inside) & (regions[ends] != inside)] = np.inf
        rows, columns = np.nonzero(through < costs[pairs])
        one, other = starts[rows], ends[columns]
        # The path begins like the one to the link.
        first = np.where(one == start, end, next_portal[one, start])
        feet[one, other] = feet[one, start] + (ride.feet + feet[end, other])
        costs[one, other], next_portal[one, other] = through[rows, columns], first
    return PortalPaths(seconds_of(costs, feet), feet, next_portal)


def portals_on_level(portals: Sequence[Portal], level: int) -> tuple[IntArray, FloatArray]:
    """Return the indexes and the positions (n, 2) of the portals on one level."""
    own = [index for index, portal in enumerate(portals) if portal.level == level]
    xy = np.array([(portals[index].x, portals[index].y) for index in own]).reshape(-1, 2)
    return np.array(own, dtype=np.int64), xy
