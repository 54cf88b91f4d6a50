"""Lines of walks to draw: clear of walls and with rounded bends, as people walk.

The shortest walk is a taut string: it touches the corners that it bends at, and grazes others. Each
corner near it pushes it away, by `CLEARANCE_FEET` or to the middle of a narrower place. The line is
for the eye alone: lengths, times and steps are those of the walk.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import shapely
from shapely import Point, STRtree

from routing.arrays import BoolArray, FloatArray, IntArray, unpack_shapes
from routing.network.levels import MAX_SIGHT_AREAS, Levels
from routing.network.mesh import PUBLIC, find_corners, normalize
from routing.network.network import Network
from routing.search.router import ComputedRoute, WalkLeg

CLEARANCE_FEET = 2.0
MIN_PUSH_FEET = 0.1
"""A line that is so much too near to a corner stays where it is."""
TOUCH_FEET = 1e-3
HALVINGS = 5
"""The search for the room beside a corner, or for a push, halves its interval so often."""
ARC_TURN_RADIANS = np.pi / 12
"""A bend has a point for each turn of this much."""


@lru_cache(maxsize=MAX_SIGHT_AREAS)
def index_walls(content: bytes) -> tuple[STRtree, STRtree]:
    """Return trees of the sides and of the reflex corners of an area as it is packed."""
    [area] = unpack_shapes(content)
    xy, ring = shapely.get_coordinates(
        shapely.get_rings(shapely.get_parts(area)), return_index=True
    )
    is_side = ring[1:] == ring[:-1]
    sides = shapely.linestrings(np.stack((xy[:-1], xy[1:]), axis=1)[is_side])
    trees = STRtree(sides), STRtree(np.asarray(shapely.points(find_corners(area).xy)))
    for tree in trees:
        # The first use builds the index, which several threads must not do at once.
        tree.query(Point())
    return trees


def draw_route(network: Network, route: ComputedRoute) -> list[FloatArray]:
    """Return the line to draw for each leg of a route, empty for a ride."""
    levels = network.levels
    return [
        draw_walk(levels, levels.ids.index(leg.level_id), np.array(leg.points))
        if isinstance(leg, WalkLeg)
        else np.empty((0, 2))
        for leg in route.legs
    ]


def draw_walk(levels: Levels, level: int, points: FloatArray) -> FloatArray:
    """Return the line (m, 2) to draw for a shortest walk along `points` (n, 2), with its ends.

    It stays in the walkable area, and enters no private space that the walk does not enter.
    """
    if len(points) < 2:
        return points
    through = levels.find_regions(level, np.stack((points[:-1], points[1:]), axis=1))
    walk = _Walk(levels, level, np.append(through, PUBLIC))
    line = walk.push(*walk.find_pushes(points))
    rounded = walk.round_bends(line)
    return rounded if walk.are_clear(rounded).all() else line


class _Walk:
    """The floor of a level that a walk with ends in `regions` may use."""

    def __init__(self, levels: Levels, level: int, regions: IntArray) -> None:
        self.levels, self.level, self.regions = levels, level, regions
        self.walls, self.corners = index_walls(levels.walkable_areas.packed(level))

    def are_clear(self, line: FloatArray) -> BoolArray:
        """Return whether each segment of a line (n, 2) is on floor that the walk may use."""
        starts, ends = line[:-1], line[1:]
        through = self.levels.find_regions(self.level, np.stack((starts, ends), axis=1))
        is_open = np.isin(through, self.regions).all(axis=1)
        return np.asarray(is_open & self.levels.are_clear(self.level, starts, ends))

    def find_clear_feet(self, xy: FloatArray) -> FloatArray:
        """Return how far positions (n, 2) are from walls, at most the clearance."""
        feet = np.full(len(xy), CLEARANCE_FEET)
        (at, _), near = self.walls.query_nearest(
            shapely.points(xy), CLEARANCE_FEET, return_distance=True, all_matches=False
        )
        feet[at] = near
        return feet

    def find_pushes(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return positions on a walk, in order, and where each of them is to be drawn."""
        lines = points[1:] - points[:-1]
        along, lengths = normalize(lines), np.linalg.norm(lines, axis=1)
        # Where the walk bends, the corner is on the inside.
        bends = points[1:-1]
        outwards = normalize(along[:-1] - along[1:])
        # Between its bends it passes others.
        segments = shapely.linestrings(np.stack((points[:-1], points[1:]), axis=1))
        segment, corner = self.corners.query(segments, "dwithin", CLEARANCE_FEET)
        corners = shapely.get_coordinates(self.corners.geometries[corner])
        passed = ((corners - points[segment]) * along[segment]).sum(axis=1)
        is_between = (passed > TOUCH_FEET) & (passed < lengths[segment] - TOUCH_FEET)
        segment, corners, passed = segment[is_between], corners[is_between], passed[is_between]
        feet_on_walk = points[segment] + passed[:, None] * along[segment]
        away = feet_on_walk - corners
        # What it touches may be on either side: only one of them is free.
        across = along[segment][:, ::-1] * (1, -1)
        touched = np.linalg.norm(away, axis=1) < TOUCH_FEET
        away = np.concatenate(
            (normalize(np.where(touched[:, None], across, away)), -across[touched])
        )
        twice = np.append(np.arange(len(segment)), np.flatnonzero(touched))
        from_xy = np.concatenate((bends, corners[twice]))
        at_xy = np.concatenate((bends, feet_on_walk[twice]))
        directions = np.concatenate((outwards, away))
        order = np.concatenate(
            (
                np.arange(1.0, len(points) - 1),
                segment[twice] + passed[twice] / lengths[segment[twice]],
            )
        )
        to_xy = from_xy + self.find_room(from_xy, directions)[:, None] * directions
        is_pushed = ((to_xy - at_xy) * directions).sum(axis=1) > MIN_PUSH_FEET
        is_pushed |= np.arange(len(at_xy)) < len(bends)
        chosen = np.flatnonzero(is_pushed)[np.argsort(order[is_pushed], kind="stable")]
        ends = points[[0]], points[[-1]]
        return (
            np.concatenate((ends[0], at_xy[chosen], ends[1])),
            np.concatenate((ends[0], to_xy[chosen], ends[1])),
        )

    def find_room(self, corners: FloatArray, directions: FloatArray) -> FloatArray:
        """Return the radii of the largest circles that touch corners and have no wall inside."""
        low, high = np.zeros(len(corners)), np.full(len(corners), CLEARANCE_FEET)
        radii = high.copy()
        for _ in range(HALVINGS):
            centres = corners + radii[:, None] * directions
            fits = self.find_clear_feet(centres) >= radii * (1 - TOUCH_FEET)
            low, high = np.where(fits, radii, low), np.where(fits, high, radii)
            radii = (low + high) / 2
        ends = corners + low[:, None] * directions
        return np.where(self.levels.are_clear(self.level, corners, ends), low, 0.0)

    def push(self, from_xy: FloatArray, to_xy: FloatArray) -> FloatArray:
        """Return the line through `to_xy`, nearer to `from_xy` where walls are in its way."""
        share = np.ones(len(from_xy))
        while True:
            line = from_xy + share[:, None] * (to_xy - from_xy)
            is_blocked = ~self.are_clear(line) & ((share[:-1] > 0) | (share[1:] > 0))
            is_blocked &= (line[1:] != line[:-1]).any(axis=1)
            if not is_blocked.any():
                return line
            at = np.flatnonzero(is_blocked)
            at = np.unique(np.concatenate((at, at + 1)))
            share[at] = np.where(share[at] > 0.5**HALVINGS, share[at] / 2, 0)

    def round_bends(self, line: FloatArray) -> FloatArray:
        """Return a line with arcs for its bends; each is in a circle without walls."""
        line = line[np.append(True, (line[1:] != line[:-1]).any(axis=1))]
        lines = line[1:] - line[:-1]
        along, halves = normalize(lines), np.linalg.norm(lines, axis=1) / 2
        clear = self.find_clear_feet(line[1:-1])
        cuts = np.minimum(clear, np.minimum(halves[:-1], halves[1:]))[:, None]
        turns = np.arccos(np.clip((along[:-1] * along[1:]).sum(axis=1), -1, 1))
        parts = [line[:1]]
        for bend, cut, one, other, turn in zip(
            line[1:-1], cuts, along[:-1], along[1:], turns, strict=True
        ):
            # A quadratic Bézier curve, tangent to both segments.
            share = np.linspace(0, 1, 2 + int(turn / ARC_TURN_RADIANS))[:, None]
            parts.append(bend - (1 - share) ** 2 * cut * one + share**2 * cut * other)
        return np.concatenate((*parts, line[-1:]))
