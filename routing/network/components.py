"""The connected parts of a network: which locations reach one another at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import shapely
from shapely import Polygon

from routing.arrays import BoolArray, IntArray
from routing.network.network import Network
from routing.network.walk_graph import label_components

BOUNDARY_TOLERANCE_FEET = 0.001
"""Vertices lie on the boundary of their part, give or take rounding."""


@dataclass(frozen=True)
class ComponentLabels:
    """For each vertex of each level, and for each location, the number of its part, or -1."""

    vertex_components: tuple[IntArray, ...]
    location_components: IntArray

    @property
    def main(self) -> int:
        """The part with the most locations; -1 where none is attached."""
        found = self.location_components[self.location_components >= 0]
        return int(np.bincount(found).argmax()) if len(found) else -1

    @property
    def count(self) -> int:
        """How many parts hold locations."""
        return len(np.unique(self.location_components[self.location_components >= 0]))

    @property
    def locations_in_main(self) -> BoolArray:
        """For each location whether it is in the main part."""
        return np.asarray((self.location_components >= 0) & (self.location_components == self.main))


def find_components(network: Network) -> ComponentLabels:
    """Parts that walks and rides join, whichever way the rides run."""
    first = np.cumsum([0, *(level.graph.vertex_count for level in network.levels)])
    vertex_of_portal = np.zeros(len(network.portals), dtype=np.int64)
    pairs = [np.empty((0, 2), dtype=np.int64)]
    for start, level in zip(first, network.levels, strict=False):
        vertex_of_portal[level.portal_indexes] = level.portal_vertices + start
        pairs.append(np.stack((level.graph.edges.first, level.graph.edges.second), axis=1) + start)
    links = np.array([(link.start, link.end) for link in network.links], dtype=np.int64)
    pairs.append(vertex_of_portal[links.reshape(-1, 2)])
    parts = label_components(int(first[-1]), np.concatenate(pairs))
    of_locations = [
        -1 if anchor.vertex < 0 else parts[first[anchor.level] + anchor.vertex]
        for anchor in network.locations
    ]
    of_vertices = tuple(np.split(parts, first[1:-1]))
    return ComponentLabels(of_vertices, np.array(of_locations, dtype=np.int64))


def find_cut_off_areas(network: Network, components: ComponentLabels, level: int) -> list[Polygon]:
    """The walkable parts of one level that nobody reaches from the main part."""
    own = network.levels[level]
    main = own.xy[components.vertex_components[level] == components.main]
    parts = cast(list[Polygon], list(shapely.get_parts(own.walkable_area)))
    if not len(main) or not parts:
        return parts
    vertices = shapely.STRtree(shapely.points(main))
    holding, _ = vertices.query(parts, predicate="dwithin", distance=BOUNDARY_TOLERANCE_FEET)
    reached = set(holding.tolist())
    return [part for index, part in enumerate(parts) if index not in reached]
