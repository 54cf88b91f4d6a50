"""The parts of a building: storeys with spaces, doors and strokes, all in feet."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from parsing.drawing import FEET_PER_METRE


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


Tags = dict[str, str]
"""OpenStreetMap indoor terms."""

AMENITY_KEYS = frozenset({"amenity", "leisure", "office", "shop"})


@dataclass(frozen=True)
class DrawnSpace:
    """A named room, corridor, area, stair or lift. `anchor` is a point inside `outline`."""

    name: str
    outline: Polyline
    anchor: PlanPosition
    fill: str
    tags: Tags
    has_walls: bool = True

    @property
    def is_amenity(self) -> bool:
        return not AMENITY_KEYS.isdisjoint(self.tags)


@dataclass(frozen=True)
class Apartment:
    number: str
    kind: str
    space: DrawnSpace
    area_square_feet: int
    features: tuple[str, ...]


@dataclass(frozen=True)
class DrawnDoor:
    outline: Polyline
    width_feet: float
    tags: Tags

    @property
    def osm_tags(self) -> Tags:
        """Return the door in OpenStreetMap's terms, with its width in metres."""
        return {"door": "yes", "width": f"{self.width_feet / FEET_PER_METRE:.2f}", **self.tags}


@dataclass(frozen=True)
class CircleShape:
    """A tree or a parasol."""

    centre: PlanPosition
    radius_feet: float
    fill: str


@dataclass
class Storey:
    """One level during layout: spaces and doors are added, then it is drawn."""

    number: int
    name: str
    label: str
    grounds: list[DrawnSpace] = field(default_factory=list)
    corridors: list[DrawnSpace] = field(default_factory=list)
    rooms: list[DrawnSpace] = field(default_factory=list)
    connectors: list[DrawnSpace] = field(default_factory=list)
    apartments: list[Apartment] = field(default_factory=list)
    doors: list[DrawnDoor] = field(default_factory=list)
    discs: list[CircleShape] = field(default_factory=list)
    strokes: dict[str, list[Polyline]] = field(default_factory=lambda: defaultdict(list))

    def add_door(
        self,
        frame: LocalFrame,
        u: float,
        wall: tuple[float, float],
        width_feet: float = 3.0,
        **tags: str,
    ) -> None:
        """Add a door centred on `u` through the wall from v = `wall[0]` to `wall[1]`.

        It reaches a quarter of a foot into the space on either side.
        """
        near, far = min(wall) - 0.25, max(wall) + 0.25
        outline = frame.rectangle(u - width_feet / 2, near, u + width_feet / 2, far)
        self.doors.append(DrawnDoor(outline, width_feet, tags))

    @property
    def spaces(self) -> list[DrawnSpace]:
        flats = [flat.space for flat in self.apartments]
        return [*self.grounds, *self.corridors, *self.rooms, *self.connectors, *flats]

    @property
    def amenities(self) -> list[DrawnSpace]:
        return [space for space in self.spaces if space.is_amenity]


@dataclass(frozen=True)
class Building:
    id: str
    name: str
    width_feet: float
    height_feet: float
    latitude: float
    longitude: float
    storeys: tuple[Storey, ...]

    def floor_id(self, storey: Storey) -> str:
        return f"{self.id}-floor-{storey.number}"

    @property
    def map_id(self) -> str:
        return f"{self.id}-floor-plates"

    @property
    def apartments(self) -> list[Apartment]:
        return [flat for storey in self.storeys for flat in storey.apartments]
