"""Fit doors into the walls of a floor: each becomes a shape that joins two pieces.

A door that does not reach both is extended along its normal, by at most half a metre to either
side. One that still joins no two pieces is reported and stays impassable.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import shapely
from shapely import Point, Polygon
from shapely.geometry.base import BaseGeometry

from routing.issues import IssueKind, PlanIssue
from routing.plan import Door
from routing.space.floor import WALL_FEET, FloorSurface
from routing.space.plan_repair import extract_polygons
from routing.values import FEET_PER_METRE

MAX_EXTENSION_FEET = 0.5 * FEET_PER_METRE
MAX_FOUND_EXTENSION_FEET = 0.15
"""Doors extended by no more than this count as found, others as repaired."""
EXTENSION_STEPS_FEET = (MAX_FOUND_EXTENSION_FEET, 0.3, 0.5, 0.75, 1.0, 1.3, MAX_EXTENSION_FEET)
DEFAULT_DOOR_FEET = 3.0
"""Width of a door drawn as a point without a width."""
MIN_DOOR_FEET = 1.0
"""A shape smaller than any door is a symbol that marks a place, as a point does."""
OBLONG_RATIO = 1.2
"""The sides of a shape that are nearer to each other do not say along which wall it stands."""
CORNER_FEET = 0.1
"""A third space this little farther away than the two that a door joins could be meant as well."""
MIN_PATCH_SQUARE_FEET = 0.005
"""Smallest overlap with a piece for a door to join it."""


class DoorOrigin(StrEnum):
    """The origin of an opening: a door as drawn, an extended one, or an inferred one."""

    AS_DRAWN = "as drawn"
    REPAIRED = "repaired"
    INFERRED = "inferred"


@dataclass(frozen=True)
class Opening:
    """A passable hole in a wall; `piece_indexes` are the two floor pieces it joins.

    `confidence`, from 0 to 1, is how likely these two pieces are joined here: 1 for a drawn door.
    """

    door_id: str
    shape: Polygon
    piece_indexes: tuple[int, int]
    origin: DoorOrigin
    width_feet: float
    wheelchair: bool = True
    one_way: tuple[float, float] | None = None
    confidence: float = 1.0


@dataclass(frozen=True)
class DoorFrame:
    """A rectangle across a wall: `along` is the wall's direction, a unit vector."""

    centre: tuple[float, float]
    along: tuple[float, float]
    half_width_feet: float
    half_depth_feet: float = 0.0

    @property
    def normal(self) -> tuple[float, float]:
        """Unit vector across the wall."""
        return -self.along[1], self.along[0]

    def rectangle(self, reach_feet: float) -> Polygon:
        """Return the rectangle extended by `reach_feet` to either side of the wall."""
        centre, along, normal = map(np.array, (self.centre, self.along, self.normal))
        across = normal * (self.half_depth_feet + reach_feet)
        side = along * self.half_width_feet
        corners = (side + across, across - side, -side - across, side - across)
        return Polygon([centre + corner for corner in corners])

    def depth_feet(self, shape: BaseGeometry) -> float:
        """Return the distance of `shape` from the middle of the wall, negative on one side."""
        centroid = shape.centroid
        x, y = centroid.x - self.centre[0], centroid.y - self.centre[1]
        return x * self.normal[0] + y * self.normal[1]


def fit_doors(
    floor: FloorSurface, doors: list[Door]
) -> tuple[list[Opening], list[Door], list[PlanIssue]]:
    """Return the openings of the unlocked doors, those that fit no wall, and the issues found."""
    openings: list[Opening] = []
    misfits: list[Door] = []
    issues: list[PlanIssue] = []
    for door in doors:
        if door.is_locked:
            continue
        if opening := fit_door(floor, door):
            openings.append(opening)
            issues += corner_issues(floor, door, opening)
        else:
            misfits.append(door)
    return openings, misfits, issues


def fit_door(floor: FloorSurface, door: Door) -> Opening | None:
    """Return the opening of a door with the least extension, None if it fits no wall."""
    frames = [] if door.geometry.is_empty else list(iter_frames(floor, door))
    has_direction = not is_symbol(door.geometry) and is_oblong(door.geometry)
    # The reach is the outer loop: a short extension of the second frame beats a long one of the
    # first.
    for reach_feet in EXTENSION_STEPS_FEET:
        fitted = (fit_frame(floor, frame, reach_feet, door) for frame in frames)
        openings = filter(None, fitted)
        if has_direction:
            opening = next(openings, None)
        else:
            # At a corner it fits several walls: most doors lead to a corridor.
            opening = max(openings, key=lambda each: joins_open_floor(floor, each), default=None)
        if opening is not None:
            return opening
    return None


def joins_open_floor(floor: FloorSurface, opening: Opening) -> bool:
    """Return whether an opening leads to a corridor or area."""
    return any(floor.pieces[index].room_id is None for index in opening.piece_indexes)


def is_symbol(shape: BaseGeometry) -> bool:
    """Return whether a door is drawn as a point, or as a dot that says nothing of its width."""
    left, top, right, bottom = shape.bounds
    return math.hypot(right - left, bottom - top) < MIN_DOOR_FEET


def is_oblong(shape: BaseGeometry) -> bool:
    """Return whether a door's longer side says along which wall it stands."""
    corners = shapely.get_coordinates(shapely.oriented_envelope(shape))
    sides = np.hypot(*np.diff(corners[:3], axis=0).T)
    return len(sides) < 2 or float(sides.max()) > OBLONG_RATIO * float(sides.min())


def iter_frames(floor: FloorSurface, door: Door) -> Iterator[DoorFrame]:
    """Yield the frames in which a door can stand in a wall, the likeliest first."""
    if is_symbol(door.geometry):
        width_feet = door.width_feet or DEFAULT_DOOR_FEET
        yield from iter_frames_at_point(floor, door.geometry.centroid, width_feet)
        return
    box = shapely.oriented_envelope(door.geometry)
    corners = shapely.get_coordinates(box)
    first, second = corners[1] - corners[0], corners[2] - corners[1] if len(corners) > 2 else (0, 0)
    # A door is usually wider than its wall is thick, so its longer side comes first.
    for side, depth in sorted(((first, second), (second, first)), key=lambda s: -math.hypot(*s[0])):
        yield frame_along(box, side, depth, door.width_feet)


def frame_along(
    box: BaseGeometry, side: np.ndarray, depth: np.ndarray, width_feet: float | None
) -> DoorFrame:
    """Return the frame of a wall along `side` of the door's bounding box."""
    length, other = math.hypot(*side), math.hypot(*depth)
    along = side / length if length else np.array((-depth[1], depth[0])) / other
    half_width = (length or width_feet or DEFAULT_DOOR_FEET) / 2
    middle = box.centroid
    return DoorFrame((middle.x, middle.y), (along[0], along[1]), half_width, other / 2)


def iter_frames_at_point(
    floor: FloorSurface, point: Point, width_feet: float
) -> Iterator[DoorFrame]:
    """Yield a frame for each direction of the walls nearest to a door drawn as a point."""
    near = floor.pieces_within(point, MAX_EXTENSION_FEET)
    walls = [segment for index in near for segment in floor.sides(index)]
    if not walls:
        return
    distances = shapely.distance(np.array(walls), point)
    seen: set[float] = set()
    for index in np.argsort(distances, kind="stable"):
        # Both faces of one wall are about equally near: rooms are set back from it by WALL_FEET.
        if distances[index] > distances.min() + 2 * WALL_FEET:
            return
        (x0, y0), (x1, y1) = walls[index].coords
        # Modulo half a turn: a wall has the same heading whichever end is drawn first.
        heading = round(math.atan2(y1 - y0, x1 - x0) % math.pi, 2)
        if heading in seen:
            continue
        seen.add(heading)
        length = math.hypot(x1 - x0, y1 - y0)
        along = ((x1 - x0) / length, (y1 - y0) / length)
        yield DoorFrame((point.x, point.y), along, width_feet / 2)


def fit_frame(
    floor: FloorSurface, frame: DoorFrame, reach_feet: float, door: Door
) -> Opening | None:
    """Return the opening of `frame` at this reach, None unless it overlaps a piece on each side."""
    rectangle = frame.rectangle(reach_feet)
    largest: dict[bool, tuple[float, int, Polygon]] = {}
    patches = [
        (index, patch)
        for index in floor.pieces_within(rectangle)
        for patch in extract_polygons(floor.polygons[index].intersection(rectangle))
    ]
    for index, patch in patches:
        depth_feet = frame.depth_feet(patch)
        side = depth_feet > 0
        min_area = largest[side][0] if side in largest else MIN_PATCH_SQUARE_FEET
        # A patch in the middle of the wall is on neither side.
        if abs(depth_feet) > WALL_FEET / 2 and patch.area > min_area:
            largest[side] = (patch.area, index, patch)
    if len(largest) < 2:
        return None
    (_, one, near), (_, other, far) = largest[False], largest[True]
    # Even the smallest overlap with a third piece would open that piece too.
    others = [patch for _, patch in patches if patch not in (near, far)]
    shape = trim_opening(rectangle, others, near, far)
    if shape is None:
        return None
    width_feet = door.width_feet or 2 * frame.half_width_feet
    origin = DoorOrigin.AS_DRAWN if reach_feet <= MAX_FOUND_EXTENSION_FEET else DoorOrigin.REPAIRED
    wheelchair = door.wheelchair is not False
    return Opening(door.id, shape, (one, other), origin, width_feet, wheelchair, door.one_way)


def trim_opening(
    rectangle: Polygon, others: list[Polygon], near: Polygon, far: Polygon
) -> Polygon | None:
    """Return the part of the rectangle that joins `near` and `far` and is clear of `others`."""
    if not others:
        return rectangle
    blocked = shapely.union_all(others).buffer(WALL_FEET / 2, join_style="mitre")
    # What is not between the two would be a slit inside the wall, perhaps as far as the next door.
    between = rectangle.intersection(shapely.union(near, far).convex_hull)
    for part in extract_polygons(between.difference(blocked)):
        if part.intersection(near).area > 0 and part.intersection(far).area > 0:
            return part
    return None


def corner_issues(floor: FloorSurface, door: Door, opening: Opening) -> Iterator[PlanIssue]:
    """Yield an issue if a door stands where a third space meets the two that it joins."""
    middle = door.geometry.centroid
    chosen = [floor.pieces[index].polygon for index in opening.piece_indexes]
    reach = float(shapely.distance(chosen, middle).max()) + CORNER_FEET
    rivals = set(floor.pieces_within(middle, reach)) - set(opening.piece_indexes)
    if not rivals:
        return
    one, other = map(floor.describe_piece, opening.piece_indexes)
    others = ", ".join(sorted({floor.describe_piece(index) for index in rivals}))
    message = (
        f"stands where {one}, {other} and {others} meet; taken to join the first two: "
        "move it clear of the corner"
    )
    yield PlanIssue(IssueKind.DOOR_AMBIGUOUS, door.id, message, door.level_id)


def misfit_issue(
    floor: FloorSurface, door: Door, entered: Collection[str | None] | None = None
) -> PlanIssue:
    """Return the issue of a door that joins no two pieces; the report says what is beside it.

    Of the rooms, only those that are `entered` have a door that does; None stands for all.
    """
    if door.geometry.is_empty:
        return PlanIssue(IssueKind.DOOR_JOINS_NOTHING, door.id, "has no geometry", door.level_id)
    kind = IssueKind.DOOR_JOINS_NOTHING
    pieces = floor.pieces_within(door.geometry, MAX_EXTENSION_FEET)
    around = door.geometry.buffer(MAX_EXTENSION_FEET)
    if len(pieces) == 1 and floor.polygons[pieces[0]].contains(around):
        room = floor.pieces[pieces[0]].room_id
        if room is None or entered is None or room in entered:
            kind = IssueKind.DOOR_NOT_NEEDED
    return PlanIssue(kind, door.id, "", door.level_id)
