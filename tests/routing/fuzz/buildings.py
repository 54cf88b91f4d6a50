"""Random buildings with what makes real plans hard to measure: each seed is one of them.

Curved corridors, walls of many points, pillars, rooms within rooms, overlaps, slivers, doors at
corners, off the wall, locked or one-way, missing doors, closed parts; all shaken by a little,
turned, moved and scaled as projections do.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import shapely
import shapely.ops
from shapely import LineString, Point, Polygon, box
from shapely.affinity import affine_transform, translate
from shapely.geometry.base import BaseGeometry

from routing.plan import (
    Barrier,
    Connector,
    ConnectorKind,
    Direction,
    Door,
    Level,
    Plan,
    PlanLocation,
    Space,
    SpaceKind,
)
from tests.routing.random_plans import moved

JITTERS_FEET = (0.0, 0.0, 1e-9, 1e-6, 1e-4, 1e-3)
DEGREES = (0.0, 0.0, 17.3, 45.0, 89.99, 123.456789)
OFFSETS_FEET = (0.0, 0.0, 1234.567891, 1e5, 1e6)
WIDTHS_FEET = (None, None, 2.0, 3.0, 4.0)
KINDS = tuple(ConnectorKind)
PRIVATE_SHARE, PRIVATE_DIGIT = 0.35, 4
"""Of rooms, and the last digit of the seeds that have such: an oracle takes long for them."""


@dataclass
class Sketch:
    """A building while it is drawn."""

    random: np.random.Generator
    added: np.random.Generator
    """Draws what was added later, so that a seed keeps the rest of its building."""
    private_share: float = 0.0
    spaces: list[Space] = field(default_factory=list)
    barriers: list[Barrier] = field(default_factory=list)
    doors: list[Door] = field(default_factory=list)
    locations: list[PlanLocation] = field(default_factory=list)

    def chance(self, share: float) -> bool:
        return bool(self.random.random() < share)

    def chance_added(self, share: float) -> bool:
        return bool(self.added.random() < share)

    def pick(self, choices: tuple[float, ...]) -> float:
        return choices[int(self.random.integers(len(choices)))]

    def add_space(self, level: str, shape: Polygon, kind: SpaceKind) -> Space:
        is_private = kind is SpaceKind.ROOM and self.chance_added(self.private_share)
        name = f"{kind.value} {len(self.spaces)}"
        space = Space(name, level, shape, kind, is_private=is_private)
        self.spaces.append(space)
        return space

    def add_location(self, level: str, shape: Polygon) -> None:
        """Put a location anywhere in a shape, or on its edge."""
        left, top, right, bottom = shape.bounds
        x, y = self.random.uniform((left, top), (right, bottom))
        at = shapely.ops.nearest_points(shape, Point(x, y))[0]
        self.locations.append(PlanLocation(f"place {len(self.locations)}", level, at.x, at.y))

    def add_door(self, level: str, x: float, y: float, across: tuple[float, float]) -> None:
        """Draw a door through a wall at a point; `across` is the normal of the wall."""
        width = WIDTHS_FEET[int(self.random.integers(len(WIDTHS_FEET)))]
        half, (dx, dy) = (width or 3.0) / 2, across
        off = self.random.uniform(-0.8, 0.8) if self.chance(0.2) else 0.0
        x, y = x + off * dx, y + off * dy
        shapes = (
            Point(x, y),
            LineString([(x - half * dy, y - half * dx), (x + half * dy, y + half * dx)]),
            box(x - half * abs(dy) - abs(dx), y - half * abs(dx) - abs(dy),
                x + half * abs(dy) + abs(dx), y + half * abs(dx) + abs(dy)),
        )  # fmt: skip
        sign = -1.0 if self.chance(0.5) else 1.0
        self.doors.append(
            Door(
                f"door {len(self.doors)}",
                level,
                shapes[int(self.random.integers(len(shapes)))],
                width,
                False if self.chance(0.05) else None,
                self.chance(0.05),
                (sign * dx, sign * dy) if self.chance(0.12) else None,
                self.chance_added(self.private_share / 7),
            )
        )


def build(seed: int) -> Plan:
    """Return the building of a seed."""
    random = np.random.default_rng(seed)
    share = PRIVATE_SHARE if seed % 10 == PRIVATE_DIGIT else 0.0
    sketch = Sketch(random, np.random.default_rng((seed, 1)), share)
    levels = [str(at) for at in range(int(random.integers(1, 4)))]
    length = float(random.integers(60, 130))
    for level in levels:
        draw_level(sketch, level, length)
    plan = Plan(
        tuple(Level(level, at) for at, level in enumerate(levels)),
        tuple(sketch.spaces),
        tuple(sketch.barriers),
        tuple(sketch.doors),
        tuple(iter_connectors(sketch, levels, length)),
        tuple(sketch.locations),
    )
    return distort(plan, sketch)


def draw_level(sketch: Sketch, level: str, length: float) -> None:
    """Draw rooms on both sides of a corridor, a hall with pillars, and some oddities."""
    random = sketch.random
    corridor = curve(length) if sketch.chance(0.3) else box(0, 30, length, 40)
    sketch.add_space(level, corridor, SpaceKind.CORRIDOR)
    sketch.add_location(level, corridor)
    edges = np.unique(np.append(np.round(random.uniform(8, length - 8, 4), 1), (0, length)))
    for left, right in pairwise(edges):
        for top, bottom, wall, normal in ((0, 30, 30.0, 1.0), (40, 70, 40.0, -1.0)):
            if right - left < 4:
                continue
            room = box(left, top, right, bottom)
            sketch.add_space(level, room, SpaceKind.ROOM)
            sketch.add_location(level, room)
            if sketch.chance(0.8):
                # Some doors stand at a corner of two rooms.
                x = left + (right - left) * sketch.pick((0.0, 0.5, 0.5, 0.3, 0.9))
                sketch.add_door(level, float(x), wall, (0.0, normal))
            if sketch.chance(0.3):
                sketch.add_door(level, float(right), (top + bottom) / 2, (1.0, 0.0))
    hall = box(length, 0, length + 60, 70)
    sketch.add_space(level, hall, SpaceKind.AREA if sketch.chance(0.5) else SpaceKind.ROOM)
    sketch.add_door(level, length, 35, (1.0, 0.0))
    for _ in range(3):
        sketch.add_location(level, hall)
    for x in range(int(length) + 10, int(length) + 55, 14):
        for y in range(8, 65, 14):
            if sketch.chance(0.5):
                sketch.barriers.append(Barrier(level, draw_pillar(sketch, x, y)))
    draw_oddities(sketch, level, length)


def draw_pillar(sketch: Sketch, x: float, y: float) -> Polygon:
    size = sketch.random.uniform(0.5, 5)
    if sketch.chance(0.4):
        return Point(x, y).buffer(size / 2, quad_segs=int(sketch.random.integers(2, 9)))
    return box(x, y, x + size, y + sketch.random.uniform(0.5, 5))


def draw_oddities(sketch: Sketch, level: str, length: float) -> None:
    """Add what mappers draw by mistake, or by habit."""
    random = sketch.random
    some = sketch.spaces[int(random.integers(len(sketch.spaces)))].polygon
    left, top, right, bottom = some.bounds
    middle = ((left + right) / 2, (top + bottom) / 2)
    if sketch.chance(0.3):  # a room within a room
        closet = box(left + 1, top + 1, *middle)
        sketch.add_space(level, closet, SpaceKind.ROOM)
        sketch.add_location(level, closet)
        sketch.add_door(level, middle[0], (top + 1 + middle[1]) / 2, (1.0, 0.0))
    if sketch.chance(0.2):  # drawn twice, not quite alike
        sketch.add_space(level, box(left + 0.01, top, right, bottom - 0.02), SpaceKind.ROOM)
    if sketch.chance(0.2):  # a sliver
        sketch.add_space(level, box(left, top, right, top + 0.03), SpaceKind.ROOM)
    if sketch.chance(0.2):  # a bow-tie
        bow_tie = Polygon([(0, -30), (20, -10), (20, -30), (0, -10)])
        sketch.add_space(level, bow_tie, SpaceKind.AREA)
    if sketch.chance(0.4):  # a wall of many points that is nearly straight
        x = np.linspace(2, length - 2, 40)
        wall = LineString(np.stack((x, 35 + random.uniform(-0.02, 0.02, 40)), axis=1)[5:-5])
        sketch.barriers.append(Barrier(level, wall))


def curve(length: float) -> Polygon:
    """Return a corridor along an arc of a hundred points that touches the rooms at both ends."""
    at = np.linspace(0, np.pi, 100)
    x = length / 2 - length / 2 * np.cos(at)
    upper = np.stack((x, 30 - 3 * np.sin(at)), axis=1)
    lower = np.stack((x, 40 - 3 * np.sin(at)), axis=1)
    return Polygon(np.concatenate((upper, lower[::-1])))


def iter_connectors(sketch: Sketch, levels: list[str], length: float) -> Iterator[Connector]:
    for at in range(int(sketch.random.integers(1, 4)) if len(levels) > 1 else 0):
        kind = KINDS[int(sketch.random.integers(len(KINDS)))]
        x, y = sketch.random.uniform((length, 0), (length + 60, 70))
        served = [level for level in levels if sketch.chance(0.85)]
        shape = Point(x, y) if sketch.chance(0.5) else box(x, y, x + 4, y + 4)
        slope = sketch.added.uniform(-60, 0) if sketch.chance_added(0.5) else 0.0
        direction = Direction.UP if kind is ConnectorKind.ESCALATOR else None
        in_service = not sketch.chance(0.1)
        yield Connector(
            f"{kind.value} {at}",
            kind,
            {level: translate(shape, int(level) * slope / len(levels)) for level in served},
            "",
            None,
            direction,
            in_service,
        )


def distort(plan: Plan, sketch: Sketch) -> Plan:
    """Return a plan shaken, turned, mirrored, moved and scaled by a hair, as a projection does."""
    jitter, offset = sketch.pick(JITTERS_FEET), sketch.pick(OFFSETS_FEET)
    angle = np.radians(sketch.pick(DEGREES))
    stretch = 1 + (sketch.random.uniform(-1e-4, 1e-4) if sketch.chance(0.5) else 0.0)
    mirror = -1.0 if sketch.chance(0.3) else 1.0
    a, b = stretch * np.cos(angle), -np.sin(angle) * mirror
    d, e = stretch * np.sin(angle), np.cos(angle) * mirror
    matrix = [a, b, d, e, offset, -offset / 3]
    turned = moved(plan, lambda shape: affine_transform(shape, matrix))

    def shake(shape: BaseGeometry) -> BaseGeometry:
        # Each point of a shape moves as any other at its place, so that rings stay closed.
        salt = sketch.random.uniform(0, 2 * np.pi, 2)
        return shapely.transform(shape, lambda xy: xy + jitter * np.sin(1e4 * xy + salt))

    shaken = moved(turned, shake) if jitter else turned
    doors = [
        Door(
            door.id, door.level_id, door.geometry, door.width_feet, door.wheelchair, door.is_locked,
            None if one.one_way is None else (
                a * one.one_way[0] + b * one.one_way[1], d * one.one_way[0] + e * one.one_way[1]
            ),
            door.is_private,
        )
        for door, one in zip(shaken.doors, plan.doors, strict=True)
    ]  # fmt: skip
    return Plan(
        shaken.levels, shaken.spaces, shaken.barriers, tuple(doors), shaken.connectors,
        shaken.locations,
    )  # fmt: skip
