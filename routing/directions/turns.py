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
