"""The places of a walk at which people have something to do: turns and doors.

Turns are those that a person would notice. Landmarks are what the walk meets: the doors that it
crosses, its spaces, the rooms that it passes, all named as on the plan.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
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

# The turns of a walk that a person would notice, and their names.
#
# Degrees are from -180 to 180, positive to the right: y grows to the south.


SIDESTEP_FEET = 2.0
"""Bends that move a walk sideways by less go unnoticed: about a shoulder's width, as around a
pillar."""
GLANCE_FEET = 6.0
"""Two or three steps: what bends less than `MIN_TURN_DEGREES` within them is a curved wall, which
people follow without being told."""
MAX_CURVE_FEET = 15.0
"""Gentle bends to one side this near to each other are one turn, such as a corner cut off twice."""
MAX_GENTLE_DEGREES = 60.0
MIN_TURN_DEGREES = 22.5
"""Half the sector of eight directions; less is straight on."""


class Modifier(StrEnum):
    """The direction of a turn, by the names of OSRM, with underscores."""

    STRAIGHT = "straight"
    SLIGHT_LEFT = "slight_left"
    LEFT = "left"
    SHARP_LEFT = "sharp_left"
    SLIGHT_RIGHT = "slight_right"
    RIGHT = "right"
    SHARP_RIGHT = "sharp_right"
    UTURN = "uturn"


class Turn(NamedTuple):
    """A turn, so many feet from the start of the walk."""

    at_feet: float
    degrees: float


class Bend(NamedTuple):
    """A bend from one place of the walk to another, or at one place."""

    start_feet: float
    end_feet: float
    degrees: float


def name_turn(degrees: float) -> Modifier:
    """Return the name of a turn. The limits from 45 degrees on are those of Valhalla.

    >>> name_turn(90).value, name_turn(-30).value, name_turn(10).value
    ('right', 'slight_left', 'straight')
    """
    size, is_right = abs(degrees), degrees > 0
    if size < MIN_TURN_DEGREES:
        return Modifier.STRAIGHT
    if size < 45:
        return Modifier.SLIGHT_RIGHT if is_right else Modifier.SLIGHT_LEFT
    if size <= 135:
        return Modifier.RIGHT if is_right else Modifier.LEFT
    if size < 160:
        return Modifier.SHARP_RIGHT if is_right else Modifier.SHARP_LEFT
    return Modifier.UTURN


def degrees_between(first: FloatArray, second: FloatArray) -> float:
    """Return the turn from one direction (2,) to another; 0 if either has no length.

    >>> degrees_between(np.array([1, 0]), np.array([0, 1]))  # from east to south
    90.0
    """
    (x, y), (other_x, other_y) = first.tolist(), second.tolist()
    return math.degrees(math.atan2(x * other_y - y * other_x, x * other_x + y * other_y))


def direction_between(line: LineString, start_feet: float, end_feet: float) -> FloatArray:
    """Return the direction (2,) from one place of a line to another, both cut to its ends."""
    ends = [line.interpolate(min(max(feet, 0.0), line.length)) for feet in (start_feet, end_feet)]
    return np.array([ends[1].x - ends[0].x, ends[1].y - ends[0].y])


def find_turns(line: LineString) -> list[Turn]:
    """Return the turns of a walk that a person would notice, in order."""
    return [
        Turn(bend.start_feet, bend.degrees)
        for bend in join_gentle_bends(find_bends(line))
        if is_noticed(line, bend)
    ]


def find_bends(line: LineString) -> list[Bend]:
    """Return the bends that are left when small ones are straightened (Douglas and Peucker)."""
    points = np.array(line.coords)
    kept = np.array(line.simplify(SIDESTEP_FEET, preserve_topology=False).coords)
    at_feet = [0.0, *np.hypot(*np.diff(points, axis=0).T).cumsum().tolist()]
    bends: list[Bend] = []
    index = 0
    for before, corner, after in zip(kept, kept[1:], kept[2:], strict=False):
        index += 1
        while not np.array_equal(points[index], corner):
            index += 1
        degrees = degrees_between(corner - before, after - corner)
        bends.append(Bend(at_feet[index], at_feet[index], degrees))
    return bends


def join_gentle_bends(bends: list[Bend]) -> list[Bend]:
    """Join gentle bends to the one just before, to the same side, up to a right angle in all.

    >>> join_gentle_bends([Bend(10, 10, 45), Bend(20, 20, 45), Bend(30, 30, -45)])
    [Bend(start_feet=10, end_feet=20, degrees=90), Bend(start_feet=30, end_feet=30, degrees=-45)]
    """
    joined: list[Bend] = []
    for bend in bends:
        last = joined[-1] if joined else None
        if last is not None and bend.start_feet - last.end_feet <= MAX_CURVE_FEET:
            total = last.degrees + bend.degrees
            is_gentle = abs(bend.degrees) <= MAX_GENTLE_DEGREES
            if is_gentle and abs(last.degrees) < abs(total) <= 90 + MIN_TURN_DEGREES:
                joined[-1] = Bend(last.start_feet, bend.end_feet, total)
                continue
        joined.append(bend)
    return joined


def is_noticed(line: LineString, bend: Bend) -> bool:
    """Return whether a bend is a turn within a few steps, and not part of a long curve."""
    before = direction_between(line, bend.start_feet - GLANCE_FEET, bend.start_feet)
    after = direction_between(line, bend.end_feet, bend.end_feet + GLANCE_FEET)
    return min(abs(bend.degrees), abs(degrees_between(before, after))) >= MIN_TURN_DEGREES


ShapeArray: TypeAlias = NDArray[np.object_]
Intervals: TypeAlias = tuple[FloatArray, FloatArray, IntArray]
"""Starts and ends along a walk in feet, and the numbers of what is there."""

PASSED_FEET = 10.0
"""A walk passes doors of rooms up to so far away: the width of a wide corridor."""
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
    """Doors, spaces and rooms that a walk meets, in order."""

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


DOORWAY_FEET = 6.0
"""Turns and further doors this near to a door are one manoeuvre with it: two or three steps."""
MIN_DOOR_TURN_DEGREES = 60.0
"""Walks in the open lead to a door at any angle below; only those along its wall turn to it."""
MAX_DOOR_TURN_DEGREES = 135.0
MAX_ASIDE_FEET = 6.0
"""A target this near to the walk is beside it."""
MIN_ASIDE_DEGREES, MAX_ASIDE_DEGREES = 45.0, 135.0
MIN_HEADING_FEET = 1.0
"""Shorter walks have no direction that a person would notice."""


@dataclass(frozen=True)
class Manoeuvre:
    """A turn, a passage through doors, or both, so many feet from the start of the walk.

    `is_turn_last` says that the turn comes after the doors. `doors_end_feet` is the end of the
    last door.
    """

    at_feet: float
    modifier: Modifier
    door_ids: tuple[str, ...] = ()
    is_turn_last: bool = False
    doors_end_feet: float = 0.0


def find_manoeuvres(line: LineString, crossings: Sequence[Crossing]) -> list[Manoeuvre]:
    """Return the manoeuvres of a walk in order, given its passages through doors."""
    turns = find_turns(line)
    manoeuvres: list[Manoeuvre] = []
    groups = group_crossings(crossings)
    for before, group, after in zip([None, *groups], groups, [*groups[1:], None], strict=False):
        doorway = Doorway(
            group[0],
            group[-1],
            tuple(door_id for crossing in group for door_id in crossing.door_ids),
            before[-1] if before and are_near(before[-1], group[0]) else None,
            after[0] if after and are_near(group[-1], after[0]) else None,
        )
        near = [turn for turn in turns if doorway.start_feet <= turn.at_feet <= doorway.end_feet]
        lead = next((turn for turn in near[::-1] if turn.at_feet <= group[0].start_feet), None)
        tail = next((turn for turn in near if turn.at_feet >= group[-1].end_feet), None)
        inside = [turn for turn in near if doorway.includes(turn.at_feet)]
        turns = [turn for turn in turns if turn not in (lead, tail, *inside)]
        manoeuvres += pass_doors(line, doorway, lead, tail)
    manoeuvres += [Manoeuvre(turn.at_feet, name_turn(turn.degrees)) for turn in turns]
    return sorted(manoeuvres, key=lambda manoeuvre: manoeuvre.at_feet)


def are_near(one: Crossing, other: Crossing) -> bool:
    """Return whether one door follows another within a few steps."""
    return other.start_feet - one.end_feet <= DOORWAY_FEET


def group_crossings(crossings: Sequence[Crossing]) -> list[list[Crossing]]:
    """Return doors in groups that follow one another in one direction."""
    groups: list[list[Crossing]] = []
    for crossing in crossings:
        last = groups[-1][-1] if groups else None
        degrees = degrees_between(last.direction, crossing.direction) if last else 0.0
        if last and are_near(last, crossing) and abs(degrees) < MIN_DOOR_TURN_DEGREES:
            groups[-1].append(crossing)
        else:
            groups.append([crossing])
    return groups


@dataclass(frozen=True)
class Doorway:
    """Doors in one direction, from `first` to `last`, and other doors shortly before and after."""

    first: Crossing
    last: Crossing
    door_ids: tuple[str, ...]
    before: Crossing | None
    after: Crossing | None

    @property
    def start_feet(self) -> float:
        """Turns from here on belong to it: the first of two doorways has those between."""
        return self.first.start_feet - (0.0 if self.before else DOORWAY_FEET)

    @property
    def end_feet(self) -> float:
        return self.after.start_feet if self.after else self.last.end_feet + DOORWAY_FEET

    def includes(self, at_feet: float) -> bool:
        """Return whether a place is between its doors, or between it and the next one."""
        end = self.after.start_feet if self.after else self.last.end_feet
        return self.first.start_feet < at_feet < end


def pass_doors(
    line: LineString, doorway: Doorway, lead: Turn | None, tail: Turn | None
) -> list[Manoeuvre]:
    """Return the manoeuvres of passing doors, with a turn shortly before and one shortly after.

    Shortest walks cut corners, so turns are measured against the directions of doors.
    """
    start, end = doorway.first.start_feet, doorway.last.end_feet
    begin = lead.at_feet if lead else start
    finish = tail.at_feet if tail else end
    way_in, way_out = doorway.first.direction, doorway.last.direction
    before, after = way_in, way_out
    if doorway.after is not None:
        after = doorway.after.direction
    elif line.length - finish >= MIN_HEADING_FEET:
        after = direction_between(line, finish, finish + GLANCE_FEET)
    # What turns between two doorways belongs to the first.
    if doorway.before is None and begin >= MIN_HEADING_FEET:
        before = direction_between(line, begin - GLANCE_FEET, begin)
    turn_in = degrees_towards(before, way_in, lead)
    turn_out = degrees_towards(way_out, after, tail)
    passage = Manoeuvre(begin, Modifier.STRAIGHT, doorway.door_ids, doors_end_feet=end)
    found: list[Manoeuvre] = []
    # No door is behind anyone: who turns back to one turns twice.
    if abs(turn_in) > MAX_DOOR_TURN_DEGREES:
        turn_in /= 2
        found.append(Manoeuvre(begin, name_turn(turn_in)))
        passage = replace(passage, at_feet=start)
    outward = [(finish, turn_out)]
    if abs(turn_out) > MAX_DOOR_TURN_DEGREES:
        outward = [(end, turn_out / 2), (finish, turn_out / 2)]
    if abs(turn_in) >= MIN_DOOR_TURN_DEGREES:
        found.append(replace(passage, modifier=name_turn(turn_in)))
    elif abs(turn_out) >= MIN_DOOR_TURN_DEGREES:
        (_, first), *outward = outward
        found.append(replace(passage, modifier=name_turn(first), is_turn_last=True))
    elif abs(turn_in + turn_out) >= MIN_DOOR_TURN_DEGREES:
        found.append(replace(passage, modifier=name_turn(turn_in + turn_out)))
    else:
        found.append(passage)
    found += [
        Manoeuvre(at_feet, name_turn(degrees))
        for at_feet, degrees in outward
        if abs(degrees) >= MIN_DOOR_TURN_DEGREES
    ]
    return found


def degrees_towards(first: FloatArray, second: FloatArray, turn: Turn | None) -> float:
    """Return the turn between two directions, to the side of `turn` if it is nearly about."""
    degrees = degrees_between(first, second)
    is_other_side = turn is not None and degrees * turn.degrees < 0
    if turn is None or not is_other_side or abs(degrees) <= MAX_DOOR_TURN_DEGREES:
        return degrees
    return degrees + math.copysign(360.0, turn.degrees)


def find_side(line: LineString, crossings: Sequence[Crossing]) -> Modifier | None:
    """Return the side of the walk that its end is on; None if the walk leads straight there."""
    *_, corner, end = line.coords
    last_feet = math.dist(corner, end)
    at_feet = line.length - last_feet
    is_through_door = any(crossing.end_feet >= at_feet for crossing in crossings)
    if len(line.coords) < 3 or last_feet > MAX_ASIDE_FEET or is_through_door:
        return None
    before = direction_between(line, at_feet - GLANCE_FEET, at_feet)
    degrees = degrees_between(before, np.subtract(end, corner))
    if not MIN_ASIDE_DEGREES <= abs(degrees) <= MAX_ASIDE_DEGREES:
        return None
    return Modifier.RIGHT if degrees > 0 else Modifier.LEFT
