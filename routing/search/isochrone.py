"""Isochrones: the part of the walkable area that is within a time of a waypoint.

A point is within reach if the source, or a vertex that sees it, has time left for the straight walk
to it. A walk that bends around a corner leads on between its direction before and the wall that it
bends around, so no corner has to look elsewhere. These sectors hardly overlap (they are the
shortest path map of Lee and Preparata 1984), so an area is the union of few pieces: of what an
origin sees of a convex cell, as far as its time lasts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely import GEOSException
from shapely.geometry.base import BaseGeometry

from routing.arrays import BoolArray, FloatArray, IntArray, expand_ranges, join_tables
from routing.network.levels import are_open, is_foreign
from routing.network.mesh import PUBLIC, Corners, Mesh, cross, find_corners, normalize
from routing.network.network import Network
from routing.network.views import (
    Frontier,
    Sectors,
    Views,
    all_round,
    halve_sectors,
    spread_views,
    widen_sectors,
)
from routing.network.walk_graph import VertexWalks
from routing.plan import Polygonal
from routing.search.matrix import WaypointRef, approach_portals, find_stops
from routing.search.walks import PlacedStops, select_sights
from routing.space.plan_repair import extract_polygons, to_polygonal

ARC_TOLERANCE_FEET = 0.5
"""Arcs are drawn as chords, which are inside the circle by up to this, or by up to
ARC_TOLERANCE_SHARE of the radius if that is less."""
ARC_TOLERANCE_SHARE = 0.01
SAME_FEET = 1e-5
"""Walks that differ by less are equally long; labels are rounded."""
RELAXATION_ROUNDS = 4
"""Bounds are right after any number of rounds; more of them hardly make them lower."""

Shapes = NDArray[np.object_]


class Origins(NamedTuple):
    """Positions (n, 2) where straight walks begin, walks to there, and the sectors to look in."""

    xy: FloatArray
    feet: FloatArray
    sectors: Sectors


@dataclass(frozen=True)
class LevelCells:
    """The triangles of a level, and its cells, those from number `first` on.

    Walks pass only public floor and that of a guarded `region`. Those that end in another enter it.

    `corners` (t, 3) of triangles are indexes into the mesh's `xy`, and `of_triangle` (t,) are their
    cells, counted from the first. `low` and `high` (c, 2) are the bounds of cells.
    """

    mesh: Mesh
    level: int
    first: int
    corners: IntArray
    of_triangle: IntArray
    low: FloatArray
    high: FloatArray
    region: int

    def __len__(self) -> int:
        return len(self.low)

    @cached_property
    def corner_xy(self) -> FloatArray:
        """The positions of corners (t, 3, 2)."""
        return self.mesh.xy[self.corners]

    @cached_property
    def side_feet(self) -> FloatArray:
        """The lengths of sides (t, 3); side k leads from corner k to the next."""
        sides = np.roll(self.corner_xy, -1, axis=1) - self.corner_xy
        return np.hypot(sides[..., 0], sides[..., 1])

    def may_pass(self, triangles: IntArray) -> BoolArray:
        """Return whether walks may lead through triangles, given by number, to others."""
        regions = self.mesh.regions[triangles]
        return np.asarray((regions == PUBLIC) | (regions == self.region))

    def outlines(self) -> Shapes:
        """Return the cells as polygons; they are convex."""
        of_corner = np.repeat(self.of_triangle, 3)
        order = np.argsort(of_corner, kind="stable")
        xy = self.corner_xy.reshape(-1, 2)[order]
        return np.asarray(shapely.convex_hull(shapely.multipoints(xy, indices=of_corner[order])))


def find_cells(mesh: Mesh, level: int, region: int) -> LevelCells:
    """Return the cells of a level, which must have some, for walks that begin in a region."""
    own = slice(*mesh.level_starts[level : level + 2].tolist())
    corners, first = mesh.triangles[own], int(mesh.cells[own].min())
    of_triangle = mesh.cells[own].astype(np.int64) - first
    low = np.full((int(of_triangle.max()) + 1, 2), np.inf)
    high = -low
    np.minimum.at(low, of_triangle, mesh.xy[corners].min(axis=1))
    np.maximum.at(high, of_triangle, mesh.xy[corners].max(axis=1))
    return LevelCells(mesh, level, first, corners, of_triangle, low, high, region)


def bound_walks(cells: LevelCells, xy: FloatArray, feet: FloatArray) -> FloatArray:
    """Return lengths that walks to anywhere in triangles (t,) have at most, inf if none is known.

    `feet` are the walks to positions `xy` (n, 2) of the level.
    """
    mesh, corners, side_feet = cells.mesh, cells.corners, cells.side_feet
    walks = np.full(len(mesh.xy), np.inf)
    around = mesh.triangles[mesh.locate(xy, cells.level)]
    lines = mesh.xy[around] - xy[:, None]
    np.minimum.at(walks, around, feet[:, None] + np.hypot(lines[..., 0], lines[..., 1]))
    passed = cells.may_pass(np.arange(*mesh.level_starts[cells.level : cells.level + 2]))
    sides, ends = corners[passed], np.roll(corners[passed], -1, axis=1)
    for _ in range(RELAXATION_ROUNDS):
        for start, end in ((sides, ends), (ends, sides)):
            np.minimum.at(walks, end, walks[start] + side_feet[passed])
    to_farthest = np.maximum(side_feet, np.roll(side_feet, 1, axis=1))
    from_one = (walks[corners] + to_farthest).min(axis=1)
    # Seen from any point, two of the corners are at least 120 degrees apart.
    from_nearest = walks[corners].max(axis=1) + side_feet.max(axis=1) / np.sqrt(3)
    return np.asarray(np.minimum(from_one, from_nearest))


def spread_walks(cells: LevelCells, origins: Origins, longest: FloatArray) -> Views:
    """Return what origins see of triangles (t,) to which a walk may be shortest, if not `longest`.

    Where another walk is shorter, it is so behind there, too.
    """
    first, corner_xy = int(cells.mesh.level_starts[cells.level]), cells.corner_xy

    def leads_on(frontier: Frontier) -> BoolArray:
        triangles, side = frontier.triangles - first, frontier.sides
        start, end = corner_xy[triangles, side], corner_xy[triangles, (side + 1) % 3]
        feet = measure_to_sides(origins.xy[frontier.origins], start, end - start)
        walks = origins.feet[frontier.origins] + feet
        before = cells.mesh.neighbours[0][frontier.triangles, frontier.sides]
        regions = cells.mesh.regions
        is_open = cells.may_pass(before) | (regions[before] == regions[frontier.triangles])
        return np.asarray(is_open & (walks <= longest[triangles] + SAME_FEET))

    return spread_views(cells.mesh, origins.xy, origins.sectors, cells.level, leads_on)


def measure_to_sides(at: FloatArray, starts: FloatArray, sides: FloatArray) -> FloatArray:
    """Return the distances from positions to lines that lead from `starts` along `sides`.

    All are (n, 2).
    """
    lines = at - starts
    share = (lines * sides).sum(axis=1) / (sides * sides).sum(axis=1)
    offsets = lines - np.clip(share, 0, 1)[:, None] * sides
    return np.asarray(np.hypot(offsets[:, 0], offsets[:, 1]))


def cut_pieces(
    cells: LevelCells, is_whole: BoolArray, views: Views, feet_left: FloatArray
) -> Shapes:
    """Return what is within `feet_left` (n,) of the origins of views, in cells that are not whole.

    There are polygons for each cell that an origin sees.
    """
    starts = views.starts[cells.first : cells.first + len(cells) + 1]
    of_entry, entries = expand_ranges(starts[:-1], starts[1:])
    cut = ~is_whole[of_entry]
    of_piece, entries = of_entry[cut], entries[cut]
    origins = views.origins[entries]
    at, radius = views.xy[origins], feet_left[origins]
    # No point of a cell is farther than its bounds reach.
    across = np.maximum(at - cells.low[of_piece], cells.high[of_piece] - at)
    farthest = np.hypot(across[:, 0], across[:, 1])
    # A circle around all of the cell is drawn with a few chords that are outside the cell.
    radius = np.minimum(radius, farthest * (1 + 2 * ARC_TOLERANCE_SHARE))
    tolerance = np.where(radius < farthest, ARC_TOLERANCE_FEET / radius, ARC_TOLERANCE_SHARE)
    right, left = (views.limits[side[entries]] - at for side in (views.right, views.left))
    sectors = draw_sectors(at, right, left, radius, np.minimum(tolerance, ARC_TOLERANCE_SHARE))
    return np.asarray(shapely.intersection(cells.outlines()[of_piece], sectors))


def draw_sectors(
    at: FloatArray, right: FloatArray, left: FloatArray, radius: FloatArray, share: FloatArray
) -> Shapes:
    """Return sectors of circles around positions (n, 2), from one direction (n, 2) to the other.

    A direction of no length makes a whole circle. Chords are within a `share` of the radius.
    """
    is_round = (right == 0).all(axis=1)
    first = np.arctan2(right[:, 1], right[:, 0])
    turn = np.maximum(np.arctan2(cross(right, left), (right * left).sum(axis=1)), 0)
    turn = np.where(is_round, 2 * np.pi, turn)
    chords = np.ceil(turn / (2 * np.arccos(1 - share))).astype(np.int64).clip(min=1)
    # Outlines begin in the middle, or, those of circles, at a point of the arc.
    of_point, steps = expand_ranges(np.full(len(at), -1), chords + 1)
    angles = first[of_point] + turn[of_point] * (np.maximum(steps, 0) / chords[of_point])
    feet = np.where((steps < 0) & ~is_round[of_point], 0, radius[of_point])[:, None]
    points = at[of_point] + feet * np.stack((np.cos(angles), np.sin(angles)), axis=1)
    return np.asarray(shapely.polygons(shapely.linearrings(points, indices=of_point)))


GAP_FEET = 0.005
"""Half the width of gaps that are closed: rounding leaves some between pieces."""
MIN_SQUARE_FEET = 1e-4
"""Smaller pieces are left out."""
SIMPLIFY_FEET = 0.01
"""Corners that bend by less are left out; the ends of walls and door frames stay."""

WIDE_COSINE = -0.9
"""Sectors with a wider angle are halved, as each must be narrower than half a turn."""


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
        level = self.network.level_index[level_id]
        if not self.is_reached(level):
            return to_polygonal([])
        levels, source, budget_feet = self.network.levels, self.source, self.budget_feet
        own, cells = source.on_level(level), find_cells(levels.mesh, level, find_region(source))
        vertices = levels.vertices(level)
        xy = np.concatenate((levels.xy[vertices], source.xy[own]))
        feet = np.concatenate((self.feet[vertices], source.offset_feet[own]))
        regions = np.concatenate((levels.regions[vertices], source.regions[own]))
        is_usable = ~is_foreign(regions, cells.region, PUBLIC)
        longest = bound_walks(cells, xy[is_usable], feet[is_usable])
        # Whole cells are certainly within reach: the longest walks to their triangles are in time.
        is_whole = np.ones(len(cells), dtype=bool)
        is_whole[cells.of_triangle[longest > budget_feet]] = False
        if is_whole.all():
            return levels.walkable_area(level)
        origins = find_origins(self, level, xy, feet)
        views = spread_walks(cells, origins, np.minimum(longest, budget_feet))
        pieces = cut_pieces(cells, is_whole, views, budget_feet - origins.feet)
        whole = shapely.polygons(cells.corner_xy[is_whole[cells.of_triangle]])
        area = join_pieces(
            [*pieces[shapely.area(pieces) > MIN_SQUARE_FEET], shapely.coverage_union_all(whole)]
        )
        closed = area.buffer(GAP_FEET, join_style="mitre").buffer(-GAP_FEET, join_style="mitre")
        simple = shapely.simplify(closed, SIMPLIFY_FEET, preserve_topology=True)
        return to_polygonal(extract_polygons(simple.intersection(levels.walkable_area(level))))


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
    onwards = replace(sectors, origins=sectors.origins + len(starts))
    sectors = join_tables([all_round(np.arange(len(starts))), onwards])
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
    return join_tables([sectors.take(~is_wide), halve_sectors(sectors.take(is_wide))])
