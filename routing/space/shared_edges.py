"""Find where one piece of floor lies along another with no wall drawn between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from shapely import LineString

from routing.space.doors import MAX_EXTENSION_FEET, DoorFrame
from routing.space.floor import FloorSurface

MIN_EDGE_FEET = 1.0
"""Pieces that meet along less than this meet at a corner."""
GAP_TOLERANCE_FEET = 0.5
"""How much wider than at its narrowest the gap between two outlines drawn by hand may become."""
WALL_CLEARANCE_FEET = 0.3
"""A door stands this far from the end of a wall."""
MAX_WALL_OPENING_FEET = 8.0
"""A gap in a drawn wall up to this wide is a door: a double one has six feet."""


@dataclass(frozen=True)
class SharedEdge:
    """The stretches of `piece`'s outline along `neighbour`, the longest first.

    `is_wall_opening` is True if the longest is a gap in a wall that is drawn along the edge.
    """

    piece: int
    neighbour: int
    stretches: tuple[LineString, ...]
    gap_feet: float
    is_wall_opening: bool

    @property
    def length_feet(self) -> float:
        """Length of the longest stretch."""
        return float(self.stretches[0].length)


def find_shared_edge(floor: FloorSurface, piece: int, neighbour: int) -> SharedEdge | None:
    """Return the edge that two pieces share, None if they share none, or a wall is all along."""
    polygon = floor.polygons[piece]
    left, top, right, bottom = polygon.bounds
    margin = 2 * MAX_EXTENSION_FEET
    box = (left - margin, top - margin, right + margin, bottom + margin)
    # Only what is near: a corridor along hundreds of rooms has thousands of corners.
    near = shapely.clip_by_rect(floor.polygons[neighbour], *box)
    gap_feet = float(polygon.distance(near))
    if not gap_feet <= MAX_EXTENSION_FEET:
        return None
    reach_feet = min(gap_feet + GAP_TOLERANCE_FEET, MAX_EXTENSION_FEET)
    along = shapely.intersection(np.array(floor.sides(piece)), near.buffer(reach_feet, 2))
    clear = along
    walls = floor.walls.query(polygon, predicate="dwithin", distance=reach_feet)
    if len(walls):
        blocked = shapely.union_all(floor.walls.geometries[walls])
        clear = shapely.difference(along, blocked.buffer(gap_feet + WALL_CLEARANCE_FEET))
    parts = [part for part in shapely.get_parts(clear) if part.length >= MIN_EDGE_FEET]
    if not parts:
        return None
    parts.sort(key=lambda part: -part.length)
    is_interrupted = shapely.length(along).sum() > shapely.length(clear).sum() + MIN_EDGE_FEET
    is_wall_opening = bool(is_interrupted and parts[0].length <= MAX_WALL_OPENING_FEET)
    return SharedEdge(piece, neighbour, tuple(parts), gap_feet, is_wall_opening)


def frame_on(stretch: LineString, at_feet: float, half_width: float) -> DoorFrame:
    """Return the frame of a door at a distance along a straight stretch."""
    (x0, y0), (x1, y1) = stretch.coords
    centre = stretch.interpolate(at_feet)
    along = ((x1 - x0) / stretch.length, (y1 - y0) / stretch.length)
    return DoorFrame((centre.x, centre.y), along, half_width)
