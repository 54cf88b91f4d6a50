"""What a walk on one level meets: the doors that it crosses, its spaces, the rooms that it passes.

Everything is named as on the plan.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import shapely
from numpy.typing import NDArray
from shapely import LineString, MultiPolygon, Polygon, STRtree
from shapely.geometry.base import BaseGeometry

from routing.arrays import FloatArray, IntArray
from routing.network.levels import Levels
from routing.network.network import Network
from routing.plan import Polygonal, SpaceKind
from routing.space.plan_repair import make_valid

ShapeArray: TypeAlias = NDArray[np.object_]
Intervals: TypeAlias = tuple[FloatArray, FloatArray, IntArray]
"""Starts and ends along a walk in feet, and the numbers of what is there."""

PASSED_FEET = 10.0
"""How far from the walk the door of a room may be that it passes: the width of a wide corridor."""
RIM_FEET = 0.1
"""A door reaches farther into the floor on both sides: see `MAX_FOUND_EXTENSION_FEET`."""
EDGE_FEET = 0.02
"""Tolerance of a door's sides: the walls around it are simplified, by less, and thicker."""
TOUCHING_FEET = 1e-6
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

    def stays_between(self, start_feet: float, end_feet: float) -> dict[Stay, float]:
        """Return the stays in a part of the walk, and how many feet of it they are."""
        first = bisect_left(self.stays, start_feet, key=lambda stay: stay.end_feet)
        last = bisect_right(self.stays, end_feet, key=lambda stay: stay.start_feet)
        return {
            stay: min(end_feet, stay.end_feet) - max(start_feet, stay.start_feet)
            for stay in self.stays[first:last]
        }

    def names_passed_between(self, start_feet: float, end_feet: float) -> list[str]:
        """Return the rooms passed in a part of the walk, each where it is passed last."""
        first = bisect_right(self.passed, start_feet, key=lambda room: room.at_feet)
        last = bisect_left(self.passed, end_feet, key=lambda room: room.at_feet)
        names = [room.name for room in reversed(self.passed[first:last])]
        return [*dict.fromkeys(names)][::-1]


def list_unnamed_spaces(network: Network, level: int, line: LineString) -> list[str]:
    """Return the ids of spaces without a name that a walk is in or may pass."""
    shapely.prepare(line)
    rows = network.levels.space_rows.rows(level)
    # A room is behind its door, which is no deeper than that.
    is_near = shapely.dwithin(network.levels.spaces.shapes(level), line, 2 * PASSED_FEET)
    return [row[0] for row, near in zip(rows, is_near, strict=True) if near and not row[1]]


def find_landmarks(
    network: Network, level: int, line: LineString, space_names: Mapping[str, str]
) -> Landmarks:
    """Return what a walk along `line`, on a level given by number, meets.

    Spaces without a name have that of `space_names`, by id. A closed door is a wall.
    """
    levels = network.levels
    shapely.prepare(line)
    doors = np.array(levels.doors.shapes(level), dtype=object)
    closed = network.closed_areas.get(level, MultiPolygon()).buffer(EDGE_FEET, join_style="mitre")
    is_met = shapely.dwithin(doors, line, PASSED_FEET) & ~shapely.covered_by(doors, closed)
    rows = levels.door_rows.rows(level)
    door_ids = [rows[index][0] for index in np.flatnonzero(is_met)]
    doors = doors[is_met]
    crossings = find_crossings(levels.walkable_area(level), line, doors, door_ids)
    spaces = np.array(levels.spaces.shapes(level), dtype=object)
    kinds = [
        (name or space_names.get(space_id, ""), SpaceKind(kind))
        for space_id, name, kind, _ in levels.space_rows.rows(level)
    ]
    stays = find_stays(line, spaces, kinds)
    crossed = {door_id for crossing in crossings for door_id in crossing.door_ids}
    at_feet, seen = find_doors_in_sight(
        levels,
        level,
        line,
        doors[[index for index, door_id in enumerate(door_ids) if door_id not in crossed]],
    )
    entered = {stay.space for stay in stays}
    behind = find_rooms_behind(seen, spaces, kinds, entered)
    passed = [PassedRoom(float(at_feet[door]), kinds[room][0]) for door, room in behind.items()]
    named = sorted(room for room in passed if room.name)
    return Landmarks(tuple(crossings), tuple(stays), tuple(named))


def find_crossings(
    area: Polygonal, line: LineString, doors: ShapeArray, door_ids: Sequence[str]
) -> list[Crossing]:
    """Return the passages through `doors`; walks along a wall touch doors without crossing them.

    Leaves side by side are one door.
    """
    met = np.flatnonzero(shapely.dwithin(doors, line, EDGE_FEET))
    openings = shapely.get_parts(shapely.union_all(doors[met]))
    sides = find_sides(area, openings, doors)
    if not len(sides):
        return []
    side_tree, door_tree = STRtree(sides), STRtree(doors[met])
    # Walks that turn at a door run along its very edge.
    wide = shapely.buffer(openings, EDGE_FEET, join_style="mitre")
    crossings = []
    for start, end, number in join_intervals(locate_parts(line, wide)):
        # Just before and just after the door.
        places = [max(start - RIM_FEET / 2, 0.0), min(end + RIM_FEET / 2, line.length)]
        near, far = side_tree.nearest(shapely.line_interpolate_point(line, places)).tolist()
        if near != far:
            own = sorted(door_tree.query(openings[number], predicate="intersects").tolist())
            ids = tuple(door_ids[met[index]] for index in own)
            across = direction_across(openings[number], sides[near], sides[far])
            crossings.append(Crossing(start, end, ids, across))
    return crossings


def find_sides(area: Polygonal, openings: ShapeArray, doors: ShapeArray) -> ShapeArray:
    """Return the parts of the floor next to openings; the walls separate them."""
    rims = shapely.union_all(shapely.buffer(openings, RIM_FEET, join_style="mitre"))
    if rims.is_empty:
        return np.array([], dtype=object)
    # Clipping is fast, but not exact: what it returns may touch itself.
    floor = make_valid(shapely.clip_by_rect(area, *rims.bounds)).intersection(rims)
    near = shapely.union_all(doors[shapely.intersects(doors, rims)])
    return np.asarray(
        shapely.get_parts(floor.difference(near.buffer(EDGE_FEET, join_style="mitre")))
    )


def direction_across(opening: Polygon, near: BaseGeometry, far: BaseGeometry) -> FloatArray:
    """Return the direction (2,) in which a door leads from one side to another, at right angles."""
    rim = opening.buffer(2 * RIM_FEET)
    one, other = (side.intersection(rim).centroid for side in (near, far))
    if one.is_empty or other.is_empty:
        return np.zeros(2)
    ahead = np.array((other.x - one.x, other.y - one.y))
    corners = shapely.get_coordinates(shapely.oriented_envelope(opening))
    axes = np.diff(corners[:3], axis=0)
    axes /= np.hypot(*axes.T)[:, None]
    along = axes @ ahead
    best = int(np.abs(along).argmax())
    return np.asarray(axes[best] * np.sign(along[best]))


def find_stays(
    line: LineString, spaces: ShapeArray, kinds: Sequence[tuple[str, SpaceKind]]
) -> list[Stay]:
    """Return the parts of a walk in spaces; where several overlap, a room counts, else the smaller.

    Only doors lead into a room, so a corridor that is drawn across one is not there.
    """
    met = np.flatnonzero(shapely.intersects(spaces, line))
    is_room = np.array([kinds[index][1] is SpaceKind.ROOM for index in met.tolist()], dtype=bool)
    # Walks in front of a room may run along its outline.
    inside = shapely.buffer(spaces[met], np.where(is_room, -EDGE_FEET, 0.0), join_style="mitre")
    starts, ends, owners = locate_parts(line, inside)
    cuts = np.unique(np.concatenate((starts, ends)))
    winners = np.full(max(len(cuts) - 1, 0), -1)
    # The most important come last, and so replace the others.
    for part in np.lexsort((-shapely.area(inside)[owners], is_room[owners])).tolist():
        winners[slice(*cuts.searchsorted((starts[part], ends[part])).tolist())] = owners[part]
    stays = []
    for start, end, owner in join_intervals((cuts[:-1], cuts[1:], winners)):
        if owner >= 0 and end - start >= MIN_STAY_FEET:
            space = int(met[owner])
            stays.append(Stay(start, end, space, *kinds[space]))
    return stays


def locate_parts(line: LineString, areas: ShapeArray) -> Intervals:
    """Return where a line enters areas and leaves them, in feet, and their numbers."""
    parts, numbers = shapely.get_parts(shapely.intersection(line, areas), return_index=True)
    # Where it only touches them, the parts are points.
    is_line = shapely.length(parts) > 0
    parts, numbers = parts[is_line], numbers[is_line]
    ends = [shapely.line_locate_point(line, shapely.get_point(parts, at)) for at in (0, -1)]
    return np.minimum(*ends), np.maximum(*ends), numbers


def join_intervals(intervals: Intervals) -> Iterator[tuple[float, float, int]]:
    """Yield intervals in their order, those of one number that touch as one."""
    last: tuple[float, float, int] | None = None
    for start, end, number in sorted(zip(*(part.tolist() for part in intervals), strict=True)):
        if last is not None and number == last[2] and start <= last[1] + TOUCHING_FEET:
            last = last[0], max(end, last[1]), number
        else:
            if last is not None:
                yield last
            last = start, end, number
    if last is not None:
        yield last


def find_doors_in_sight(
    levels: Levels, level: int, line: LineString, doors: ShapeArray
) -> tuple[FloatArray, ShapeArray]:
    """Return where a walk passes doors in sight, in feet, and these doors."""
    middles = shapely.centroid(doors)
    at_feet = shapely.line_locate_point(line, middles)
    places = shapely.line_interpolate_point(line, at_feet)
    ends = shapely.get_coordinates(places), shapely.get_coordinates(middles)
    # A door at either end of the walk is not passed.
    is_seen = (at_feet > 0) & (at_feet < line.length) & levels.are_clear(level, *ends)
    return at_feet[is_seen], doors[is_seen]


def find_rooms_behind(
    doors: ShapeArray,
    spaces: ShapeArray,
    kinds: Sequence[tuple[str, SpaceKind]],
    entered: set[int],
) -> dict[int, int]:
    """Return the room behind each door, by number, that leads there from where the walk is."""
    rooms: dict[int, list[int]] = {}
    pairs = STRtree(spaces).query(doors, predicate="dwithin", distance=RIM_FEET)
    for door, space in pairs.T.tolist():
        if kinds[space][1] is SpaceKind.ROOM and space not in entered:
            rooms.setdefault(door, []).append(space)
    # A door between two rooms that the walk does not enter is seen through another one.
    return {door: found[0] for door, found in rooms.items() if len(found) == 1}
