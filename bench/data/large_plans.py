"""Plans that are hard on a graph: long corridors with many doors, and a hall full of pillars."""

from __future__ import annotations

from shapely import Point, box

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

CORRIDORS = 5
ROOM_FEET, DEPTH_FEET, PITCH_FEET = 10, 25, 60
PILLAR_PITCH_FEET, PILLAR_RADIUS_FEET = 20, 2.0


def build_comb(rooms: int, levels: int = 1) -> Plan:
    """Return levels of five long corridors, each with a tenth of the rooms on either side."""
    spaces, doors, locations = [], [], []
    length_feet = 12 + ROOM_FEET * (rooms // (2 * CORRIDORS))
    for level in map(str, range(levels)):
        spine = box(0, 0, 12, CORRIDORS * PITCH_FEET)
        spaces.append(Space(f"spine {level}", level, spine, SpaceKind.CORRIDOR))
        for y in range(0, CORRIDORS * PITCH_FEET, PITCH_FEET):
            north, south = y + DEPTH_FEET, y + PITCH_FEET - DEPTH_FEET
            corridor = box(12, north, length_feet, south)
            spaces.append(Space(f"corridor {level} {y}", level, corridor, SpaceKind.CORRIDOR))
            for x in range(12, length_feet, ROOM_FEET):
                for side, wall in ((y, north), (y + PITCH_FEET, south)):
                    room = f"room {level} {wall} {x}"
                    outline = box(x, min(side, wall), x + ROOM_FEET, max(side, wall))
                    door = box(x + 3.5, wall - 1, x + 6.5, wall + 1)
                    spaces.append(Space(room, level, outline))
                    doors.append(Door(room, level, door, 3.0))
                    locations.append(PlanLocation(room, level, x + 5, (side + wall) / 2))
    stairs = Connector(
        "stairs", ConnectorKind.STEPS, {str(at): Point(6, 5) for at in range(levels)}
    )
    return Plan(
        tuple(Level(str(at), at) for at in range(levels)),
        tuple(spaces),
        (),
        tuple(doors),
        (stairs,) if levels > 1 else (),
        tuple(locations),
    )


def build_hall(pillars_per_side: int, points: int = 16) -> Plan:
    """Return one hall with a square grid of round pillars of so many points."""
    side_feet = pillars_per_side * PILLAR_PITCH_FEET
    middles = [PILLAR_PITCH_FEET * (at + 0.5) for at in range(pillars_per_side)]
    pillars = [
        Barrier("0", Point(x, y).buffer(PILLAR_RADIUS_FEET, quad_segs=points // 4))
        for x in middles
        for y in middles
    ]
    places = [PlanLocation(f"place {x}", "0", x, 3.0) for x in middles]
    hall = Space("hall", "0", box(0, 0, side_feet, side_feet), SpaceKind.CORRIDOR)
    return Plan((Level("0", 0),), (hall,), tuple(pillars), (), (), tuple(places))
