"""What a walk on one level meets: the doors that it crosses, its spaces, the rooms that it passes.

Everything is named as on the plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely import LineString, MultiLineString, Point, Polygon
from shapely.geometry.base import BaseGeometry

from routing.arrays import FloatArray, IntArray
from routing.network.levels import Levels
from routing.plan import Polygonal, SpaceKind

ShapeArray: TypeAlias = NDArray[np.object_]

PASSED_FEET = 10.0
"""How far from the walk the door of a room may be that it passes: the width of a wide corridor."""
RIM_FEET = 0.1
"""A door reaches farther into the floor on both sides: see `MAX_FOUND_EXTENSION_FEET`."""
EDGE_FEET = 0.02
"""Tolerance of a door's sides: the walls around it are simplified, by less, and thicker."""
MIN_STAY_FEET = 1.0
"""A walk that is in a space for less only cuts its corner."""


class Crossing(NamedTuple):
    """A passage through a door, between two places of a walk, and its direction (2,)."""

    start_feet: float
    end_feet: float
    door_ids: tuple[str, ...]
    direction: FloatArray


class Stay(NamedTuple):
    """A part of a walk in one space; the name may be empty."""

    start_feet: float
    end_feet: float
    space: int
    name: str
    kind: SpaceKind


class PassedRoom(NamedTuple):
    """A room with a door beside the walk, and where the walk passes it."""

    at_feet: float
    name: str


@dataclass(frozen=True)
class Landmarks:
    """What a walk meets, in order."""

    crossings: tuple[Crossing, ...]
    stays: tuple[Stay, ...]
    passed: tuple[PassedRoom, ...]


def find_landmarks(levels: Levels, level: int, line: LineString) -> Landmarks:
    """Return what a walk along `line`, on a level given by number, meets."""
    doors = np.array(levels.doors.shapes(level), dtype=object)
    door_ids = [door_id for (door_id,) in levels.door_rows.rows(level)]
    near = np.flatnonzero(shapely.dwithin(doors, line, PASSED_FEET))
    crossings = find_crossings(levels.walkable_area(level), line, doors[near], near, door_ids)
    spaces = np.array(levels.spaces.shapes(level), dtype=object)
    rows = [(name, SpaceKind(kind)) for _, name, kind in levels.space_rows.rows(level)]
    stays = find_stays(line, spaces, rows)
    crossed = {door_id for crossing in crossings for door_id in crossing.door_ids}
    others = [index for index in near.tolist() if door_ids[index] not in crossed]
    seen = find_doors_in_sight(levels, level, line, doors[others])
    entered = {stay.space for stay in stays}
    passed = [
        PassedRoom(at_feet, rows[room][0])
        for at_feet, door in seen
        if (room := find_room_behind(door, spaces, rows, entered)) is not None and rows[room][0]
    ]
    return Landmarks(tuple(crossings), tuple(stays), tuple(sorted(passed)))


def find_crossings(
    area: Polygonal, line: LineString, doors: ShapeArray, numbers: IntArray, ids: Sequence[str]
) -> list[Crossing]:
    """Return the passages through `doors`; walks along a wall touch doors without crossing them.

    `numbers` are the positions of the doors' ids in `ids`. Leaves side by side are one door.
    """
    is_met = shapely.dwithin(doors, line, EDGE_FEET)
    met = doors[is_met]
    crossings = []
    for opening in shapely.get_parts(shapely.union_all(met)) if len(met) else ():
        own = numbers[is_met][shapely.intersects(met, opening)].tolist()
        sides = find_sides(area, opening, doors)
        # Walks that turn at a door run along its very edge.
        for start, end in locate_parts(line, opening.buffer(EDGE_FEET, join_style="mitre")):
            # Just before and just after the door.
            ends = [line.interpolate(max(start - RIM_FEET / 2, 0.0)), line.interpolate(end)]
            if end + RIM_FEET / 2 < line.length:
                ends[1] = line.interpolate(end + RIM_FEET / 2)
            near, far = (nearest_side(sides, place) for place in ends)
            if near != far:
                across = direction_across(opening, sides[near], sides[far])
                crossings.append(Crossing(start, end, tuple(ids[index] for index in own), across))
    return sorted(crossings, key=lambda crossing: crossing.start_feet)


def find_sides(area: Polygonal, opening: Polygon, doors: ShapeArray) -> list[BaseGeometry]:
    """Return the parts of the floor next to an opening; the wall separates them."""
    rim = opening.buffer(RIM_FEET, join_style="mitre")
    floor = shapely.intersection(shapely.clip_by_rect(area, *rim.bounds), rim)
    near = shapely.union_all(doors[shapely.intersects(doors, rim)])
    wide = near.buffer(EDGE_FEET, join_style="mitre")
    return list(shapely.get_parts(shapely.difference(floor, wide)))


def nearest_side(sides: Sequence[BaseGeometry], place: Point) -> int:
    """Return the number of the side that a place is on, -1 if there is none."""
    return int(np.argmin(shapely.distance(np.array(sides), place))) if sides else -1


def direction_across(opening: Polygon, near: BaseGeometry, far: BaseGeometry) -> FloatArray:
    """Return the direction (2,) in which a door leads from one side to another, at right angles."""
    ahead = np.subtract(far.centroid.coords[0], near.centroid.coords[0])
    corners = shapely.get_coordinates(shapely.oriented_envelope(opening))
    axes = np.diff(corners[:3], axis=0)
    axes /= np.hypot(*axes.T)[:, None]
    along = axes @ ahead
    best = int(np.abs(along).argmax())
    return np.asarray(axes[best] * np.sign(along[best]))


def find_stays(
    line: LineString, spaces: ShapeArray, rows: Sequence[tuple[str, SpaceKind]]
) -> list[Stay]:
    """Return the parts of a walk in spaces; where several overlap, a room counts, else the smaller.

    Only doors lead into a room, so a corridor that is drawn across one is not there.
    """
    met = np.flatnonzero(shapely.intersects(spaces, line)).tolist()
    area = shapely.area(spaces)
    stays = []
    rest: BaseGeometry = line
    for index in sorted(met, key=lambda i: (rows[i][1] is not SpaceKind.ROOM, area[i])):
        name, kind = rows[index]
        inside = spaces[index]
        if kind is SpaceKind.ROOM:
            # Walks in front of a room may run along its outline.
            inside = inside.buffer(-EDGE_FEET, join_style="mitre")
        for start, end in locate_parts(line, inside, rest):
            if end - start >= MIN_STAY_FEET:
                stays.append(Stay(start, end, index, name, kind))
        rest = shapely.difference(rest, inside)
    return sorted(stays)


def locate_parts(
    line: LineString, area: BaseGeometry, rest: BaseGeometry | None = None
) -> Iterator[tuple[float, float]]:
    """Yield where a line, or the rest of it, enters an area and leaves it, in feet."""
    inside = lines_of(shapely.intersection(line if rest is None else rest, area))
    merged = shapely.line_merge(MultiLineString(inside)) if len(inside) > 1 else inside
    for part in shapely.get_parts(merged):
        ends = shapely.line_locate_point(line, shapely.points(part.coords[:: len(part.coords) - 1]))
        yield float(ends.min()), float(ends.max())


def lines_of(shape: BaseGeometry) -> list[LineString]:
    """Return the lines in a shape, without points."""
    parts = shapely.get_parts(shape).tolist()
    return [part for part in parts if isinstance(part, LineString) and part.length > 0]


def find_doors_in_sight(
    levels: Levels, level: int, line: LineString, doors: ShapeArray
) -> list[tuple[float, BaseGeometry]]:
    """Return the doors that a walk passes in sight, and where."""
    middles = shapely.centroid(doors)
    at_feet = shapely.line_locate_point(line, middles)
    places = shapely.line_interpolate_point(line, at_feet)
    ends = shapely.get_coordinates(places), shapely.get_coordinates(middles)
    # A door at either end of the walk is not passed.
    is_seen = (at_feet > 0) & (at_feet < line.length) & levels.are_clear(level, *ends)
    return list(zip(at_feet[is_seen].tolist(), doors[is_seen], strict=True))


def find_room_behind(
    door: BaseGeometry,
    spaces: ShapeArray,
    rows: Sequence[tuple[str, SpaceKind]],
    entered: set[int],
) -> int | None:
    """Return the room that a door leads to from a space that is entered, or from no room."""
    touched = np.flatnonzero(shapely.dwithin(spaces, door, RIM_FEET)).tolist()
    rooms = [index for index in touched if rows[index][1] is SpaceKind.ROOM]
    others = [index for index in rooms if index not in entered]
    # Between two rooms that the walk does not enter, the door is seen through another one.
    return others[0] if len(others) == 1 else None
