"""The turns of a walk that a person would notice, and their names.

Degrees are from -180 to 180, positive to the right: y grows to the south.
"""

from __future__ import annotations

import math
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from shapely import LineString

from routing.arrays import FloatArray

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
    """Where a turn leads, by the names of OSRM, with underscores."""

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
    return join_gentle_turns([turn for turn in find_bends(line) if is_sudden(line, turn)])


def find_bends(line: LineString) -> list[Turn]:
    """Return the bends that are left when small ones are straightened (Douglas and Peucker)."""
    points = np.array(line.coords)
    kept = np.array(line.simplify(SIDESTEP_FEET, preserve_topology=False).coords)
    at_feet = [0.0, *np.hypot(*np.diff(points, axis=0).T).cumsum().tolist()]
    bends: list[Turn] = []
    index = 0
    for before, corner, after in zip(kept, kept[1:], kept[2:], strict=False):
        index += 1
        while not np.array_equal(points[index], corner):
            index += 1
        bends.append(Turn(at_feet[index], degrees_between(corner - before, after - corner)))
    return bends


def is_sudden(line: LineString, turn: Turn) -> bool:
    """Return whether the walk turns within a few steps."""
    before = direction_between(line, turn.at_feet - GLANCE_FEET, turn.at_feet)
    after = direction_between(line, turn.at_feet, turn.at_feet + GLANCE_FEET)
    sizes = abs(turn.degrees), abs(degrees_between(before, after))
    return min(sizes) >= MIN_TURN_DEGREES


def join_gentle_turns(turns: list[Turn]) -> list[Turn]:
    """Join gentle turns to one just before, to the same side, up to a right angle in all.

    >>> join_gentle_turns([Turn(10, 45), Turn(20, 45), Turn(30, -45)])
    [Turn(at_feet=10, degrees=90), Turn(at_feet=30, degrees=-45)]
    """
    joined: list[Turn] = []
    last_feet = -math.inf
    for turn in turns:
        if joined and turn.at_feet - last_feet <= MAX_CURVE_FEET:
            total = joined[-1].degrees + turn.degrees
            is_gentle = abs(turn.degrees) <= MAX_GENTLE_DEGREES
            if is_gentle and abs(turn.degrees) < abs(total) <= 90 + MIN_TURN_DEGREES:
                joined[-1] = Turn(joined[-1].at_feet, total)
                last_feet = turn.at_feet
                continue
        joined.append(turn)
        last_feet = turn.at_feet
    return joined
