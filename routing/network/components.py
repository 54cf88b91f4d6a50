"""Connected components of a network: which locations can reach each other at all."""

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
"""Vertices lie on the boundary of their area, off by rounding."""


@dataclass(frozen=True)
class ComponentLabels:
    """Component numbers of the vertices of each level, and of each location (-1: unattached)."""

    vertex_components: tuple[IntArray, ...]
    location_components: IntArray

    @property
    def main(self) -> int:
        """The component with the most locations; -1 if no location is attached."""
        attached = self.location_components[self.location_components >= 0]
        # argmax returns the first maximum, so a tie has the same winner each time.
        return int(np.bincount(attached).argmax()) if len(attached) else -1

    @property
    def count(self) -> int:
        """The number of components that contain locations."""
        return len(np.unique(self.location_components[self.location_components >= 0]))

    @property
    def locations_in_main(self) -> BoolArray:
        """Whether each location is in the main component."""
        return np.asarray((self.location_components >= 0) & (self.location_components == self.main))


def find_components(network: Network) -> ComponentLabels:
    """Label the components that walks and rides connect, ignoring the direction of rides."""
    first = np.cumsum([0, *(level.graph.vertex_count for level in network.levels)])
    vertex_of_portal = np.zeros(len(network.portals), dtype=np.int64)
    pairs = [np.empty((0, 2), dtype=np.int64)]
    # `first` has one element more than there are levels: the number of all vertices.
    for start, level in zip(first, network.levels, strict=False):
        vertex_of_portal[level.portal_indexes] = level.portal_vertices + start
        pairs.append(np.stack((level.graph.edges.first, level.graph.edges.second), axis=1) + start)
    links = np.array([(link.start, link.end) for link in network.links], dtype=np.int64)
    # Without links the array is of shape (0,), and its result could not be concatenated with pairs.
    pairs.append(vertex_of_portal[links.reshape(-1, 2)])
    labels = label_components(int(first[-1]), np.concatenate(pairs))
    location_labels = [
        -1 if location.vertex < 0 else labels[first[location.level] + location.vertex]
        for location in network.locations
    ]
    # np.split takes only the borders between the parts, not those of the whole.
    level_labels = tuple(np.split(labels, first[1:-1]))
    return ComponentLabels(level_labels, np.array(location_labels, dtype=np.int64))


def find_cut_off_areas(network: Network, components: ComponentLabels, level: int) -> list[Polygon]:
    """Return the walkable polygons of one level outside the main component."""
    level_network = network.levels[level]
    main_xy = level_network.xy[components.vertex_components[level] == components.main]
    areas = cast(list[Polygon], list(shapely.get_parts(level_network.walkable_area)))
    if not len(main_xy) or not areas:
        return areas
    vertices = shapely.STRtree(shapely.points(main_xy))
    with_vertex, _ = vertices.query(areas, predicate="dwithin", distance=BOUNDARY_TOLERANCE_FEET)
    in_main = set(with_vertex.tolist())
    return [area for index, area in enumerate(areas) if index not in in_main]
