"""The network of a map in one travel mode: a graph per level, portals, links and locations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from routing.arrays import FloatArray, IntArray
from routing.costing import Costing, TravelMode
from routing.network.portals import (
    Link,
    Portal,
    PortalPaths,
    find_entry_point,
    floyd_warshall,
    list_links,
    portals_on_level,
)
from routing.network.regions import (
    Region,
    attach,
    build_regions,
    edges_from_stops,
    edges_within_regions,
)
from routing.network.walk_graph import WalkGraph
from routing.plan import ConnectorKind, Plan, PlanLocation, Polygonal
from routing.space.walkable import WalkableLevel

MAX_HUBS = 1_000
"""Levels with more hubs get no table of hub distances, which would take over 8 MB; walks there are
searched instead.
"""


class ConnectorInfo(NamedTuple):
    """The part of a connector that a route shows."""

    id: str
    kind: ConnectorKind
    name: str


class NetworkLocation(NamedTuple):
    """A location on the network.

    `vertex` is its vertex on level number `level`, or -1 if nothing walkable is near;
    `offset_feet` is the distance from (x, y) to that vertex.
    """

    id: str
    level: int
    x: float
    y: float
    vertex: int
    offset_feet: float


@dataclass(frozen=True)
class LevelNetwork:
    """The graph of one level; `xy` (n, 2) are the positions of its vertices.

    `portal_indexes` (p,) are the network's portals on this level, `portal_vertices` (p,) their
    vertices, `portal_feet` (p, n) the walks from them to all vertices. Vertices come in the order
    corners and points in doors, portals, locations; all but the locations are the hubs of
    `routing.search.walks`. `hub_feet` (hubs, hubs) are the walks between them, None if too many.
    """

    id: str
    ordinal: float
    walkable_area: Polygonal
    rooms: tuple[Polygonal, ...]
    regions: tuple[Region, ...]
    xy: FloatArray
    graph: WalkGraph
    portal_indexes: IntArray
    portal_vertices: IntArray
    portal_feet: FloatArray
    hub_feet: FloatArray | None


@dataclass(frozen=True)
class Network:
    """A map in one travel mode. Indexes of levels, portals and locations refer to its tuples."""

    mode: TravelMode
    costing: Costing
    levels: tuple[LevelNetwork, ...]
    portals: tuple[Portal, ...]
    links: tuple[Link, ...]
    connectors: tuple[ConnectorInfo, ...]
    locations: tuple[NetworkLocation, ...]
    portal_paths: PortalPaths

    @property
    def feet_per_second(self) -> float:
        return self.costing.feet_per_second(self.mode)

    @cached_property
    def level_index(self) -> dict[str, int]:
        return {level.id: index for index, level in enumerate(self.levels)}

    @cached_property
    def location_portal_feet(self) -> FloatArray:
        """Walks from each location to each portal of its level (n, p); inf to other portals."""
        feet = np.full((len(self.locations), len(self.portals)), np.inf)
        for index, location in enumerate(self.locations):
            if location.vertex >= 0:
                level = self.levels[location.level]
                feet[index, level.portal_indexes] = (
                    level.portal_feet[:, location.vertex] + location.offset_feet
                )
        return feet

    @cached_property
    def location_index(self) -> dict[str, int]:
        return {location.id: index for index, location in enumerate(self.locations)}

    @cached_property
    def attached_location_ids(self) -> frozenset[str]:
        """Ids of the locations on the walkable area, or near enough to it."""
        return frozenset(location.id for location in self.locations if location.vertex >= 0)


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
    locations: dict[str, NetworkLocation] = {}
    for index, (level, area) in enumerate(zip(walkable, areas, strict=True)):
        if reusable is not None and level.are_all_passable(mode, costing):
            level_network = reusable.levels[index]
            on_level = [loc for loc in reusable.locations if loc.level == index]
        else:
            drawn = [loc for loc in plan.locations if loc.level_id == level.level.id]
            level_network, on_level = build_level_network(
                index, level, area, portals, drawn, mode, costing
            )
        levels.append(level_network)
        locations.update({location.id: location for location in on_level})
    portal_paths = compute_portal_paths(levels, portals, links, costing.feet_per_second(mode))
    return Network(
        mode,
        costing,
        tuple(levels),
        tuple(portals),
        tuple(links),
        tuple(ConnectorInfo(c.id, c.kind, c.name) for c in plan.connectors),
        tuple(locations[location.id] for location in plan.locations),
        portal_paths,
    )


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
            :, level.portal_vertices
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
    index: int,
    level: WalkableLevel,
    walkable_area: Polygonal,
    portals: Sequence[Portal],
    locations: Sequence[PlanLocation],
    mode: TravelMode,
    costing: Costing,
) -> tuple[LevelNetwork, list[NetworkLocation]]:
    """Return level number `index` and its locations, those that attach as vertices."""
    openings = level.passable_openings(mode, costing)
    regions, region_xy = build_regions(level.floor, openings, walkable_area)
    portal_indexes, portal_xy = portals_on_level(portals, index)
    rooms = tuple(room.polygon for room in level.floor.rooms)
    first_portal, first_location = len(region_xy), len(region_xy) + len(portal_xy)
    on_network, location_xy = attach_locations(
        index, walkable_area, rooms, locations, costing, first_location
    )
    xy = np.concatenate((region_xy, portal_xy, location_xy))
    stops = np.arange(first_portal, len(xy))
    edges = edges_within_regions(regions, region_xy)
    edges += edges_from_stops(regions, region_xy, xy[stops], stops)
    graph = WalkGraph(len(xy), edges)
    hubs, portal_vertices = np.arange(first_location), np.arange(first_portal, first_location)
    network = LevelNetwork(
        level.level.id,
        level.level.ordinal,
        walkable_area,
        rooms,
        tuple(regions),
        xy,
        graph,
        portal_indexes,
        portal_vertices,
        graph.distances(portal_vertices, np.arange(len(xy))),
        graph.distances(hubs, hubs) if len(hubs) <= MAX_HUBS else None,
    )
    return network, on_network


def attach_locations(
    index: int,
    walkable_area: Polygonal,
    rooms: tuple[Polygonal, ...],
    locations: Sequence[PlanLocation],
    costing: Costing,
    first_vertex: int,
) -> tuple[list[NetworkLocation], FloatArray]:
    """Return all locations on the network, and the positions (n, 2) of their vertices.

    Vertices are numbered from `first_vertex`.
    """
    on_network: list[NetworkLocation] = []
    xy: list[tuple[float, float]] = []
    for location in locations:
        x, y = location.x, location.y
        attachment = attach(walkable_area, rooms, x, y, costing.attach_feet)
        vertex, offset_feet = -1, 0.0
        if attachment is not None:
            vertex, offset_feet = first_vertex + len(xy), attachment.offset_feet
            xy.append((attachment.x, attachment.y))
        on_network.append(NetworkLocation(location.id, index, x, y, vertex, offset_feet))
    return on_network, np.array(xy).reshape(-1, 2)
