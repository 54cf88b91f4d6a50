"""Connected components of a network: which locations can reach each other at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import shapely
from shapely import Polygon

from routing.arrays import BoolArray, IntArray
from routing.network.locator import OUTSIDE
from routing.network.mesh import PUBLIC
from routing.network.network import Network
from routing.network.walk_graph import label_components


@dataclass(frozen=True)
class ComponentLabels:
    """Component numbers of triangles, by number, and of each location (-1: unattached).

    A guarded region is of the component, of those that it leads to, with the most locations.
    `private_ways` has, for each of the others, a triangle of the region that alone leads there.
    """

    triangle_components: IntArray
    location_components: IntArray
    private_ways: Mapping[int, int] = field(default_factory=dict)

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
    """Label the components that walks and rides connect, ignoring the direction of rides.

    No way connects them that leads through private space.
    """
    levels = network.levels
    xy = np.array([(portal.x, portal.y) for portal in network.portals]).reshape(-1, 2)
    on_levels = network.level_numbers[[portal.level for portal in network.portals]]
    triangle_of_portal = levels.mesh.locate(xy, on_levels)
    neighbours, _ = levels.mesh.neighbours
    triangles, sides = np.nonzero(neighbours != OUTSIDE)
    links = np.array([(link.start, link.end) for link in network.links], dtype=np.int64)
    beside = np.stack((triangles, neighbours[triangles, sides]), axis=1)
    # Without links the array is of shape (0,).
    pairs = np.concatenate((beside, triangle_of_portal[links.reshape(-1, 2)]))
    one, other = levels.mesh.regions[pairs].T
    labels = label_components(len(levels.mesh), pairs[one == other])
    stops = network.locations
    attached = stops.triangles[stops.are_attached]
    counts = np.bincount(labels[attached], minlength=len(labels))
    crossing = pairs[(one != other) & ((one == PUBLIC) | (other == PUBLIC))]
    is_outward = levels.mesh.regions[crossing[:, :1]] != PUBLIC
    crossing = np.where(is_outward, crossing[:, ::-1], crossing)
    public, private = labels[crossing].T
    # The last, and largest, stays.
    order = np.lexsort((np.bincount(labels, minlength=len(labels))[public], counts[public]))
    joined = np.arange(len(labels))
    joined[private[order]] = public[order]
    labels = joined[labels]
    apart = public != joined[private]
    location_labels = np.full(len(stops), -1, dtype=np.int64)
    location_labels[stops.are_attached] = labels[attached]
    ways = zip(public[apart].tolist(), crossing[apart, 1].tolist(), strict=True)
    return ComponentLabels(labels, location_labels, dict(ways))


def find_cut_off_areas(network: Network, components: ComponentLabels, level: int) -> list[Polygon]:
    """Return the walkable polygons of one level, by number, outside the main component."""
    areas = cast(list[Polygon], list(shapely.get_parts(network.levels.walkable_area(level))))
    inside = shapely.get_coordinates(shapely.point_on_surface(areas))
    of_areas = components.triangle_components[network.levels.mesh.locate(inside, level)]
    return [area for area, own in zip(areas, of_areas, strict=True) if own != components.main]
