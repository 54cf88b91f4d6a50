"""A routable map in one mode: graphs of its levels, gates between them, attached locations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from routing.costing import Costing, Mode
from routing.gates import Closure, Gate, Link, close, find_entry, find_links, positions
from routing.graph import WalkGraph
from routing.plan import Area, ConnectorKind, Location, Plan
from routing.region import Region, attach, find_regions, see_stops, see_within
from routing.visibility import Floats, Ints
from routing.walkable import WalkableLevel

MOST_HUBS = 1_000
"""More would take over 8 MB a level and mode, and seconds to measure: such levels are searched."""


class Ends(NamedTuple):
    """What a route says about a connector."""

    id: str
    kind: ConnectorKind
    name: str


class Anchor(NamedTuple):
    """A location on the network: -1 for `vertex` where nothing walkable is near."""

    id: str
    level: int
    x: float
    y: float
    vertex: int
    leg_feet: float


@dataclass(frozen=True)
class LevelNetwork:
    """One level: `xy` (n, 2) are its vertices, `gates` the map's gates that are on it.

    `gate_ids` are the vertices of those gates, `gate_feet` (gates, n) the walks from them. The
    first vertices are hubs, as `routing.walks` has them, and `hub_feet` (hubs, hubs) the walks
    between them; None where there are too many.
    """

    id: str
    ordinal: float
    free: Area
    rooms: tuple[Area, ...]
    regions: tuple[Region, ...]
    xy: Floats
    graph: WalkGraph
    gates: Ints
    gate_ids: Ints
    gate_feet: Floats
    hub_feet: Floats | None


@dataclass(frozen=True)
class Network:
    mode: Mode
    costing: Costing
    levels: tuple[LevelNetwork, ...]
    gates: tuple[Gate, ...]
    links: tuple[Link, ...]
    connectors: tuple[Ends, ...]
    anchors: tuple[Anchor, ...]
    closure: Closure

    @property
    def feet_per_second(self) -> float:
        return self.costing.feet_per_second(self.mode)

    @cached_property
    def level_index(self) -> dict[str, int]:
        return {level.id: index for index, level in enumerate(self.levels)}

    @cached_property
    def location_gate_feet(self) -> Floats:
        """The walks from each location to each gate of its level (n, g); inf for the others."""
        feet = np.full((len(self.anchors), len(self.gates)), np.inf)
        for index, anchor in enumerate(self.anchors):
            if anchor.vertex >= 0:
                level = self.levels[anchor.level]
                feet[index, level.gates] = level.gate_feet[:, anchor.vertex] + anchor.leg_feet
        return feet

    @cached_property
    def anchor_index(self) -> dict[str, int]:
        return {anchor.id: index for index, anchor in enumerate(self.anchors)}

    @cached_property
    def attached_ids(self) -> frozenset[str]:
        """The locations in the walkable space, or near enough to it."""
        return frozenset(anchor.id for anchor in self.anchors if anchor.vertex >= 0)


def build_network(
    plan: Plan,
    walkable: Sequence[WalkableLevel],
    mode: Mode,
    costing: Costing,
    foot: Network | None = None,
) -> Network:
    """The network of a sound plan over its walkable levels, which are in the plan's order.

    Levels are taken over from the network on `foot` where as many doors are passable.
    """
    areas = [level.free(level.passable(mode, costing)) for level in walkable]
    gates = find_gates(plan, walkable, areas, costing)
    ordinals = [level.ordinal for level in plan.levels]
    links = find_links(gates, plan.connectors, ordinals, mode, costing)
    levels: list[LevelNetwork] = []
    anchors: dict[str, Anchor] = {}
    for index, (level, free) in enumerate(zip(walkable, areas, strict=True)):
        own = [place for place in plan.locations if place.level_id == level.level.id]
        if foot is not None and foot.gates == tuple(gates) and level.is_alike(mode, costing):
            levels.append(foot.levels[index])
            anchors.update({a.id: a for a in foot.anchors if a.level == index})
            continue
        built, anchored = build_level(index, level, free, gates, own, mode, costing)
        levels.append(built)
        anchors.update({anchor.id: anchor for anchor in anchored})
    connectors = tuple(Ends(c.id, c.kind, c.name) for c in plan.connectors)
    ordered = tuple(anchors[location.id] for location in plan.locations)
    closure = close_gates(levels, gates, links, costing.feet_per_second(mode))
    return Network(
        mode, costing, tuple(levels), tuple(gates), tuple(links), connectors, ordered, closure
    )


def close_gates(
    levels: Sequence[LevelNetwork],
    gates: Sequence[Gate],
    links: Sequence[Link],
    feet_per_second: float,
) -> Closure:
    walks_feet = np.full((len(gates), len(gates)), np.inf)
    for level in levels:
        walks_feet[np.ix_(level.gates, level.gates)] = level.gate_feet[:, level.gate_ids]
    return close(walks_feet, links, feet_per_second)


def find_gates(
    plan: Plan, walkable: Sequence[WalkableLevel], areas: Sequence[Area], costing: Costing
) -> list[Gate]:
    """A gate for every place of every connector that has floor near it."""
    index_of = {level.id: index for index, level in enumerate(plan.levels)}
    gates: list[Gate] = []
    for at, connector in enumerate(plan.connectors):
        for level_id, place in connector.places.items():
            index = index_of[level_id]
            floor, free = walkable[index].floor, areas[index]
            entry = find_entry(floor, free, place, costing.attach_feet)
            if entry is not None:
                gates.append(Gate(index, at, *entry))
    return gates


def build_level(
    index: int,
    level: WalkableLevel,
    free: Area,
    gates: Sequence[Gate],
    locations: Sequence[Location],
    mode: Mode,
    costing: Costing,
) -> tuple[LevelNetwork, list[Anchor]]:
    """Vertices are the regions' own, then the gates, then the locations that attach."""
    regions, own_xy = find_regions(level.floor, level.passable(mode, costing), free)
    on_level, gate_xy = positions(gates, index)
    rooms = tuple(room.polygon for room in level.floor.rooms)
    anchors, location_xy = anchor(index, free, rooms, locations, costing)
    first_gate, first_location = len(own_xy), len(own_xy) + len(gate_xy)
    xy = np.concatenate((own_xy, gate_xy, location_xy))
    edges = see_within(regions, own_xy)
    edges += see_stops(regions, own_xy, xy[first_gate:], np.arange(first_gate, len(xy)))
    gate_ids = np.arange(first_gate, first_location)
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
        gate_ids,
        graph.distances(gate_ids, np.arange(len(xy))),
        graph.distances(hubs, hubs) if len(hubs) <= MOST_HUBS else None,
    )
    return network, anchored


def anchor(
    index: int,
    free: Area,
    rooms: tuple[Area, ...],
    locations: Sequence[Location],
    costing: Costing,
) -> tuple[list[Anchor], Floats]:
    """Each location's anchor, its vertex counted from 0, and where those vertices are."""
    anchors: list[Anchor] = []
    found: list[tuple[float, float]] = []
    for place in locations:
        attached = attach(free, rooms, place.x, place.y, costing.attach_feet)
        if attached is None:
            anchors.append(Anchor(place.id, index, place.x, place.y, -1, 0.0))
        else:
            leg_feet = attached.leg_feet
            anchors.append(Anchor(place.id, index, place.x, place.y, len(found), leg_feet))
            found.append((attached.x, attached.y))
    return anchors, np.array(found).reshape(-1, 2)
