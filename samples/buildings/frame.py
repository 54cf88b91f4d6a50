"""Points in feet and local coordinate frames for the layout of rows of rooms."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias


class PlanPosition(NamedTuple):
    """A point on a storey in feet: x to the east, y to the south."""

    x: float
    y: float


Polyline: TypeAlias = tuple[PlanPosition, ...]


@dataclass(frozen=True)
class LocalFrame:
    """Right-angled axes: `u` runs along a corridor, `v` away from it, both in feet."""

    origin: PlanPosition
    along: PlanPosition
    outward: PlanPosition

    def to_point(self, u: float, v: float) -> PlanPosition:
        return PlanPosition(
            self.origin.x + u * self.along.x + v * self.outward.x,
            self.origin.y + u * self.along.y + v * self.outward.y,
        )

    def line(self, *points: tuple[float, float]) -> Polyline:
        return tuple(self.to_point(u, v) for u, v in points)

    def rectangle(self, u0: float, v0: float, u1: float, v1: float) -> Polyline:
        return self.line((u0, v0), (u1, v0), (u1, v1), (u0, v1))

    def shift(self, u: float, v: float = 0.0) -> LocalFrame:
        return LocalFrame(self.to_point(u, v), self.along, self.outward)

    def mirror(self, width: float) -> LocalFrame:
        """Return the frame in which `u` counts back from `width`."""
        return LocalFrame(
            self.to_point(width, 0), PlanPosition(-self.along.x, -self.along.y), self.outward
        )

    def door_swing(self, u: float, v: float, radius: float) -> Polyline:
        """Return the open leaf of a door hinged at (u, v) and the quarter circle it sweeps."""
        sweep = [math.pi / 2 * (1 - step / 6) for step in range(7)]
        arc = [(u + radius * math.cos(a), v + radius * math.sin(a)) for a in sweep]
        return self.line((u, v), *arc)


EAST, SOUTH, WEST, NORTH = (
    PlanPosition(1, 0),
    PlanPosition(0, 1),
    PlanPosition(-1, 0),
    PlanPosition(0, -1),
)
SITE = LocalFrame(PlanPosition(0, 0), EAST, SOUTH)


def close_ring(line: Polyline) -> Polyline:
    return (*line, line[0])


def area_square_feet(outline: Polyline) -> float:
    """Compute the area inside a simple ring with the shoelace formula."""
    twice = sum(
        a.x * b.y - b.x * a.y for a, b in zip(outline, close_ring(outline)[1:], strict=True)
    )
    return abs(twice) / 2
