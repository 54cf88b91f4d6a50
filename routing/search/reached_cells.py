"""What of a level's convex cells is within reach of origins: all of a cell, or pieces of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from routing.arrays import BoolArray, FloatArray, IntArray
from routing.network.corners import cross
from routing.network.mesh import PUBLIC, Mesh
from routing.network.ranges import expand_ranges
from routing.network.views import Frontier, Sectors, Views, spread_views

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
    """Where straight walks begin: positions (n, 2), walks to there, and the sectors to look in."""

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

    def farthest_feet(self, cells: IntArray, xy: FloatArray) -> FloatArray:
        """Return a distance that all points of cells (n,) are from positions (n, 2) at most."""
        across = np.maximum(xy - self.low[cells], self.high[cells] - xy)
        return np.hypot(across[:, 0], across[:, 1])

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


def find_whole_cells(cells: LevelCells, longest: FloatArray, budget_feet: float) -> BoolArray:
    """Return the cells that are certainly within reach, by the longest walks to triangles (t,)."""
    is_whole = np.ones(len(cells), dtype=bool)
    is_whole[cells.of_triangle[longest > budget_feet]] = False
    return is_whole


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
    farthest = cells.farthest_feet(of_piece, at)
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
