"""Generate office plans of any size: comb-shaped corridors with rooms on both sides."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from shapely import Point, Polygon, box

from routing.plan import (
    Barrier,
    Connector,
    ConnectorKind,
    Door,
    Level,
    Plan,
    PlanLocation,
    Space,
    SpaceKind,
)

ROOM_FEET, DEPTH_FEET, CORRIDOR_FEET = 12.0, 18.0, 7.0
PITCH_FEET = 2 * DEPTH_FEET + CORRIDOR_FEET
ROOMS_PER_SIDE = 20


def build_office(levels: int, rooms_per_level: int, locations_per_room: int = 1) -> Plan:
    """Return `levels` equal levels joined by two lifts and a stair; every room has a door."""
    storeys = range(levels)
    return Plan(
        tuple(Level(str(at), at) for at in storeys),
        tuple(space for at in storeys for space in iter_spaces(str(at), rooms_per_level)),
        tuple(pillar for at in storeys for pillar in iter_pillars(str(at), rooms_per_level)),
        tuple(door for at in storeys for door in iter_doors(str(at), rooms_per_level)),
        tuple(iter_connectors(levels)),
        tuple(
            place
            for at in storeys
            for place in iter_locations(str(at), rooms_per_level, locations_per_room)
        ),
    )


def room_corner(index: int) -> tuple[float, float, bool]:
    """The west end and the corridor side of a room, and whether it is south of its corridor."""
    wing, place = divmod(index, 2 * ROOMS_PER_SIDE)
    south, along = divmod(place, ROOMS_PER_SIDE)
    y = wing * PITCH_FEET + DEPTH_FEET + south * CORRIDOR_FEET
    return along * ROOM_FEET, y, bool(south)


def room_outline(index: int) -> Polygon:
    x, y, south = room_corner(index)
    far = DEPTH_FEET if south else -DEPTH_FEET
    return box(x, min(y, y + far), x + ROOM_FEET, max(y, y + far))


def iter_spaces(level: str, rooms: int) -> Iterator[Space]:
    wings = ceil(rooms / (2 * ROOMS_PER_SIDE))
    spine = box(-CORRIDOR_FEET, 0, 0, wings * PITCH_FEET)
    yield Space(f"{level} spine", level, spine, SpaceKind.CORRIDOR)
    for wing in range(wings):
        y = wing * PITCH_FEET + DEPTH_FEET
        hall = box(0, y, ROOMS_PER_SIDE * ROOM_FEET, y + CORRIDOR_FEET)
        yield Space(f"{level} hall {wing}", level, hall, SpaceKind.CORRIDOR)
    for index in range(rooms):
        yield Space(f"{level} room {index}", level, room_outline(index))


def iter_pillars(level: str, rooms: int) -> Iterator[Barrier]:
    """A cupboard against the back wall of every second room."""
    for index in range(0, rooms, 2):
        x, y, south = room_corner(index)
        back = y + (DEPTH_FEET if south else -DEPTH_FEET)
        yield Barrier(level, box(x + 4, back - 3, x + 7, back + 3))


def iter_doors(level: str, rooms: int) -> Iterator[Door]:
    for index in range(rooms):
        x, y, _ = room_corner(index)
        yield Door(f"{level} door {index}", level, Point(x + 3 + index % 5, y), 3.0)


def iter_connectors(levels: int) -> Iterator[Connector]:
    kinds = (ConnectorKind.ELEVATOR, ConnectorKind.ELEVATOR, ConnectorKind.STEPS)
    for at, kind in enumerate(kinds):
        place = Point(-CORRIDOR_FEET / 2, 5 + 12 * at)
        yield Connector(f"{kind.value} {at}", kind, {str(level): place for level in range(levels)})


def iter_locations(level: str, rooms: int, per_room: int) -> Iterator[PlanLocation]:
    for index in range(rooms):
        x, y, south = room_corner(index)
        for at in range(per_room):
            depth = 3 + at % 11
            here = x + 1 + (at * 3) % 10
            yield PlanLocation(
                f"{level} {index} {at}", level, here, y + (depth if south else -depth)
            )
