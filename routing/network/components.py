"""Connected components of a network: which locations can reach each other at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
import shapely
from shapely import Polygon

from routing.arrays import BoolArray, IntArray
from routing.network.mesh import OUTSIDE
from routing.network.network import Network
from routing.network.walk_graph import label_components


@dataclass(frozen=True)
class ComponentLabels:
    """Component numbers of the triangles of each level, and of each location (-1: unattached)."""

    triangle_components: tuple[IntArray, ...]
    location_components: IntArray

    @property
    def main(self) -> int:
        """The component with the most locations; -1 if no location is attached."""
        return find_largest(self.location_components)

    @property
    def count(self) -> int:
        """The number of components that contain locations."""
        return len(np.unique(self.location_components[self.location_components >= 0]))

    @property
    def locations_in_main(self) -> BoolArray:
        """Whether each location is in the main component."""
        return np.asarray((self.location_components >= 0) & (self.location_components == self.main))


def find_largest(location_components: IntArray) -> int:
    """Return the component with the most locations; -1 if none is attached."""
    attached = location_components[location_components >= 0]
    # argmax returns the first maximum, so a tie has the same winner each time.
    return int(np.bincount(attached).argmax()) if len(attached) else -1


def find_components(network: Network) -> ComponentLabels:
    """Label the components that walks and rides connect, ignoring the direction of rides."""
    first = np.cumsum([0, *(len(level.mesh) for level in network.levels)])
    triangle_of_portal = np.zeros(len(network.portals), dtype=np.int64)
    pairs = [np.empty((0, 2), dtype=np.int64)]
    # `first` has one element more than there are levels: the number of all triangles.
    for start, level in zip(first, network.levels, strict=False):
        portals = level.xy[level.first_portal :]
        triangle_of_portal[level.portal_indexes] = level.mesh.locate(portals) + start
        neighbours, _ = level.mesh.neighbours
        triangles, sides = np.nonzero(neighbours != OUTSIDE)
        pairs.append(np.stack((triangles, neighbours[triangles, sides]), axis=1) + start)
    links = np.array([(link.start, link.end) for link in network.links], dtype=np.int64)
    # Without links the array is of shape (0,), and its result could not be concatenated with pairs.
    pairs.append(triangle_of_portal[links.reshape(-1, 2)])
    labels = label_components(int(first[-1]), np.concatenate(pairs))
    stops = network.locations
    location_labels = np.full(len(stops), -1, dtype=np.int64)
    attached = stops.are_attached
    location_labels[attached] = labels[first[stops.levels[attached]] + stops.triangles[attached]]
    # np.split takes only the borders between the parts, not those of the whole.
    level_labels = tuple(np.split(labels, first[1:-1]))
    return ComponentLabels(level_labels, location_labels)


def find_cut_off_areas(network: Network, components: ComponentLabels, level: int) -> list[Polygon]:
    """Return the walkable polygons of one level outside the main component."""
    level_network = network.levels[level]
    areas = cast(list[Polygon], list(shapely.get_parts(level_network.walkable_area)))
    inside = shapely.get_coordinates(shapely.point_on_surface(areas))
    of_areas = components.triangle_components[level][level_network.mesh.locate(inside)]
    return [area for area, own in zip(areas, of_areas, strict=True) if own != components.main]
