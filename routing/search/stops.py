"""Stops: waypoints located on a network, by location id or by position on a level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from routing.arrays import FloatArray, IntArray
from routing.errors import WaypointError
from routing.network.network import LevelNetwork, Network
from routing.network.regions import attach, edges_from_stops, edges_to_points
from routing.network.visibility import Edges
from routing.network.walk_graph import WalkGraph


class Position(NamedTuple):
    """A point on a level, in feet."""

    level_id: str
    x: float
    y: float


WaypointRef: TypeAlias = str | Position
"""The id of a location, or a position."""


UNKNOWN_LEVEL = -1


class Stop(NamedTuple):
    """A waypoint at (x, y) on a level of the network, or on UNKNOWN_LEVEL.

    It joins the walkable area at (`near_x`, `near_y`), `offset_feet` away. `is_attached` is False
    if no walkable area is near. `vertex` and `location_index` are -1 for a position.
    """

    level: int
    x: float
    y: float
    near_x: float
    near_y: float
    offset_feet: float
    vertex: int = -1
    is_attached: bool = True
    location_index: int = -1


def find_stop(network: Network, waypoint: WaypointRef) -> Stop:
    """Return a waypoint's stop.

    Raises WaypointError for an unknown location, or a position that is not finite.
    """
    if isinstance(waypoint, str):
        return find_location_stop(network, waypoint)
    level_id, x, y = waypoint
    index = network.level_index.get(level_id)
    if not np.isfinite((x, y)).all():
        raise WaypointError(f"({x}, {y}) is not a position; give finite numbers, in feet.")
    if index is None:
        return Stop(UNKNOWN_LEVEL, x, y, x, y, 0.0, is_attached=False)
    level = network.levels[index]
    attachment = attach(level.walkable_area, level.rooms, x, y, network.costing.attach_feet)
    if attachment is None:
        return Stop(index, x, y, x, y, 0.0, is_attached=False)
    return Stop(index, x, y, *attachment)


def find_location_stop(network: Network, location_id: str) -> Stop:
    """Return a location's stop. Raises WaypointError for an unknown location."""
    index = network.location_index.get(location_id)
    if index is None:
        raise WaypointError(f"The map has no location {location_id!r}.")
    _, level, x, y, vertex, offset_feet = network.locations[index]
    if vertex < 0:
        return Stop(level, x, y, x, y, 0.0, is_attached=False)
    near_x, near_y = network.levels[level].xy[vertex].tolist()
    return Stop(level, x, y, near_x, near_y, offset_feet, vertex, location_index=index)


@dataclass(frozen=True)
class AugmentedGraph:
    """A level's graph with vertices added for positions; `stop_vertices` are those of all stops."""

    graph: WalkGraph
    xy: FloatArray
    stop_vertices: IntArray
    portal_feet: FloatArray
    """Walks from the level's portals to the stops (portals, stops)."""


def augment_graph(level: LevelNetwork, stops: Sequence[Stop]) -> AugmentedGraph:
    """Return the level's graph with a vertex for each stop; all must be on it and attached."""
    ids, points, edges = connect_stops(level, stops)
    if not len(points):
        return AugmentedGraph(level.graph, level.xy, ids, level.portal_feet[:, ids])
    graph = level.graph.with_vertices(len(points), edges)
    portal_feet = graph.distances(level.portal_vertices, ids)
    return AugmentedGraph(graph, np.concatenate((level.xy, points)), ids, portal_feet)


def connect_stops(
    level: LevelNetwork, stops: Sequence[Stop]
) -> tuple[IntArray, FloatArray, list[Edges]]:
    """Return the vertices of stops, the positions (n, 2) of the new ones, and their edges."""
    ids = np.array([stop.vertex for stop in stops], dtype=np.int64)
    new = np.flatnonzero(ids < 0)
    points = np.array([(stop.near_x, stop.near_y) for stop in stops if stop.vertex < 0])
    if not len(new):
        return ids, points.reshape(-1, 2), []
    count = level.graph.vertex_count
    ids[new] = np.arange(count, count + len(new))
    # Edges to other locations are not needed: a shortest walk bends only at corners.
    others = np.unique(np.concatenate((level.portal_vertices, ids[ids < count])))
    edges = edges_from_stops(level.regions, level.xy, points, ids[new])
    edges += edges_to_points(level.regions, points, ids[new], level.xy[others], others)
    return ids, points, edges
