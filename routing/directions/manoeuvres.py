"""The places of a walk at which people have something to do: turns and doors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from shapely import LineString

from routing.arrays import FloatArray
from routing.directions.landmarks import Crossing
from routing.directions.turns import (
    GLANCE_FEET,
    Modifier,
    Turn,
    degrees_between,
    direction_between,
    find_turns,
    name_turn,
)

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
        """Where turns begin to belong to it: the first of two doorways has those between."""
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
