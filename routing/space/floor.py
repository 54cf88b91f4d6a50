"""The floor of a level without its doors: pieces of walkable area, separated by walls.

Most plans draw walls without thickness. Here each room is set back from its outline by `WALL_FEET`,
so that pieces never touch and a door is a shape that overlaps two of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import shapely
from shapely import LineString, MultiPolygon, Polygon, STRtree
from shapely.geometry.base import BaseGeometry

from routing.issues import IssueKind, PlanIssue, point_in
from routing.plan import Barrier, Level, Polygonal, Space, SpaceKind
from routing.space.plan_repair import (
    MIN_AREA_SQUARE_FEET,
    extract_polygons,
    make_valid,
    to_polygonal,
)
from routing.values import FEET_PER_METRE

Shapes = npt.NDArray[np.object_]

MIN_GAP_METRES = 0.25
MIN_GAP_FEET = MIN_GAP_METRES * FEET_PER_METRE
ROUNDING_FEET, HAIRLINE_FEET = 0.002, 1e-4
"""A passage that is narrower by that because of rounding is no gap, and no hairline is one."""
MIN_WIDE_FEET = 0.8 * MIN_GAP_FEET
"""Floor on which people can stand is at least so wide between walls that were given a thickness."""
SEAL_FEET, NEAR_FEET = 0.02, 0.005
"""Half the thickness of what closes a gap, also its depth in the walls; and what touches it."""
CHUNK_CORNERS, MAX_PAIRS = 256, 5_000_000
"""Pairs of a corner and a side near it: a floor with more is hostile, or simplified anyway."""


def find_gaps(walls: BaseGeometry, floor: list[Polygon]) -> tuple[Shapes, Shapes]:
    """Return the shape of each gap between `walls`, lines as drawn, and the line across it.

    A gap leads from wide floor to wide floor: a niche stays as it is.
    """
    lines = find_narrows(walls, MultiPolygon(floor))
    if not len(lines):
        return lines, lines
    seals = shapely.union_all(shapely.buffer(lines, SEAL_FEET, cap_style="square"))
    pieces = [piece for whole in floor for piece in extract_polygons(whole.difference(seals))]
    parts = np.array(pieces, dtype=object)
    is_wide = ~shapely.is_empty(shapely.buffer(parts, -MIN_WIDE_FEET / 2))
    narrow = shapely.union_all([seals, *shapely.buffer(parts[~is_wide], NEAR_FEET)])
    mouths = narrow.buffer(NEAR_FEET).intersection(shapely.union_all(parts[is_wide]))
    gaps = np.array(extract_polygons(narrow), dtype=object)
    gap, _ = STRtree(extract_polygons(mouths)).query(gaps, "dwithin", NEAR_FEET)
    passages = gaps[np.bincount(gap, minlength=len(gaps)) > 1]
    passage, line = STRtree(lines).query(passages, "intersects")
    order = np.lexsort((line, passage))
    own, first = np.unique(passage[order], return_index=True)
    return passages[own], lines[line[order][first]]


def find_narrows(walls: BaseGeometry, floor: MultiPolygon) -> Shapes:
    """Return lines from corners across floor that is too narrow, the shortest first.

    The circle around each touches walls at its ends only, so nothing is narrower there.
    """
    xy, wall = shapely.get_coordinates(shapely.get_parts(walls), return_index=True)
    sides = shapely.linestrings(np.stack((xy[:-1], xy[1:]), axis=1)[wall[1:] == wall[:-1]])
    tree, corners = STRtree(sides), np.asarray(shapely.points(np.unique(xy, axis=0)))
    shapely.prepare(floor)
    found, pairs = [np.empty(0, dtype=object)], 0
    for start in range(0, len(corners), CHUNK_CORNERS):
        own = corners[start : start + CHUNK_CORNERS]
        corner, side = tree.query(own, "dwithin", MIN_GAP_FEET - ROUNDING_FEET)
        lines = shapely.shortest_line(own[corner], sides[side])
        lines = lines[shapely.length(lines) > 2 * HAIRLINE_FEET]
        middles, half_feet = shapely.centroid(lines), shapely.length(lines) / 2
        _, clear_feet = tree.query_nearest(middles, return_distance=True, all_matches=False)
        is_inside = shapely.dwithin(floor, middles, half_feet - HAIRLINE_FEET / 2)
        found.append(lines[(clear_feet > 0.9998 * half_feet) & is_inside])
        pairs += len(corner)
        if pairs > MAX_PAIRS:
            break
    lines = np.concatenate(found)
    return lines[np.argsort(shapely.length(lines), kind="stable")]


WALL_FEET = 0.05
"""1.5 cm: too thin to affect distances, thick enough to survive rounding."""
SIMPLIFY_FEET = 0.015
"""Tolerance of simplifying outlines: fewer corners, at no visible change."""
TOUCH_TOLERANCE_FEET = 0.15
"""Corridors and areas this near to each other touch: no wall is thinner than 4.5 cm."""
MAX_GUESSED_CORRIDOR_HALF_WIDTH_FEET = 8.0
"""Half the width of the widest gap between rooms that is taken for a corridor."""
MIN_CORRIDOR_FEET = 2.5
"""Narrower gaps between rooms are walls."""
MIN_STRIP_FEET = 1.0
"""A wider strip of a room is left beside another that is drawn across it; others are inexact."""


@dataclass(frozen=True)
class FloorPiece:
    """One connected polygon of floor; `room_id` is None for corridors and areas.

    `whole` is what it was a part of before gaps were closed that are too narrow to pass.
    """

    polygon: Polygon
    room_id: str | None
    whole: Polygon = field(repr=False)


@dataclass(frozen=True)
class FloorSurface:
    """The pieces of one level's floor, the rooms as drawn, and the names of rooms by id."""

    level: Level
    pieces: tuple[FloorPiece, ...]
    rooms: tuple[Space, ...]
    piece_tree: STRtree = field(repr=False)
    walls: STRtree = field(repr=False)
    names: Mapping[str, str] = field(default_factory=dict, repr=False)

    def pieces_within(self, geometry: BaseGeometry, within_feet: float = 0.0) -> list[int]:
        """Return the indexes of pieces within `within_feet` of `geometry`, in ascending order."""
        indexes = self.piece_tree.query(geometry, predicate="dwithin", distance=within_feet)
        return sorted(int(index) for index in indexes)

    @cached_property
    def polygons(self) -> list[Polygon]:
        return [piece.polygon for piece in self.pieces]

    def describe_piece(self, index: int) -> str:
        """Return the name of a piece for messages: that of its room, else the id."""
        room_id = self.pieces[index].room_id
        if room_id is None:
            return "a corridor or area"
        return f"room {self.names.get(room_id, room_id)!r}"

    def sides(self, index: int) -> list[LineString]:
        """Return the sides of a piece and of its holes."""
        polygon = self.polygons[index]
        rings = [polygon.exterior, *polygon.interiors]
        coordinates = [shapely.get_coordinates(ring) for ring in rings]
        pairs = np.concatenate([np.stack((ring[:-1], ring[1:]), axis=1) for ring in coordinates])
        return [LineString(pair) for pair in pairs]


def build_floor(
    level: Level,
    spaces: Sequence[Space],
    barriers: Sequence[Barrier],
    names: Mapping[str, str] | None = None,
) -> tuple[FloorSurface, list[PlanIssue]]:
    """Return the floor of one level from its spaces and barriers, and the issues found."""
    rooms = [space for space in spaces if space.kind is SpaceKind.ROOM]
    open_spaces = [space for space in spaces if space.kind is not SpaceKind.ROOM]
    open_floor, issues = find_open_floor(level, rooms, open_spaces)
    if rooms:
        union = shapely.union_all([room.polygon for room in rooms])
        # Only doors lead into a room, so a corridor drawn across it does not open it.
        open_floor = shapely.difference(open_floor, union)
    walls = build_walls(barriers)
    drawn_walls = np.array([barrier.geometry for barrier in barriers], dtype=object)
    is_line = shapely.get_dimensions(drawn_walls) < 2
    outlines = np.where(is_line, drawn_walls, shapely.boundary(drawn_walls))
    pieces: list[FloorPiece] = []
    shapes = [open_floor, *subtract_overlaps([room.polygon for room in rooms])]
    for room_id, drawn in zip([None, *(room.id for room in rooms)], shapes, strict=True):
        area = drawn if room_id is None else drawn.buffer(-WALL_FEET, join_style="mitre")
        wholes = cut_by_walls(area, walls)
        near = outlines[walls.query(drawn, predicate="intersects")]
        gaps, lines = find_gaps(shapely.union_all([drawn.boundary, *near]), wholes)
        issues += [describe_gap(level, room_id, names or {}, line) for line in lines]
        closed = shapely.union_all(gaps)
        for whole in wholes:
            parts = extract_polygons(whole - closed) if whole.intersects(closed) else [whole]
            clear = [part for part in parts if part.area >= MIN_AREA_SQUARE_FEET]
            pieces += [FloorPiece(part, room_id, whole) for part in clear]
    if not pieces:
        issues.append(PlanIssue(IssueKind.EMPTY_LEVEL, level.id, "", level.id))
    tree = STRtree([piece.polygon for piece in pieces])
    return FloorSurface(level, tuple(pieces), tuple(rooms), tree, walls, names or {}), issues


def find_open_floor(
    level: Level, rooms: list[Space], open_spaces: list[Space]
) -> tuple[BaseGeometry, list[PlanIssue]]:
    """Return the floor outside rooms: corridors and areas, else the outline, else gaps of rooms.

    A guess from gaps comes with an issue.
    """
    if open_spaces:
        # Out and back in: joins shapes across gaps of up to the tolerance.
        shapes = [space.polygon for space in open_spaces]
        joined = shapely.union_all(shapes).buffer(TOUCH_TOLERANCE_FEET / 2, join_style="mitre")
        # Buffers may touch themselves in a point; make_valid leaves all others as they are.
        return make_valid(joined.buffer(-TOUCH_TOLERANCE_FEET / 2, join_style="mitre")), []
    union = shapely.union_all([room.polygon for room in rooms])
    if level.outline is not None:
        return drop_narrow_parts(level.outline.difference(union)), []
    if len(rooms) < 2:
        return Polygon(), []
    reach = MAX_GUESSED_CORRIDOR_HALF_WIDTH_FEET
    # Out and back in, a morphological closing, fills the gaps between rooms. Coarse arcs suffice
    # because only the gaps are used.
    closed = union.buffer(reach, quad_segs=2).buffer(-reach, quad_segs=2)
    message = "has neither corridor nor outline; gaps between its rooms are taken for corridors"
    guessed = drop_narrow_parts(closed.difference(union))
    return guessed, [PlanIssue(IssueKind.OUTLINE_GUESSED, level.id, message, level.id)]


def drop_narrow_parts(area: BaseGeometry) -> BaseGeometry:
    """Return the parts of `area` that are too wide to be the thickness of a wall."""
    half = MIN_CORRIDOR_FEET / 2
    # In and back out, a morphological opening, removes what is narrower than twice `half`.
    wide = area.buffer(-half, join_style="mitre").buffer(half, join_style="mitre")
    return wide.intersection(area)


def subtract_overlaps(shapes: list[Polygonal]) -> list[BaseGeometry]:
    """Return each shape without the smaller ones that overlap it, so that no two overlap."""
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
        separated.append(subtract_from(shape, smaller) if smaller else shape)
    return separated


def subtract_from(shape: Polygonal, smaller: list[Polygonal]) -> BaseGeometry:
    """Return the parts of a shape outside smaller ones, without strips that nobody can stand on."""
    rest = shape.difference(shapely.union_all(smaller))
    if shape.area - rest.area < MIN_AREA_SQUARE_FEET:
        return rest
    parts = extract_polygons(rest)
    return to_polygonal([part for part in parts if not part.buffer(-MIN_STRIP_FEET / 2).is_empty])


def build_walls(barriers: Iterable[Barrier]) -> STRtree:
    """Return barriers as valid polygons; lines get the thickness of a wall."""
    walls: list[BaseGeometry] = []
    for barrier in barriers:
        shape: BaseGeometry = barrier.geometry
        if shapely.get_dimensions(shape) < 2:
            shape = shape.buffer(WALL_FEET / 2, cap_style="square", join_style="mitre")
        elif not shape.is_valid:
            shape = shapely.make_valid(shape, method="structure")
        walls.append(shape)
    return STRtree(walls)


def cut_by_walls(area: BaseGeometry, walls: STRtree) -> list[Polygon]:
    """Return the polygons of `area` outside all `walls`, simplified, without slivers."""
    obstacles = walls.geometries[walls.query(area, predicate="intersects")]
    clear = area.difference(shapely.union_all(obstacles)) if len(obstacles) else area
    simple = shapely.simplify(clear, SIMPLIFY_FEET, preserve_topology=True)
    return [part for part in extract_polygons(simple) if part.area >= MIN_AREA_SQUARE_FEET]


def describe_gap(
    level: Level, room_id: str | None, names: Mapping[str, str], line: LineString
) -> PlanIssue:
    """Return the issue of a gap that was closed across a line."""
    place = "a corridor or area" if room_id is None else f"room {names.get(room_id, room_id)!r}"
    message = (
        f"a gap in {place} is only {line.length:.2f} ft ({line.length / FEET_PER_METRE:.3f} m) wide"
        f" and was closed: draw it {MIN_GAP_METRES} m wide, or a door in it, if people pass"
    )
    part = room_id or level.id
    return PlanIssue(IssueKind.GAP_TOO_NARROW, part, message, level.id, point_in(line.centroid))
