"""Plans for measurements and tests: offices and combs of any size, pillared halls, Alder Court."""

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
from samples.buildings.alder_court import build_alder_court

ROOM_FEET, DEPTH_FEET, CORRIDOR_FEET = 12.0, 18.0, 7.0
WING_FEET = 2 * DEPTH_FEET + CORRIDOR_FEET
ROOMS_PER_SIDE = 20


def build_office(levels: int, rooms: int) -> Plan:
    """Return equal levels of wings, with rooms on both sides of a hall and a cupboard in every
    second one, joined by two lifts and a stair; every room has a door and a location.
    """
    storeys = [str(at) for at in range(levels)]
    wings = range(ceil(rooms / (2 * ROOMS_PER_SIDE)))
    spine = box(-CORRIDOR_FEET, 0, 0, len(wings) * WING_FEET)
    kinds = (ConnectorKind.ELEVATOR, ConnectorKind.ELEVATOR, ConnectorKind.STEPS)
    spaces, barriers, doors, locations = [], [], [], []
    for level in storeys:
        spaces.append(Space(f"{level} spine", level, spine, SpaceKind.CORRIDOR))
        for wing in wings:
            y = wing * WING_FEET + DEPTH_FEET
            hall = box(0, y, ROOMS_PER_SIDE * ROOM_FEET, y + CORRIDOR_FEET)
            spaces.append(Space(f"{level} hall {wing}", level, hall, SpaceKind.CORRIDOR))
        for index in range(rooms):
            x, y, outward = find_room(index)
            back = y + outward * DEPTH_FEET
            outline = box(x, min(y, back), x + ROOM_FEET, max(y, back))
            spaces.append(Space(f"{level} room {index}", level, outline))
            if index % 2 == 0:
                barriers.append(Barrier(level, box(x + 4, back - 3, x + 7, back + 3)))
            doors.append(Door(f"{level} door {index}", level, Point(x + 3 + index % 5, y), 3.0))
            locations.append(PlanLocation(f"{level} {index}", level, x + 1, y + 3 * outward))
    return Plan(
        tuple(Level(level, at) for at, level in enumerate(storeys)),
        tuple(spaces),
        tuple(barriers),
        tuple(doors),
        tuple(
            Connector(
                f"{kind.value} {at}",
                kind,
                dict.fromkeys(storeys, Point(-CORRIDOR_FEET / 2, 5 + 12 * at)),
            )
            for at, kind in enumerate(kinds)
        ),
        tuple(locations),
    )


def find_room(index: int) -> tuple[float, float, int]:
    """Return the west end and hall side of a room, and 1 or -1 if it is south or north of it."""
    wing, place = divmod(index, 2 * ROOMS_PER_SIDE)
    is_south, along = divmod(place, ROOMS_PER_SIDE)
    y = wing * WING_FEET + DEPTH_FEET + is_south * CORRIDOR_FEET
    return along * ROOM_FEET, y, 1 if is_south else -1


# Long corridors with many doors, and a hall full of pillars: they are hard on a graph.

CORRIDORS = 5
DOOR_PITCH_FEET, SIDE_FEET, CORRIDOR_PITCH_FEET = 10, 25, 60
PILLAR_PITCH_FEET, PILLAR_RADIUS_FEET = 20, 2.0


def build_comb(rooms: int, levels: int = 1) -> Plan:
    """Return levels of five long corridors, each with a tenth of the rooms on either side."""
    spaces, doors, locations = [], [], []
    length_feet = 12 + DOOR_PITCH_FEET * (rooms // (2 * CORRIDORS))
    for level in map(str, range(levels)):
        spine = box(0, 0, 12, CORRIDORS * CORRIDOR_PITCH_FEET)
        spaces.append(Space(f"spine {level}", level, spine, SpaceKind.CORRIDOR))
        for y in range(0, CORRIDORS * CORRIDOR_PITCH_FEET, CORRIDOR_PITCH_FEET):
            north, south = y + SIDE_FEET, y + CORRIDOR_PITCH_FEET - SIDE_FEET
            corridor = box(12, north, length_feet, south)
            spaces.append(Space(f"corridor {level} {y}", level, corridor, SpaceKind.CORRIDOR))
            for x in range(12, length_feet, DOOR_PITCH_FEET):
                for side, wall in ((y, north), (y + CORRIDOR_PITCH_FEET, south)):
                    room = f"room {level} {wall} {x}"
                    outline = box(x, min(side, wall), x + DOOR_PITCH_FEET, max(side, wall))
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


# Alder Court, the demo building


def build_demo() -> Plan:
    """Return Alder Court as its generator lays it out, every apartment and amenity a location."""
    places: dict[str, dict[str, Polygon]] = {}
    kinds: dict[str, ConnectorKind] = {}
    levels, spaces, doors, locations = [], [], [], []
    for storey in build_alder_court().storeys:
        levels.append(Level(storey.name, storey.number - 1, storey.name))
        for room in storey.spaces:
            own_id = f"{storey.number} {room.name}"
            if indoor := room.tags.get("indoor"):
                outline, kind = Polygon(room.outline), SpaceKind(indoor)
                spaces.append(Space(own_id, storey.name, outline, kind, room.name))
            if room.is_amenity or room.tags.get("room") == "apartment":
                locations.append(PlanLocation(own_id, storey.name, *room.anchor, room.name))
        for at, door in enumerate(storey.doors):
            outline = Polygon(door.outline)
            doors.append(Door(f"{storey.number} {at}", storey.name, outline, door.width_feet))
        for drawn in storey.connectors:
            kinds[drawn.tags["ref"]] = ConnectorKind(drawn.tags["highway"])
            places.setdefault(drawn.tags["ref"], {})[storey.name] = Polygon(drawn.outline)
    connectors = (Connector(ref, kinds[ref], own) for ref, own in places.items())
    return Plan(tuple(levels), tuple(spaces), (), tuple(doors), tuple(connectors), tuple(locations))
