"""Parts of a network that are apart: components, and private space.

Connected components say which locations can reach each other at all. Private space is rooms in
which routes begin and end, but through which none leads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from typing import cast

import numpy as np
import shapely
from shapely import Polygon

from routing.arrays import BoolArray, FloatArray, IntArray
from routing.costing import Costing
from routing.network.mesh import OUTSIDE, PUBLIC
from routing.network.network import Network, find_portals
from routing.network.walk_graph import label_components
from routing.plan import Plan, Polygonal
from routing.space.doors import Opening
from routing.space.floor import WALL_FEET
from routing.space.plan_repair import extract_polygons, to_polygonal
from routing.space.walkable import WalkableLevel


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
        """A mask of the locations that are in the main component."""
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


# Private space: rooms in which routes begin and end, but through which none leads.
#
# Private rooms that doors join are one region, such as an apartment. One with a single way out is
# never on the way to anything else. The others are guarded: a route enters only those in which it
# begins or ends. See docs/decisions/routing/private-space.md.


THRESHOLD_FEET = WALL_FEET / 4
"""Private floor reaches so far into its walls that no corner is on its edge."""


def guard_private_space(
    plan: Plan, walkable: Sequence[WalkableLevel], costing: Costing
) -> list[WalkableLevel]:
    """Return levels with their guarded regions, and without private doors between public floor."""
    rooms = {(space.level_id, space.id) for space in plan.spaces if space.is_private}
    doors = {door.id for door in plan.doors if door.is_private}
    if not rooms and not doors:
        return [*walkable]
    pieces = [(each.level.id, piece) for each in walkable for piece in each.floor.pieces]
    starts = np.cumsum([0, *(len(each.floor.pieces) for each in walkable)]).tolist()
    openings = [
        (start, opening)
        for start, each in zip(starts, walkable, strict=False)
        for opening in each.openings
    ]
    ways = [(start + o.piece_indexes[0], start + o.piece_indexes[1]) for start, o in openings]
    numbers, landings = [*range(len(ways))], defaultdict(list)
    floors = [to_polygonal(each.floor.polygons) for each in walkable]
    for portal in find_portals(plan, walkable, floors, costing):
        nearest = walkable[portal.level].floor.piece_tree.nearest(shapely.Point(portal.x, portal.y))
        landings[len(openings) + portal.connector].append(starts[portal.level] + int(nearest))
    for number, own in landings.items():
        rides = [*combinations(own, 2)]
        ways, numbers = ways + rides, numbers + [number] * len(rides)
    pairs, of_way = np.array(ways, dtype=np.int64).reshape(-1, 2), np.array(numbers, dtype=np.int64)
    is_closed = np.zeros(len(ways), dtype=bool)
    is_closed[: len(openings)] = [opening.door_id in doors for _, opening in openings]
    is_private = np.array([(level, piece.room_id) in rooms for level, piece in pieces], dtype=bool)
    is_private |= find_hidden(is_private, pairs, is_closed, weigh_pieces(plan, walkable))
    is_kept = ~is_closed | is_private[pairs].any(axis=1)
    regions = number_regions(is_private, pairs[is_kept], of_way[is_kept])
    guarded, first = [], 0
    for each, (start, end) in zip(walkable, pairwise(starts), strict=True):
        kept = is_kept[first : (first := first + len(each.openings))]
        left = tuple(o for o, keep in zip(each.openings, kept.tolist(), strict=True) if keep)
        private = draw_regions(
            each.floor.polygons, regions[start:end], left, regions.max(initial=PUBLIC) + 1
        )
        guarded.append(replace(each, openings=left, private=private))
    return guarded


def weigh_pieces(plan: Plan, walkable: Sequence[WalkableLevel]) -> FloatArray:
    """Return whether each piece is open floor, how many locations it has, and its area (n, 3)."""
    weights = []
    for each in walkable:
        xy = [(p.x, p.y) for p in plan.locations if p.level_id == each.level.id]
        at = (
            each.floor.piece_tree.query(shapely.points(xy), predicate="intersects")[1] if xy else []
        )
        pieces = each.floor.pieces
        counts = np.bincount(np.array(at, dtype=np.int64), minlength=len(pieces)).tolist()
        weights += [
            (piece.room_id is None, count, piece.polygon.area)
            for piece, count in zip(pieces, counts, strict=True)
        ]
    return np.array(weights, dtype=np.float64).reshape(-1, 3)


def find_hidden(
    is_private: BoolArray, ways: IntArray, is_closed: BoolArray, weights: FloatArray
) -> BoolArray:
    """Return which other pieces are private: rooms behind private ones, and all behind such doors.

    Of all parts of the floor that ways join somehow, the one with the most `weights` is public.
    """
    are_public = ~is_private[ways]
    one, other = ways.T
    wholes = label_components(len(is_private), ways)
    parts = label_components(len(is_private), ways[~is_closed & are_public.all(axis=1)])
    totals = np.zeros_like(weights)
    np.add.at(totals, parts, weights)
    totals[:, 0] = totals[:, 0] > 0
    is_open, locations, area = totals[parts].T
    order = np.lexsort((area, locations, is_open, ~is_private))
    main = np.zeros_like(parts)
    main[wholes[order]] = parts[order]  # The last of each stays.
    is_reached = np.zeros(len(parts), dtype=bool)
    between = is_closed & are_public.all(axis=1) & (parts[one] != parts[other])
    is_reached[parts[ways[between]]] = True
    beside = parts[ways[are_public[:, 0] != are_public[:, 1]]]
    is_reached[beside[totals[beside, 0] == 0]] = True
    return np.asarray(is_reached[parts] & ~is_private & (parts != main[wholes]))


def number_regions(is_private: BoolArray, ways: IntArray, numbers: IntArray) -> IntArray:
    """Return the number of the guarded region of each piece, or PUBLIC.

    Ways with equal `numbers` are rides of one connector, which joins rooms only if it is inside.
    """
    one, other = ways.T
    is_outside = ~is_private[ways].all(axis=1)
    labels = label_components(len(is_private), ways[~np.isin(numbers, numbers[is_outside])])
    leads_out = labels[one] != labels[other]
    exits = {
        (label, number)
        for ends in (one, other)
        for label, number in zip(labels[ends[leads_out]], numbers[leads_out], strict=True)
    }
    counts = np.bincount([label for label, _ in exits], minlength=len(labels))
    regions = np.full(len(labels), PUBLIC)
    is_guarded = is_private & (counts[labels] > 1)
    regions[is_guarded] = np.unique(labels[is_guarded], return_inverse=True)[1]
    return regions


def draw_regions(
    polygons: Sequence[Polygonal], regions: IntArray, openings: Sequence[Opening], count: int
) -> tuple[Polygonal, ...]:
    """Return the floor of regions on a level: their pieces, and the openings between these."""
    shapes: list[list[Polygonal]] = [[] for _ in range(count)]
    for polygon, region in zip(polygons, regions.tolist(), strict=True):
        if region != PUBLIC:
            shapes[region].append(polygon)
    for opening in openings:
        one, other = regions[[*opening.piece_indexes]].tolist()
        if one == other != PUBLIC and opening.one_way is None:
            shapes[one].append(opening.shape)
    unions = (shapely.union_all(own).buffer(THRESHOLD_FEET, join_style="mitre") for own in shapes)
    return tuple(to_polygonal(extract_polygons(union)) for union in unions)
