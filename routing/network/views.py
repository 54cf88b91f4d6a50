"""Views over a mesh: from which triangle which points are seen, and between which directions.

A view spreads from its origin over the mesh like light, from triangle to triangle: each is entered
through a side, between a right and a left limit, and is left through the others, between narrower
ones (triangular expansion; Bungiu et al. 2014). A point sees an origin exactly if its direction
lies within the limits with which the view entered the point's convex cell, so nothing else is
tested later. All views spread together, one triangle further at each step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from routing.arrays import (
    ArrayTable,
    BoolArray,
    FloatArray,
    IntArray,
    expand_ranges,
    find_span,
    join_starts,
    join_tables,
    shift,
    shift_and_join,
)
from routing.network.mesh import OUTSIDE, PUBLIC, Corners, Mesh, cross

SECTOR_SLACK_RADIANS = 1e-3
"""Sectors are wider by this; lines at their sides are tangent within a tolerance."""
MAX_BLOCK_ORIGINS = 2_000
"""Views that spread together; limits memory."""


@dataclass(frozen=True)
class Sectors(ArrayTable):
    """Parts of the views of `origins` (n,), from `right` to `left`, unit vectors (n, 2).

    Each is narrower than half a turn.
    """

    origins: IntArray
    right: FloatArray
    left: FloatArray


class Sights(NamedTuple):
    """Pairs of points and vertices in sight of each other, by point.

    Those of point i are `vertices[starts[i]:starts[i + 1]]`, at a distance of `feet`. The lines
    between them lead through the guarded `regions` (n, 2), or PUBLIC floor only.
    """

    starts: IntArray
    vertices: IntArray
    feet: FloatArray
    regions: IntArray

    def of_points(self, points: slice) -> Sights:
        """Return the pairs of consecutive points, numbered from the first of them."""
        starts = self.starts[points.start : points.stop + 1]
        own = slice(starts[0], starts[-1])
        return Sights(starts - starts[0], self.vertices[own], self.feet[own], self.regions[own])


@dataclass(frozen=True)
class Frontier(ArrayTable):
    """Triangles that views enter through a side between two limits; each (n,)."""

    origins: IntArray
    triangles: IntArray
    sides: IntArray
    right: IntArray
    left: IntArray


@dataclass(frozen=True)
class Views:
    """The views of origins at `xy` (n, 2): which of them each cell sees, within which limits.

    Cell c sees `origins[starts[c]:starts[c + 1]]`, between the directions from each to the
    positions with the indexes `right` and `left` in `limits` (k, 2).
    """

    xy: FloatArray
    limits: FloatArray
    starts: IntArray
    origins: IntArray
    right: IntArray
    left: IntArray

    def take(self, vertices: slice, cells: slice) -> Views:
        """Return the views of consecutive origins, which no other cells see."""
        starts = self.starts[cells.start : cells.stop + 1]
        own = slice(starts[0], starts[-1])
        right, left = self.right[own], self.left[own]
        limits = find_span(np.concatenate((right, left)))
        return Views(
            self.xy[vertices],
            self.limits[limits],
            starts - starts[0],
            shift(self.origins[own], -vertices.start),
            shift(right, -limits.start),
            shift(left, -limits.start),
        )

    def sights(self, xy: FloatArray, cells: IntArray) -> Sights:
        """Return the origins that see positions (m, 2) inside these `cells` (m,)."""
        begin, end = self.starts[:-1][cells], self.starts[1:][cells]
        points, entries = expand_ranges(begin, end)
        # `take` copies pairs of numbers several times faster than an index in brackets.
        origins = self.origins.take(entries)
        at = self.xy.take(origins, axis=0)
        lines = xy.take(points, axis=0) - at
        right = self.limits.take(self.right.take(entries), axis=0) - at
        left = self.limits.take(self.left.take(entries), axis=0) - at
        seen = np.flatnonzero((cross(right, lines) >= 0) & (cross(left, lines) <= 0))
        lines = lines.take(seen, axis=0)
        starts = points.take(seen).searchsorted(np.arange(len(xy) + 1))
        regions = np.broadcast_to(PUBLIC, (len(seen), 2))
        return Sights(starts, origins.take(seen), np.hypot(lines[:, 0], lines[:, 1]), regions)


def tangent_sectors(corners: Corners) -> Sectors:
    """Return the directions in which lines from corners leave both their walls on one side."""
    indexes = np.arange(len(corners))
    one = _order_sector(corners.before, -corners.after)
    other = _order_sector(corners.after, -corners.before)
    right, left = (np.concatenate(sides) for sides in zip(one, other, strict=True))
    # The end of a thin wall sees nearly half a turn to either side, and the slack makes it more.
    return halve_sectors(widen_sectors(Sectors(np.concatenate((indexes, indexes)), right, left)))


def widen_sectors(sectors: Sectors) -> Sectors:
    """Return sectors that reach further by SECTOR_SLACK_RADIANS on both sides."""
    return Sectors(
        sectors.origins,
        _rotate(sectors.right, -SECTOR_SLACK_RADIANS),
        _rotate(sectors.left, SECTOR_SLACK_RADIANS),
    )


def halve_sectors(sectors: Sectors) -> Sectors:
    """Return the halves of sectors, the right ones first; these may have any angle."""
    origins, right, left = sectors.origins, sectors.right, sectors.left
    middle = _rotate(right, (_angles(right, left) % (2 * np.pi) / 2)[:, None])
    return Sectors(
        np.concatenate((origins, origins)),
        np.concatenate((right, middle)),
        np.concatenate((middle, left)),
    )


def all_round(origins: IntArray) -> Sectors:
    """Return sectors that together have all directions."""
    turns = np.array((0, 2 * np.pi / 3, 4 * np.pi / 3, 2 * np.pi))
    directions = np.stack((np.cos(turns), np.sin(turns)), axis=1)
    return Sectors(
        np.tile(origins, 3),
        np.repeat(directions[:3], len(origins), axis=0),
        np.repeat(directions[1:], len(origins), axis=0),
    )


def join_views(parts: Sequence[Views]) -> Views:
    """Return the views of the levels of joined meshes."""
    vertices = np.cumsum([0, *(len(part.xy) for part in parts)])
    limits = np.cumsum([0, *(len(part.limits) for part in parts)])
    return Views(
        np.concatenate([part.xy for part in parts]),
        np.concatenate([part.limits for part in parts]),
        join_starts([part.starts for part in parts]),
        shift_and_join([part.origins for part in parts], vertices),
        shift_and_join([part.right for part in parts], limits),
        shift_and_join([part.left for part in parts], limits),
    )


def spread_views(
    mesh: Mesh,
    xy: FloatArray,
    sectors: Sectors,
    levels: IntArray | int = 0,
    leads_on: Callable[[Frontier], BoolArray] | None = None,
) -> Views:
    """Return the views of origins at `xy` (n, 2), which lie inside the mesh, in their sectors.

    Views end before triangles for which `leads_on` is false.
    """
    at = xy[sectors.origins]
    limits = np.concatenate((mesh.xy, xy, at + sectors.right, at + sectors.left))
    located = mesh.locate(xy, levels)
    no_limit = np.arange(len(xy)) + len(mesh.xy)
    # An origin's own cell is in sight on all sides. A limit at the origin itself has no direction
    # and limits nothing.
    parts = [Frontier(np.arange(len(xy)), located, np.zeros_like(located), no_limit, no_limit)]
    for first in range(0, len(xy), MAX_BLOCK_ORIGINS):
        block = (sectors.origins >= first) & (sectors.origins < first + MAX_BLOCK_ORIGINS)
        frontier = _leave_own_triangle(mesh, xy, limits, located, sectors, np.flatnonzero(block))
        while True:
            if leads_on is not None:
                frontier = frontier.take(leads_on(frontier))
            if not len(frontier):
                break
            parts.append(frontier.take(_enter_cells(mesh, frontier)))
            frontier = _advance(mesh, xy, limits, frontier)
    entries = join_tables(parts)
    cells = mesh.cells[entries.triangles]
    order = np.argsort(cells, kind="stable")
    entries = entries.take(order)
    starts = cells[order].searchsorted(np.arange(mesh.cell_count + 1))
    # Most corners of the mesh limit no view.
    used, ends = np.unique(np.concatenate((entries.right, entries.left)), return_inverse=True)
    right, left = ends[: len(cells)], ends[len(cells) :]
    return Views(xy, limits[used], starts, entries.origins, right, left)


def _enter_cells(mesh: Mesh, frontier: Frontier) -> BoolArray:
    """Return where a frontier enters a cell; what is seen in a cell is seen through that side."""
    before = mesh.neighbours[0][frontier.triangles, frontier.sides]
    return np.asarray(mesh.cells[before] != mesh.cells[frontier.triangles])


def _leave_own_triangle(
    mesh: Mesh,
    xy: FloatArray,
    limits: FloatArray,
    located: IntArray,
    sectors: Sectors,
    chosen: IntArray,
) -> Frontier:
    """Return the frontier of some sectors beyond the sides of their origins' own triangles."""
    origins = sectors.origins[chosen]
    right, left = sectors.right[chosen], sectors.left[chosen]
    middle = right + left
    half = _angles(middle, left)
    # The limits of the sectors follow the mesh and the origins.
    first_right = len(mesh.xy) + len(xy)
    first_left = first_right + len(sectors.origins)
    parts = []
    for side in range(3):
        starts = mesh.triangles[located[origins], side]
        ends = mesh.triangles[located[origins], (side + 1) % 3]
        # Angles from the middle of the sector, within half a turn to either side.
        start_angles = _angles(middle, limits[starts] - xy[origins])
        end_angles = _angles(middle, limits[ends] - xy[origins])
        # Seen from the inside, a side leads from right to left. One that passes behind the sector
        # counts as two, of which at most one is in it: the one to its start or the one to its end.
        is_behind = end_angles < start_angles
        by_start = is_behind & (start_angles < half)
        by_end = is_behind & ~by_start
        lowest = np.where(by_end, -half, np.maximum(start_angles, -half))
        highest = np.where(by_start, half, np.minimum(end_angles, half))
        from_sector = by_end | (start_angles <= -half)
        to_sector = by_start | (end_angles >= half)
        across, entered = (table[located[origins], side] for table in mesh.neighbours)
        frontier = Frontier(
            origins,
            across,
            entered,
            np.where(from_sector, first_right + chosen, starts),
            np.where(to_sector, first_left + chosen, ends),
        )
        parts.append(frontier.take((highest > lowest) & (across != OUTSIDE)))
    return join_tables(parts)


def _advance(mesh: Mesh, xy: FloatArray, limits: FloatArray, frontier: Frontier) -> Frontier:
    """Return the frontier one triangle further."""
    origins, triangles, sides = frontier.origins, frontier.triangles, frontier.sides
    right, left, at = frontier.right, frontier.left, xy[origins]
    apex = mesh.triangles[triangles, (sides + 2) % 3]
    to_apex = limits[apex] - at
    is_right_open = cross(limits[right] - at, to_apex) > 0
    is_left_open = cross(limits[left] - at, to_apex) < 0
    # Seen from the side of entry, side + 1 is on the right of the apex and side + 2 on its left.
    parts = []
    for turn, is_open, new_right, new_left in (
        (1, is_right_open, right, np.where(is_left_open, apex, left)),
        (2, is_left_open, np.where(is_right_open, apex, right), left),
    ):
        across, entered = (table[triangles, (sides + turn) % 3] for table in mesh.neighbours)
        entry = Frontier(origins, across, entered, new_right, new_left)
        parts.append(entry.take(is_open & (across != OUTSIDE)))
    return join_tables(parts)


def _order_sector(one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the sides of a sector of less than half a turn: the right one and the left one."""
    swapped = (cross(one, other) < 0)[:, None]
    return np.where(swapped, other, one), np.where(swapped, one, other)


def _rotate(vectors: FloatArray, radians: float | FloatArray) -> FloatArray:
    """Return vectors (n, 2) turned to the left, all by one angle or each by its own (n, 1)."""
    turned = np.stack((-vectors[:, 1], vectors[:, 0]), axis=1)
    return np.asarray(np.cos(radians) * vectors + np.sin(radians) * turned)


def _angles(middle: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return the angles from `middle` to vectors, from -pi to pi."""
    return np.asarray(np.arctan2(cross(middle, vectors), (middle * vectors).sum(axis=1)))
