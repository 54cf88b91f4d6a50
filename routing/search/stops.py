"""Waypoints found on a network: locations by id, and positions anywhere on a level."""

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
    """A place on a level, in feet."""

    level_id: str
    x: float
    y: float


WaypointRef: TypeAlias = str | Position
"""The id of a location, or a position."""


UNKNOWN_LEVEL = -1


class Stop(NamedTuple):
    """A waypoint on the network, or on none of its levels.

    `vertex` and `location`, its place among the network's locations, are -1 for a position, which
    sees the graph from (`near_x`, `near_y`); a waypoint outside the walkable space lies `offset_feet`
    from there. `attached` is False where nothing walkable is near.
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
    """Raises WaypointError for a location that the network does not have."""
    if isinstance(waypoint, str):
        return find_location_stop(network, waypoint)
    level_id, x, y = waypoint
    index = network.level_index.get(level_id)
    if not np.isfinite((x, y)).all():
        raise WaypointError(f"({x}, {y}) is no position; give finite numbers, in feet.")
    if index is None:
        return Stop(UNKNOWN_LEVEL, x, y, x, y, 0.0, is_attached=False)
    level = network.levels[index]
    found = attach(level.walkable_area, level.rooms, x, y, network.costing.attach_feet)
    if found is None:
        return Stop(index, x, y, x, y, 0.0, is_attached=False)
    return Stop(index, x, y, *found)


def find_location_stop(network: Network, location_id: str) -> Stop:
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
    """A level's graph with the positions among `stops` added; `ids` are the stops' vertices."""

    graph: WalkGraph
    xy: FloatArray
    stop_vertices: IntArray
    portal_feet: FloatArray
    """The walks from each of the level's portals to each stop (portals, stops)."""


def augment_graph(level: LevelNetwork, stops: Sequence[Stop]) -> AugmentedGraph:
    """Every one of `stops` as a vertex of the level's graph; all are on it and attached."""
    ids, points, edges = connect_stops(level, stops)
    if not len(points):
        return AugmentedGraph(level.graph, level.xy, ids, level.portal_feet[:, ids])
    graph = level.graph.with_vertices(len(points), edges)
    portal_feet = graph.distances(level.portal_vertices, ids)
    return AugmentedGraph(graph, np.concatenate((level.xy, points)), ids, portal_feet)


def connect_stops(
    level: LevelNetwork, stops: Sequence[Stop]
) -> tuple[IntArray, FloatArray, list[Edges]]:
    """The vertices of stops, with new ones for positions: where those are, and what they see."""
    ids = np.array([stop.vertex for stop in stops], dtype=np.int64)
    new = np.flatnonzero(ids < 0)
    points = np.array([(stop.near_x, stop.near_y) for stop in stops if stop.vertex < 0])
    if not len(new):
        return ids, points.reshape(-1, 2), []
    count = level.graph.vertex_count
    ids[new] = np.arange(count, count + len(new))
    others = np.unique(np.concatenate((level.portal_vertices, ids[ids < count])))
    edges = edges_from_stops(level.regions, level.xy, points, ids[new])
    edges += edges_to_points(level.regions, points, ids[new], level.xy[others], others)
    return ids, points, edges
