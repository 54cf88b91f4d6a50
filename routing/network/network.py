"""The network of a map in one travel mode: a graph per level, portals, links and locations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import shapely

from routing.arrays import FloatArray, IntArray
from routing.costing import Costing, TravelMode
from routing.network.corners import find_corners
from routing.network.labels import Labels, build_labels
from routing.network.mesh import Mesh, grow, triangulate
from routing.network.portals import (
    Link,
    Portal,
    PortalPaths,
    find_entry_point,
    floyd_warshall,
    list_links,
    portals_on_level,
)
from routing.network.stops import Stops, attach, join_stops, stops_outside
from routing.network.views import (
    Views,
    all_round,
    join_sectors,
    spread_views,
    tangent_sectors,
)
from routing.network.walk_graph import WalkGraph, build_walk_graph
from routing.plan import ConnectorKind, Plan, PlanLocation, Polygonal
from routing.space.walkable import WalkableLevel

MAX_LABELLED_VERTICES = 4_000
"""Levels with more vertices get no labels, which take memory by the square of them to compute;
walks there are searched instead.
"""


class ConnectorInfo(NamedTuple):
    """The part of a connector that a route shows."""

    id: str
    kind: ConnectorKind
    name: str


@dataclass(frozen=True)
class LevelNetwork:
    """One level: its walkable area, and the graph over its vertices.

    Vertices are the corners of the area, followed by the portals on the level, which have the
    indexes `portal_indexes` (p,) in the network. `views` are what the vertices see. `portal_feet`
    (p, n) are the walks from portals to vertices. `labels` are None if there are too many vertices.
    """

    id: str
    ordinal: float
    walkable_area: Polygonal
    rooms: tuple[Polygonal, ...]
    mesh: Mesh
    views: Views
    graph: WalkGraph
    portal_indexes: IntArray
    portal_feet: FloatArray
    labels: Labels | None

    @property
    def xy(self) -> FloatArray:
        """The positions of the vertices (n, 2)."""
        return self.views.xy

    @property
    def first_portal(self) -> int:
        """The vertex of the level's first portal."""
        return len(self.xy) - len(self.portal_indexes)

    @cached_property
    def sight_area(self) -> Polygonal:
        """The area in which lines of sight stay."""
        area = grow(self.walkable_area)
        shapely.prepare(area)
        return area


@dataclass(frozen=True)
class Network:
    """A map in one travel mode. Indexes of levels, portals and locations refer to its tuples."""

    mode: TravelMode
    costing: Costing
    levels: tuple[LevelNetwork, ...]
    portals: tuple[Portal, ...]
    links: tuple[Link, ...]
    connectors: tuple[ConnectorInfo, ...]
    location_ids: tuple[str, ...]
    locations: Stops
    portal_paths: PortalPaths

    @property
    def feet_per_second(self) -> float:
        return self.costing.feet_per_second(self.mode)

    @cached_property
    def level_index(self) -> dict[str, int]:
        return {level.id: index for index, level in enumerate(self.levels)}

    @cached_property
    def location_index(self) -> dict[str, int]:
        return {location_id: index for index, location_id in enumerate(self.location_ids)}

    @cached_property
    def attached_location_ids(self) -> frozenset[str]:
        """Ids of the locations on the walkable area, or near enough to it."""
        attached = np.flatnonzero(self.locations.are_attached).tolist()
        return frozenset(self.location_ids[index] for index in attached)

    def attach(self, level: int, xy: FloatArray) -> Stops:
        """Return stops at positions (n, 2) of a level."""
        own = self.levels[level]
        within_feet = self.costing.attach_feet
        return attach(level, own.mesh, own.walkable_area, own.rooms, xy, within_feet)


def build_network(
    plan: Plan,
    walkable: Sequence[WalkableLevel],
    mode: TravelMode,
    costing: Costing,
    foot: Network | None = None,
) -> Network:
    """Return the network of a repaired plan over its walkable levels, in the plan's order.

    Given the network on `foot`, levels where `mode` passes all doors are reused from it.
    """
    areas = [level.walkable_area(level.passable_openings(mode, costing)) for level in walkable]
    portals = find_portals(plan, walkable, areas, costing)
    ordinals = [level.ordinal for level in plan.levels]
    links = list_links(portals, plan.connectors, ordinals, mode, costing)
    # Portals depend on the walkable area. With other portals, the indexes in its levels are wrong.
    reusable = foot if foot is not None and foot.portals == tuple(portals) else None
    levels: list[LevelNetwork] = []
    for index, (level, area) in enumerate(zip(walkable, areas, strict=True)):
        if reusable is not None and level.are_all_passable(mode, costing):
            levels.append(reusable.levels[index])
        else:
            levels.append(build_level_network(index, level, area, portals))
    portal_paths = compute_portal_paths(levels, portals, links, costing.feet_per_second(mode))
    network = Network(
        mode,
        costing,
        tuple(levels),
        tuple(portals),
        tuple(links),
        tuple(ConnectorInfo(c.id, c.kind, c.name) for c in plan.connectors),
        tuple(location.id for location in plan.locations),
        stops_outside(np.empty(0, dtype=np.int64), np.empty((0, 2))),
        portal_paths,
    )
    return replace(network, locations=attach_locations(network, plan.locations))


def attach_locations(network: Network, locations: Sequence[PlanLocation]) -> Stops:
    """Return the stops of locations, in their order."""
    if not locations:
        return network.locations
    xy = np.array([(location.x, location.y) for location in locations], dtype=np.float64)
    levels = np.array([network.level_index[location.level_id] for location in locations])
    parts = [np.flatnonzero(levels == level) for level in range(len(network.levels))]
    stops = [network.attach(level, xy[own]) for level, own in enumerate(parts)]
    return join_stops(stops).take(np.argsort(np.concatenate(parts)))


def compute_portal_paths(
    levels: Sequence[LevelNetwork],
    portals: Sequence[Portal],
    links: Sequence[Link],
    feet_per_second: float,
) -> PortalPaths:
    """Return the fastest paths between all portals."""
    walks_feet = np.full((len(portals), len(portals)), np.inf)
    for level in levels:
        walks_feet[np.ix_(level.portal_indexes, level.portal_indexes)] = level.portal_feet[
            :, level.first_portal :
        ]
    return floyd_warshall(walks_feet, links, feet_per_second)


def find_portals(
    plan: Plan, walkable: Sequence[WalkableLevel], areas: Sequence[Polygonal], costing: Costing
) -> list[Portal]:
    """Return a portal for every connector entrance that has floor near it."""
    level_index = {level.id: index for index, level in enumerate(plan.levels)}
    portals: list[Portal] = []
    for connector_index, connector in enumerate(plan.connectors):
        for level_id, entrance in connector.entrances.items():
            index = level_index[level_id]
            floor, area = walkable[index].floor, areas[index]
            entry = find_entry_point(floor, area, entrance, costing.attach_feet)
            if entry is not None:
                portals.append(Portal(index, connector_index, *entry))
    return portals


def build_level_network(
    index: int, level: WalkableLevel, walkable_area: Polygonal, portals: Sequence[Portal]
) -> LevelNetwork:
    """Return level number `index`."""
    portal_indexes, portal_xy = portals_on_level(portals, index)
    rooms = tuple(room.polygon for room in level.floor.rooms)
    mesh, corners = triangulate(walkable_area), find_corners(walkable_area)
    xy = np.concatenate((corners.xy, portal_xy))
    sectors = join_sectors(tangent_sectors(corners), all_round(np.arange(len(corners), len(xy))))
    views = spread_views(mesh, xy, sectors)
    graph = build_walk_graph(mesh, views, corners)
    labels = None
    if len(xy) <= MAX_LABELLED_VERTICES:
        labels = build_labels(graph)
    return LevelNetwork(
        level.level.id,
        level.level.ordinal,
        walkable_area,
        rooms,
        mesh,
        views,
        graph,
        portal_indexes,
        graph.distances(np.arange(len(corners), len(xy))),
        labels,
    )
