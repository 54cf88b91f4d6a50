"""A routable map in one mode: graphs of its levels, portals between them, attached locations."""

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
"""More would take over 8 MB a level and mode, and seconds to measure: such levels are searched."""


class ConnectorInfo(NamedTuple):
    """What a route says about a connector."""

    id: str
    kind: ConnectorKind
    name: str


class NetworkLocation(NamedTuple):
    """A location on the network: -1 for `vertex` where nothing walkable is near."""

    id: str
    level: int
    x: float
    y: float
    vertex: int
    offset_feet: float


@dataclass(frozen=True)
class LevelNetwork:
    """One level: `xy` (n, 2) are its vertices, `portals` the map's portals that are on it.

    `portal_vertices` are the vertices of those portals, `portal_feet` (portals, n) the walks from them. The
    first vertices are hubs, as `routing.search.walks` has them, and `hub_feet` (hubs, hubs) the walks
    between them; None where there are too many.
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
        """The walks from each location to each portal of its level (n, g); inf for the others."""
        feet = np.full((len(self.locations), len(self.portals)), np.inf)
        for index, anchor in enumerate(self.locations):
            if anchor.vertex >= 0:
                level = self.levels[anchor.level]
                feet[index, level.portal_indexes] = (
                    level.portal_feet[:, anchor.vertex] + anchor.offset_feet
                )
        return feet

    @cached_property
    def location_index(self) -> dict[str, int]:
        return {anchor.id: index for index, anchor in enumerate(self.locations)}

    @cached_property
    def attached_location_ids(self) -> frozenset[str]:
        """The locations in the walkable space, or near enough to it."""
        return frozenset(anchor.id for anchor in self.locations if anchor.vertex >= 0)


def build_network(
    plan: Plan,
    walkable: Sequence[WalkableLevel],
    mode: TravelMode,
    costing: Costing,
    foot: Network | None = None,
) -> Network:
    """The network of a sound plan over its walkable levels, which are in the plan's order.

    Levels are taken over from the network on `foot` where as many doors are passable.
    """
    areas = [level.walkable_area(level.passable_openings(mode, costing)) for level in walkable]
    portals = find_portals(plan, walkable, areas, costing)
    ordinals = [level.ordinal for level in plan.levels]
    links = list_links(portals, plan.connectors, ordinals, mode, costing)
    levels: list[LevelNetwork] = []
    anchors: dict[str, NetworkLocation] = {}
    for index, (level, free) in enumerate(zip(walkable, areas, strict=True)):
        own = [place for place in plan.locations if place.level_id == level.level.id]
        if (
            foot is not None
            and foot.portals == tuple(portals)
            and level.are_all_passable(mode, costing)
        ):
            levels.append(foot.levels[index])
            anchors.update({a.id: a for a in foot.locations if a.level == index})
            continue
        built, anchored = build_level_network(index, level, free, portals, own, mode, costing)
        levels.append(built)
        anchors.update({anchor.id: anchor for anchor in anchored})
    connectors = tuple(ConnectorInfo(c.id, c.kind, c.name) for c in plan.connectors)
    ordered = tuple(anchors[location.id] for location in plan.locations)
    portal_paths = compute_portal_paths(levels, portals, links, costing.feet_per_second(mode))
    return Network(
        mode,
        costing,
        tuple(levels),
        tuple(portals),
        tuple(links),
        connectors,
        ordered,
        portal_paths,
    )


def compute_portal_paths(
    levels: Sequence[LevelNetwork],
    portals: Sequence[Portal],
    links: Sequence[Link],
    feet_per_second: float,
) -> PortalPaths:
    walks_feet = np.full((len(portals), len(portals)), np.inf)
    for level in levels:
        walks_feet[np.ix_(level.portal_indexes, level.portal_indexes)] = level.portal_feet[
            :, level.portal_vertices
        ]
    return floyd_warshall(walks_feet, links, feet_per_second)


def find_portals(
    plan: Plan, walkable: Sequence[WalkableLevel], areas: Sequence[Polygonal], costing: Costing
) -> list[Portal]:
    """A portal for every place of every connector that has floor near it."""
    index_of = {level.id: index for index, level in enumerate(plan.levels)}
    portals: list[Portal] = []
    for at, connector in enumerate(plan.connectors):
        for level_id, place in connector.entrances.items():
            index = index_of[level_id]
            floor, free = walkable[index].floor, areas[index]
            entry = find_entry_point(floor, free, place, costing.attach_feet)
            if entry is not None:
                portals.append(Portal(index, at, *entry))
    return portals


def build_level_network(
    index: int,
    level: WalkableLevel,
    free: Polygonal,
    portals: Sequence[Portal],
    locations: Sequence[PlanLocation],
    mode: TravelMode,
    costing: Costing,
) -> tuple[LevelNetwork, list[NetworkLocation]]:
    """Vertices are the regions' own, then the portals, then the locations that attach."""
    regions, own_xy = build_regions(level.floor, level.passable_openings(mode, costing), free)
    on_level, portal_xy = portals_on_level(portals, index)
    rooms = tuple(room.polygon for room in level.floor.rooms)
    anchors, location_xy = attach_locations(index, free, rooms, locations, costing)
    first_portal, first_location = len(own_xy), len(own_xy) + len(portal_xy)
    xy = np.concatenate((own_xy, portal_xy, location_xy))
    edges = edges_within_regions(regions, own_xy)
    edges += edges_from_stops(regions, own_xy, xy[first_portal:], np.arange(first_portal, len(xy)))
    portal_vertices = np.arange(first_portal, first_location)
    anchored = [
        place._replace(vertex=place.vertex + first_location) if place.vertex >= 0 else place
        for place in anchors
    ]
    graph = WalkGraph(len(xy), edges)
    hubs = np.arange(first_location)
    network = LevelNetwork(
        level.level.id,
        level.level.ordinal,
        free,
        rooms,
        tuple(regions),
        xy,
        graph,
        on_level,
        portal_vertices,
        graph.distances(portal_vertices, np.arange(len(xy))),
        graph.distances(hubs, hubs) if len(hubs) <= MAX_HUBS else None,
    )
    return network, anchored


def attach_locations(
    index: int,
    free: Polygonal,
    rooms: tuple[Polygonal, ...],
    locations: Sequence[PlanLocation],
    costing: Costing,
) -> tuple[list[NetworkLocation], FloatArray]:
    """Each location's anchor, its vertex counted from 0, and where those vertices are."""
    anchors: list[NetworkLocation] = []
    found: list[tuple[float, float]] = []
    for place in locations:
        attached = attach(free, rooms, place.x, place.y, costing.attach_feet)
        if attached is None:
            anchors.append(NetworkLocation(place.id, index, place.x, place.y, -1, 0.0))
        else:
            offset_feet = attached.offset_feet
            anchors.append(
                NetworkLocation(place.id, index, place.x, place.y, len(found), offset_feet)
            )
            found.append((attached.x, attached.y))
    return anchors, np.array(found).reshape(-1, 2)
