"""Doors fitted into the walls of a floor: each becomes a shape that joins two pieces.

A door that does not reach both is extended along its normal, by at most half a metre to either
side; one that still joins no two pieces is reported, and nobody passes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import shapely
from shapely import LineString, Point, Polygon
from shapely.geometry.base import BaseGeometry

from routing.issues import IssueKind, PlanIssue
from routing.plan import Door
from routing.space.floor import WALL_FEET, FloorSurface
from routing.space.plan_repair import extract_polygons
from routing.units import FEET_PER_METRE

MAX_EXTENSION_FEET = 0.5 * FEET_PER_METRE
MAX_FOUND_EXTENSION_FEET = 0.15
EXTENSION_STEPS_FEET = (MAX_FOUND_EXTENSION_FEET, 0.3, 0.5, 0.75, 1.0, 1.3, MAX_EXTENSION_FEET)
DEFAULT_DOOR_FEET = 3.0
"""The width of a door that is drawn as a point and says no width."""
MIN_PATCH_SQUARE_FEET = 0.005


class DoorOrigin(StrEnum):
    FOUND = "found"
    REPAIRED = "repaired"
    INFERRED = "inferred"


@dataclass(frozen=True)
class Opening:
    """A passable hole in a wall between the two pieces that it `joins`, by their index."""

    door_id: str
    shape: Polygon
    piece_indexes: tuple[int, int]
    origin: DoorOrigin
    width_feet: float
    wheelchair: bool = True


@dataclass(frozen=True)
class DoorFrame:
    """A rectangle across a wall: `along` is the wall's direction, a unit vector."""

    centre: tuple[float, float]
    along: tuple[float, float]
    half_width_feet: float
    half_depth_feet: float = 0.0

    @property
    def normal(self) -> tuple[float, float]:
        return -self.along[1], self.along[0]

    def rectangle(self, reach_feet: float) -> Polygon:
        """The shape when it reaches `reach_feet` farther to either side of the wall."""
        centre, along, normal = map(np.array, (self.centre, self.along, self.normal))
        across = normal * (self.half_depth_feet + reach_feet)
        side = along * self.half_width_feet
        corners = (side + across, across - side, -side - across, side - across)
        return Polygon([centre + corner for corner in corners])

    def depth_feet(self, shape: BaseGeometry) -> float:
        """How far the middle of `shape` lies from the wall's middle, negative to one side."""
        middle = shape.centroid
        x, y = middle.x - self.centre[0], middle.y - self.centre[1]
        return x * self.normal[0] + y * self.normal[1]


def fit_doors(floor: FloorSurface, doors: list[Door]) -> tuple[list[Opening], list[PlanIssue]]:
    """The openings that the drawn doors make, and the doors that make none."""
    openings: list[Opening] = []
    problems: list[PlanIssue] = []
    for door in doors:
        if door.is_locked:
            continue
        fitted = fit_door(floor, door)
        if isinstance(fitted, Opening):
            openings.append(fitted)
        else:
            problems.append(fitted)
    return openings, problems


def fit_door(floor: FloorSurface, door: Door) -> Opening | PlanIssue:
    if door.geometry.is_empty:
        return PlanIssue(IssueKind.DOOR_JOINS_NOTHING, door.id, "has no geometry", door.level_id)
    frames = list(iter_frames(floor, door))
    for reach_feet in EXTENSION_STEPS_FEET:
        for frame in frames:
            opening = fit_frame(floor, frame, reach_feet, door)
            if opening is not None:
                return opening
    return misfit_issue(floor, door)


def iter_frames(floor: FloorSurface, door: Door) -> Iterator[DoorFrame]:
    """The ways in which a door can stand in a wall, the likeliest first."""
    shape = door.geometry
    if isinstance(shape, Point):
        yield from iter_frames_at_point(floor, shape, door.width_feet or DEFAULT_DOOR_FEET)
        return
    box = shapely.oriented_envelope(shape)
    corners = shapely.get_coordinates(box)
    if isinstance(box, Point):
        yield from iter_frames_at_point(floor, box, door.width_feet or DEFAULT_DOOR_FEET)
        return
    first, second = corners[1] - corners[0], corners[2] - corners[1] if len(corners) > 2 else (0, 0)
    for side, depth in sorted(((first, second), (second, first)), key=lambda s: -math.hypot(*s[0])):
        yield frame_along(box, side, depth, door.width_feet)


def frame_along(
    box: BaseGeometry, side: np.ndarray, depth: np.ndarray, width_feet: float | None
) -> DoorFrame:
    """A frame whose wall runs along `side` of the door's bounding box."""
    length, other = math.hypot(*side), math.hypot(*depth)
    along = side / length if length else np.array((-depth[1], depth[0])) / other
    half_width = (length or width_feet or DEFAULT_DOOR_FEET) / 2
    middle = box.centroid
    return DoorFrame((middle.x, middle.y), (along[0], along[1]), half_width, other / 2)


def iter_frames_at_point(
    floor: FloorSurface, point: Point, width_feet: float
) -> Iterator[DoorFrame]:
    """A frame for each direction of the walls that are nearest to a door drawn as a point."""
    near = floor.pieces_within(point, MAX_EXTENSION_FEET)
    walls = [segment for index in near for segment in ring_segments(floor.polygons[index])]
    if not walls:
        return
    distances = shapely.distance(np.array(walls), point)
    seen: set[float] = set()
    for index in np.argsort(distances, kind="stable"):
        if distances[index] > distances.min() + 2 * WALL_FEET:
            return
        (x0, y0), (x1, y1) = walls[index].coords
        heading = round(math.atan2(y1 - y0, x1 - x0) % math.pi, 2)
        if heading in seen:
            continue
        seen.add(heading)
        length = math.hypot(x1 - x0, y1 - y0)
        along = ((x1 - x0) / length, (y1 - y0) / length)
        yield DoorFrame((point.x, point.y), along, width_feet / 2)


def ring_segments(polygon: Polygon) -> list[LineString]:
    rings = [polygon.exterior, *polygon.interiors]
    coordinates = [shapely.get_coordinates(ring) for ring in rings]
    pairs = np.concatenate([np.stack((ring[:-1], ring[1:]), axis=1) for ring in coordinates])
    return [LineString(pair) for pair in pairs]


def fit_frame(
    floor: FloorSurface, frame: DoorFrame, reach_feet: float, door: Door
) -> Opening | None:
    """The opening that `frame` makes at this reach, if it overlaps a piece on either side."""
    rectangle = frame.rectangle(reach_feet)
    sides: dict[bool, tuple[float, int, Polygon]] = {}
    patches = [
        (index, patch)
        for index in floor.pieces_within(rectangle)
        for patch in extract_polygons(floor.polygons[index].intersection(rectangle))
    ]
    for index, patch in patches:
        depth_feet = frame.depth_feet(patch)
        side, least = depth_feet > 0, MIN_PATCH_SQUARE_FEET
        if abs(depth_feet) > WALL_FEET / 2 and patch.area > sides.get(side, (least,))[0]:
            sides[side] = (patch.area, index, patch)
    if len(sides) < 2:
        return None
    (_, one, near), (_, other, far) = sides[False], sides[True]
    # However little of a third piece the door overlaps, it would let somebody through.
    others = [patch for _, patch in patches if patch not in (near, far)]
    shape = trim_opening(rectangle, others, near, far)
    if shape is None:
        return None
    width_feet = door.width_feet or 2 * frame.half_width_feet
    origin = DoorOrigin.FOUND if reach_feet <= MAX_FOUND_EXTENSION_FEET else DoorOrigin.REPAIRED
    passable = door.wheelchair is not False
    return Opening(door.id, shape, (one, other), origin, width_feet, passable)


def trim_opening(
    rectangle: Polygon, others: list[Polygon], near: Polygon, far: Polygon
) -> Polygon | None:
    """What joins `near` and `far` of the rectangle, clear of every other piece."""
    if not others:
        return rectangle
    keep_off = shapely.union_all(others).buffer(WALL_FEET / 2, join_style="mitre")
    for part in extract_polygons(rectangle.difference(keep_off)):
        if part.intersection(near).area > 0 and part.intersection(far).area > 0:
            return part
    return None


def misfit_issue(floor: FloorSurface, door: Door) -> PlanIssue:
    touched = floor.pieces_within(door.geometry, MAX_EXTENSION_FEET)
    names = [
        f"room {room!r}" if (room := floor.pieces[i].room_id) else "a corridor or area"
        for i in touched
    ]
    if len(touched) == 1 and floor.polygons[touched[0]].contains(
        door.geometry.buffer(MAX_EXTENSION_FEET)
    ):
        message = f"stands in the open within {names[0]}, in no wall; not needed"
        return PlanIssue(IssueKind.DOOR_NOT_NEEDED, door.id, message, door.level_id)
    reached = (
        f"reaches only {names[0]}"
        if len(names) == 1
        else "reaches " + (" and ".join(names) or "nothing that can be walked on")
    )
    message = (
        f"joins no two spaces: extended by {MAX_EXTENSION_FEET:.1f} ft it {reached}; "
        "it leads outside, or should stand in the wall between two spaces"
    )
    return PlanIssue(IssueKind.DOOR_JOINS_NOTHING, door.id, message, door.level_id)
