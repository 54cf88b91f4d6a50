"""Isochrones: the part of the walkable area that is within a time of a waypoint.

A point is within reach if the source, or a vertex that sees it, has time left for the straight walk
to it. A walk that bends around a corner leads on between its direction before and the wall that it
bends around, so no corner has to look elsewhere. These sectors hardly overlap (they are the
shortest path map of Lee and Preparata 1984), so an area is the union of few pieces: of what an
origin sees of a convex cell, as far as its time lasts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import shapely
from shapely import GEOSException
from shapely.geometry.base import BaseGeometry

from routing.arrays import FloatArray, IntArray
from routing.network.corners import Corners, cross, find_corners, normalize
from routing.network.labels import VertexWalks
from routing.network.levels import are_open, is_foreign
from routing.network.mesh import PUBLIC
from routing.network.network import Network
from routing.network.views import Sectors, all_round, halve_sectors, join_sectors, widen_sectors
from routing.plan import Polygonal
from routing.search.matrix import approach_portals
from routing.search.reached_cells import (
    SAME_FEET,
    Origins,
    bound_walks,
    cut_pieces,
    find_cells,
    find_whole_cells,
    spread_walks,
)
from routing.search.walks import PlacedStops, select_sights
from routing.search.waypoints import WaypointRef, find_stops
from routing.space.plan_repair import extract_polygons, to_polygonal

GAP_FEET = 0.005
"""Half the width of gaps that are closed: rounding leaves some between pieces."""
MIN_SQUARE_FEET = 1e-4
"""Smaller pieces are left out."""
SIMPLIFY_FEET = 0.01
"""Corners that bend by less are left out; the ends of walls and door frames stay."""

WIDE_COSINE = -0.9
"""Of the angle above which sectors are halved, as each must be narrower than half a turn."""


@dataclass(frozen=True)
class Isochrone:
    """What is within `budget_feet` of a source, where a second of a ride counts as its walk.

    `feet` (n,) is how far the vertices of `network` are, inf where no path leads. `source` is
    empty if nothing walkable is near it.
    """

    network: Network
    source: PlacedStops
    budget_feet: float
    feet: FloatArray

    @property
    def level_ids(self) -> list[str]:
        """The levels of which something is within reach, in the plan's order."""
        numbers = self.network.level_numbers.tolist()
        return [self.network.levels.ids[number] for number in numbers if self.is_reached(number)]

    def is_reached(self, level: int) -> bool:
        """Return whether anything of a level is within reach."""
        offset_feet = self.source.offset_feet[self.source.on_level(level)]
        feet = self.feet[self.network.levels.vertices(level)]
        return bool((np.concatenate((offset_feet, feet)) < self.budget_feet).any())

    def area(self, level_id: str) -> Polygonal:
        """Return the area of a level that is within reach.

        Its curves are drawn as chords on their inner side (ARC_TOLERANCE_FEET); other lines are
        moved by less than 0.02 ft, but never out of the walkable area.
        """
        return compute_area(self, self.network.level_index[level_id])


def find_isochrone(network: Network, source: WaypointRef, seconds: float) -> Isochrone:
    """Return what is within reach of a source. Raises WaypointError for an unknown location."""
    start = approach_portals(network, find_stops(network, [source]))
    rides_feet = network.portal_paths.seconds * network.feet_per_second
    through_feet, regions = start.portal_feet[0][:, None] + rides_feet, network.portal_regions
    through_feet[is_foreign(regions[:, None], find_region(start.placed), regions)] = np.inf
    portal_feet = through_feet.min(axis=0, initial=np.inf)
    feet = measure_vertices(network, start.placed, portal_feet)
    return Isochrone(network, start.placed, seconds * network.feet_per_second, feet)


def find_region(source: PlacedStops) -> int:
    """Return the guarded region of a source, or PUBLIC."""
    return int(source.regions.max(initial=PUBLIC))


def measure_vertices(network: Network, source: PlacedStops, portal_feet: FloatArray) -> FloatArray:
    """Return how far all vertices are from a source that is `portal_feet` (p,) from portals."""
    levels, own = network.levels, find_region(source)
    feet = np.full(len(levels.xy), np.inf)
    for level in network.level_numbers.tolist():
        vertices, count = levels.vertices(level), len(levels.portal_vertices(level))
        to_portals = portal_feet[levels.portals[level, :count], None]
        walks = to_portals + levels.portal_feet[:count, vertices]
        of_portals = levels.portal_regions[level, :count, None]
        walks[is_foreign(of_portals, own, levels.regions[vertices])] = np.inf
        feet[vertices] = walks.min(axis=0, initial=np.inf)
    for level in source.levels.tolist():
        # What is seen through private rooms is only for walks that end there.
        for region in np.union1d(source.approaches.regions, own).tolist():
            vertices = levels.vertices(level)
            if region not in (own, PUBLIC):
                vertices = vertices[levels.regions[vertices] == region]
            walks = VertexWalks(levels.labels, vertices).measure(
                *select_sights(source.approaches, 0, own, region)
            )
            feet[vertices] = np.minimum(feet[vertices], walks + source.offset_feet)
    return feet


def compute_area(isochrone: Isochrone, level: int) -> Polygonal:
    """Return the area of a level that is within reach."""
    if not isochrone.is_reached(level):
        return to_polygonal([])
    levels, source, budget_feet = isochrone.network.levels, isochrone.source, isochrone.budget_feet
    own, cells = source.on_level(level), find_cells(levels.mesh, level, find_region(source))
    vertices = levels.vertices(level)
    xy = np.concatenate((levels.xy[vertices], source.xy[own]))
    feet = np.concatenate((isochrone.feet[vertices], source.offset_feet[own]))
    regions = np.concatenate((levels.regions[vertices], source.regions[own]))
    is_usable = ~is_foreign(regions, cells.region, PUBLIC)
    longest = bound_walks(cells, xy[is_usable], feet[is_usable])
    is_whole = find_whole_cells(cells, longest, budget_feet)
    if is_whole.all():
        return levels.walkable_area(level)
    origins = find_origins(isochrone, level, xy, feet)
    views = spread_walks(cells, origins, np.minimum(longest, budget_feet))
    pieces = cut_pieces(cells, is_whole, views, budget_feet - origins.feet)
    whole = shapely.polygons(cells.corner_xy[is_whole[cells.of_triangle]])
    area = join_pieces(
        [*pieces[shapely.area(pieces) > MIN_SQUARE_FEET], shapely.coverage_union_all(whole)]
    )
    closed = area.buffer(GAP_FEET, join_style="mitre").buffer(-GAP_FEET, join_style="mitre")
    simple = shapely.simplify(closed, SIMPLIFY_FEET, preserve_topology=True)
    return to_polygonal(extract_polygons(simple.intersection(levels.walkable_area(level))))


def join_pieces(pieces: Sequence[BaseGeometry]) -> BaseGeometry:
    """Return the union of pieces that overlap."""
    try:
        return shapely.union_all(pieces)
    except GEOSException:
        # Where rounding makes it fail, a grid does not, but takes two or three times as long.
        return shapely.union_all(pieces, grid_size=GAP_FEET)


def find_origins(isochrone: Isochrone, level: int, xy: FloatArray, feet: FloatArray) -> Origins:
    """Return which of a level's vertices (n,) and the source, the last, have time to walk on.

    They are the source, the portals that a ride leads to, and the corners that walks bend around.
    """
    corners = find_corners(isochrone.network.levels.walkable_area(level))
    lines = find_last_lines(isochrone, level, xy, feet)
    in_time, is_start = feet < isochrone.budget_feet, (lines == 0).all(axis=1)
    starts, bends = np.flatnonzero(in_time & is_start), np.flatnonzero(in_time & ~is_start)
    # Walks do not bend at portals, which are last among the vertices.
    bends = bends[bends < len(corners)]
    chosen, sectors = np.concatenate((starts, bends)), bend_sectors(corners, bends, lines[bends])
    onwards = sectors._replace(origins=sectors.origins + len(starts))
    sectors = join_sectors(all_round(np.arange(len(starts))), onwards)
    return Origins(xy[chosen], feet[chosen], sectors)


def find_last_lines(
    isochrone: Isochrone, level: int, xy: FloatArray, feet: FloatArray
) -> FloatArray:
    """Return the last straight lines (n, 2) of the shortest walks to vertices and the source.

    They have no length where a walk begins: at the source, and at portals that a ride leads to.
    """
    levels, source = isochrone.network.levels, isochrone.source
    first, vertices = levels.level_starts[level], levels.vertices(level)
    (one, other), of_vertices = (levels.edges_of(level) - first).T, levels.regions[vertices]
    seen = source.sights.of_points(source.on_level(level))
    starts = np.concatenate((one, other, np.full(len(seen.vertices), len(xy) - 1)))
    ends = np.concatenate((other, one, seen.vertices - first))
    through = levels.find_regions(level, levels.xy[levels.edges_of(level)])
    through = np.concatenate((through, through, seen.regions))
    lines = xy[ends] - xy[starts]
    line_feet = np.hypot(lines[:, 0], lines[:, 1])
    # Of several shortest walks, any one will do.
    is_last = (feet[starts] + line_feet <= feet[ends] + SAME_FEET) & (line_feet > SAME_FEET)
    of_ends = np.append(of_vertices, PUBLIC)[ends]
    is_last &= are_open(through, find_region(source), of_ends)
    last_lines = np.zeros((len(xy), 2))
    last_lines[ends[is_last]] = lines[is_last]
    return last_lines


def bend_sectors(corners: Corners, bends: IntArray, lines: FloatArray) -> Sectors:
    """Return the directions in which walks that arrive along lines (n, 2) lead on around corners.

    They are those from the line to the wall that the walk bends around.
    """
    before, after = corners.before[bends], corners.after[bends]
    is_wall_left = (cross(lines, before) + cross(lines, after) > 0)[:, None]
    is_before = ((lines * before).sum(axis=1) > (lines * after).sum(axis=1))[:, None]
    wall, onwards = np.where(is_before, before, after), normalize(lines)
    right, left = np.where(is_wall_left, onwards, wall), np.where(is_wall_left, wall, onwards)
    sectors = widen_sectors(Sectors(np.arange(len(bends)), right, left))
    # Around the end of a thin wall, a walk may turn back.
    is_wide = (sectors.right * sectors.left).sum(axis=1) < WIDE_COSINE
    return join_sectors(sectors.where(~is_wide), halve_sectors(sectors.where(is_wide)))
