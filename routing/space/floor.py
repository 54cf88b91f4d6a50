"""The floor of a level before its doors: pieces of walkable space between walls.

A wall has no thickness in most plans. Here each room is set back from its outline by `WALL_FEET`,
so that pieces never touch, and a door is a shape that overlaps two of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import shapely
from shapely import Polygon, STRtree
from shapely.geometry.base import BaseGeometry

from routing.issues import IssueKind, PlanIssue
from routing.plan import Barrier, Level, Polygonal, Space, SpaceKind
from routing.space.plan_repair import MIN_AREA_SQUARE_FEET, extract_polygons

WALL_FEET = 0.05
"""1.5 cm: thin enough not to show in a distance, thick enough to survive rounding."""
SIMPLIFY_FEET = 0.015
TOUCH_TOLERANCE_FEET = 0.05
"""Corridors and areas this near to each other touch."""
MAX_GUESSED_CORRIDOR_HALF_WIDTH_FEET = 8.0
"""Half the width of the widest corridor that is guessed between rooms."""
MIN_CORRIDOR_FEET = 2.5
"""What is narrower between rooms is their wall."""


@dataclass(frozen=True)
class FloorPiece:
    """One connected polygon of floor; `room_id` is None for corridors and areas."""

    polygon: Polygon
    room_id: str | None = None


@dataclass(frozen=True)
class FloorSurface:
    level: Level
    pieces: tuple[FloorPiece, ...]
    rooms: tuple[Space, ...]
    """The rooms as drawn, for finding the one that a point lies in."""
    piece_tree: STRtree = field(repr=False)

    def pieces_within(self, geometry: BaseGeometry, within_feet: float = 0.0) -> list[int]:
        """The pieces that lie within `within_feet` of `geometry`, in order."""
        found = self.piece_tree.query(geometry, predicate="dwithin", distance=within_feet)
        return sorted(int(index) for index in found)

    @property
    def polygons(self) -> list[Polygon]:
        return [piece.polygon for piece in self.pieces]


def build_floor(
    level: Level, spaces: Sequence[Space], barriers: Sequence[Barrier]
) -> tuple[FloorSurface, list[PlanIssue]]:
    """The pieces of one level, from the spaces and barriers that lie on it."""
    rooms = [space for space in spaces if space.kind is SpaceKind.ROOM]
    open_spaces = [space for space in spaces if space.kind is not SpaceKind.ROOM]
    ground, problems = find_open_floor(level, rooms, open_spaces)
    if rooms:
        ground = shapely.difference(ground, shapely.union_all([room.polygon for room in rooms]))
    walls = build_walls(barriers)
    pieces = [FloorPiece(polygon) for polygon in cut_by_walls(ground, walls)]
    for room, shape in zip(rooms, subtract_overlaps([room.polygon for room in rooms]), strict=True):
        inset = shape.buffer(-WALL_FEET, join_style="mitre")
        pieces += [FloorPiece(polygon, room.id) for polygon in cut_by_walls(inset, walls)]
    if not pieces:
        message = "nothing on it can be walked on: no room, corridor or area"
        problems.append(PlanIssue(IssueKind.EMPTY_LEVEL, level.id, message, level.id))
    tree = STRtree([piece.polygon for piece in pieces])
    return FloorSurface(level, tuple(pieces), tuple(rooms), tree), problems


def find_open_floor(
    level: Level, rooms: list[Space], open_spaces: list[Space]
) -> tuple[BaseGeometry, list[PlanIssue]]:
    """All corridors and areas as one; without any, the level's outline."""
    if open_spaces:
        shapes = [space.polygon for space in open_spaces]
        joined = shapely.union_all(shapes).buffer(TOUCH_TOLERANCE_FEET / 2, join_style="mitre")
        return joined.buffer(-TOUCH_TOLERANCE_FEET / 2, join_style="mitre"), []
    union = shapely.union_all([room.polygon for room in rooms])
    if level.outline is not None:
        return drop_narrow_parts(level.outline.difference(union)), []
    if len(rooms) < 2:
        return Polygon(), []
    reach = MAX_GUESSED_CORRIDOR_HALF_WIDTH_FEET
    closed = union.buffer(reach, quad_segs=2).buffer(-reach, quad_segs=2)
    message = "has neither corridor nor outline; what lies between its rooms is taken as corridor"
    guessed = drop_narrow_parts(closed.difference(union))
    return guessed, [PlanIssue(IssueKind.OUTLINE_GUESSED, level.id, message, level.id)]


def drop_narrow_parts(ground: BaseGeometry) -> BaseGeometry:
    """The parts of `ground` that are wide enough to be floor and not the thickness of a wall."""
    half = MIN_CORRIDOR_FEET / 2
    wide = ground.buffer(-half, join_style="mitre").buffer(half, join_style="mitre")
    return wide.intersection(ground)


def subtract_overlaps(shapes: list[Polygonal]) -> list[BaseGeometry]:
    """Each shape without the smaller ones that overlap it, so that no floor is in two rooms."""
    if not shapes:
        return []
    tree = STRtree(shapes)
    order = np.argsort([shape.area for shape in shapes], kind="stable")
    rank = np.empty(len(shapes), dtype=int)
    rank[order] = np.arange(len(shapes))
    separated: list[BaseGeometry] = []
    for index, shape in enumerate(shapes):
        near = tree.query(shape, predicate="intersects")
        smaller = [shapes[other] for other in near if rank[other] < rank[index]]
        separated.append(shape.difference(shapely.union_all(smaller)) if smaller else shape)
    return separated


def build_walls(barriers: Iterable[Barrier]) -> STRtree:
    """Barriers as shapes: lines get the thickness of a wall."""
    walls: list[BaseGeometry] = []
    for barrier in barriers:
        shape: BaseGeometry = barrier.geometry
        if shapely.get_dimensions(shape) < 2:
            shape = shape.buffer(WALL_FEET / 2, cap_style="square", join_style="mitre")
        elif not shape.is_valid:
            shape = shapely.make_valid(shape, method="structure")
        walls.append(shape)
    return STRtree(walls)


def cut_by_walls(ground: BaseGeometry, walls: STRtree) -> list[Polygon]:
    """The polygons that `walls` leave of `ground`."""
    in_way = walls.geometries[walls.query(ground, predicate="intersects")]
    left = ground.difference(shapely.union_all(in_way)) if len(in_way) else ground
    simple = shapely.simplify(left, SIMPLIFY_FEET, preserve_topology=True)
    return [part for part in extract_polygons(simple) if part.area >= MIN_AREA_SQUARE_FEET]
