"""The places of a walk at which people have something to do: turns and doors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from shapely import LineString

from routing.arrays import FloatArray
from routing.search.landmarks import Crossing
from routing.search.turns import (
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
    for group in group_crossings(crossings, turns):
        start, end = group[0].start_feet, group[-1].end_feet
        near = [
            turn for turn in turns if start - DOORWAY_FEET <= turn.at_feet <= end + DOORWAY_FEET
        ]
        lead = next((turn for turn in reversed(near) if turn.at_feet <= start), None)
        tail = next((turn for turn in near if turn.at_feet >= end), None)
        within = [turn for turn in near if start < turn.at_feet < end]
        turns = [turn for turn in turns if turn not in (lead, tail, *within)]
        manoeuvres += pass_doors(line, group, lead, tail)
    manoeuvres += [Manoeuvre(turn.at_feet, name_turn(turn.degrees)) for turn in turns]
    return sorted(manoeuvres, key=lambda manoeuvre: manoeuvre.at_feet)


def group_crossings(crossings: Sequence[Crossing], turns: Sequence[Turn]) -> list[list[Crossing]]:
    """Return doors that follow one another, without a turn between them, in groups."""
    groups: list[list[Crossing]] = []
    for crossing in crossings:
        start = groups[-1][-1].end_feet if groups else 0.0
        is_near = bool(groups) and crossing.start_feet - start <= DOORWAY_FEET
        if is_near and not any(start <= turn.at_feet <= crossing.start_feet for turn in turns):
            groups[-1].append(crossing)
        else:
            groups.append([crossing])
    return groups


def pass_doors(
    line: LineString, group: Sequence[Crossing], lead: Turn | None, tail: Turn | None
) -> list[Manoeuvre]:
    """Return the manoeuvres of passing doors, with a turn shortly before and one shortly after.

    Shortest walks cut corners, so turns are measured against the direction of the door.
    """
    start, end = group[0].start_feet, group[-1].end_feet
    begin = lead.at_feet if lead else start
    finish = tail.at_feet if tail else end
    before = heading(line, begin - GLANCE_FEET, begin, group[0])
    after = heading(line, finish, finish + GLANCE_FEET, group[-1])
    turn_in = degrees_towards(before, group[0].direction, lead)
    turn_out = degrees_towards(group[-1].direction, after, tail)
    door_ids = tuple(door_id for crossing in group for door_id in crossing.door_ids)
    passage = Manoeuvre(begin, Modifier.STRAIGHT, door_ids, doors_end_feet=end)
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


def heading(line: LineString, start_feet: float, end_feet: float, door: Crossing) -> FloatArray:
    """Return the direction between two places of a walk; that of the door if they are too near."""
    cut = min(end_feet, line.length) - max(start_feet, 0.0)
    return (
        door.direction if cut < MIN_HEADING_FEET else direction_between(line, start_feet, end_feet)
    )


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
