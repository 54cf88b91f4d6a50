"""Points in feet, and the local frames in which rows of rooms are laid out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias


class Point(NamedTuple):
    """A place on a storey in feet: x to the east, y to the south."""

    x: float
    y: float


Line: TypeAlias = tuple[Point, ...]


@dataclass(frozen=True)
class Frame:
    """Right-angled axes: `u` runs along a corridor, `v` away from it, both in feet."""

    origin: Point
    along: Point
    outward: Point

    def at(self, u: float, v: float) -> Point:
        return Point(
            self.origin.x + u * self.along.x + v * self.outward.x,
            self.origin.y + u * self.along.y + v * self.outward.y,
        )

    def line(self, *points: tuple[float, float]) -> Line:
        return tuple(self.at(u, v) for u, v in points)

    def rectangle(self, u0: float, v0: float, u1: float, v1: float) -> Line:
        return self.line((u0, v0), (u1, v0), (u1, v1), (u0, v1))

    def shifted(self, u: float, v: float = 0.0) -> Frame:
        return Frame(self.at(u, v), self.along, self.outward)

    def mirrored(self, width: float) -> Frame:
        """The frame whose `u` counts back from `width`."""
        return Frame(self.at(width, 0), Point(-self.along.x, -self.along.y), self.outward)

    def swing(self, u: float, v: float, radius: float) -> Line:
        """The leaf of a door hinged at (u, v), standing open, and the quarter circle it sweeps."""
        sweep = [math.pi / 2 * (1 - step / 6) for step in range(7)]
        arc = [(u + radius * math.cos(a), v + radius * math.sin(a)) for a in sweep]
        return self.line((u, v), *arc)


EAST, SOUTH, WEST, NORTH = Point(1, 0), Point(0, 1), Point(-1, 0), Point(0, -1)
SITE = Frame(Point(0, 0), EAST, SOUTH)


def closed(line: Line) -> Line:
    return (*line, line[0])


def area_square_feet(outline: Line) -> float:
    """The area inside a simple ring, by the shoelace formula."""
    twice = sum(a.x * b.y - b.x * a.y for a, b in zip(outline, closed(outline)[1:], strict=True))
    return abs(twice) / 2
