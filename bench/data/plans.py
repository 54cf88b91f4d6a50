"""Plans for measurements and tests: offices and combs of any size, pillared halls, Alder Court."""

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
from samples.buildings.alder_court import build_alder_court
from samples.buildings.plan import Storey

ROOM_FEET, DEPTH_FEET, CORRIDOR_FEET = 12.0, 18.0, 7.0
WING_FEET = 2 * DEPTH_FEET + CORRIDOR_FEET
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
    """Return the west end and corridor side of a room, and whether it is south of its corridor."""
    wing, place = divmod(index, 2 * ROOMS_PER_SIDE)
    south, along = divmod(place, ROOMS_PER_SIDE)
    y = wing * WING_FEET + DEPTH_FEET + south * CORRIDOR_FEET
    return along * ROOM_FEET, y, bool(south)


def room_outline(index: int) -> Polygon:
    x, y, south = room_corner(index)
    far = DEPTH_FEET if south else -DEPTH_FEET
    return box(x, min(y, y + far), x + ROOM_FEET, max(y, y + far))


def iter_spaces(level: str, rooms: int) -> Iterator[Space]:
    wings = ceil(rooms / (2 * ROOMS_PER_SIDE))
    spine = box(-CORRIDOR_FEET, 0, 0, wings * WING_FEET)
    yield Space(f"{level} spine", level, spine, SpaceKind.CORRIDOR)
    for wing in range(wings):
        y = wing * WING_FEET + DEPTH_FEET
        hall = box(0, y, ROOMS_PER_SIDE * ROOM_FEET, y + CORRIDOR_FEET)
        yield Space(f"{level} hall {wing}", level, hall, SpaceKind.CORRIDOR)
    for index in range(rooms):
        yield Space(f"{level} room {index}", level, room_outline(index))


def iter_pillars(level: str, rooms: int) -> Iterator[Barrier]:
    """Yield a cupboard against the back wall of every second room."""
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
    storeys = build_alder_court().storeys
    places: dict[str, dict[str, Polygon]] = {}
    kinds: dict[str, ConnectorKind] = {}
    for storey in storeys:
        for drawn in storey.connectors:
            kinds[drawn.tags["ref"]] = ConnectorKind(drawn.tags["highway"])
            places.setdefault(drawn.tags["ref"], {})[storey.name] = Polygon(drawn.outline)
    return Plan(
        tuple(Level(storey.name, storey.number - 1, storey.name) for storey in storeys),
        tuple(space for storey in storeys for space in spaces_of(storey)),
        (),
        tuple(door for storey in storeys for door in doors_of(storey)),
        tuple(Connector(ref, kinds[ref], own) for ref, own in places.items()),
        tuple(location for storey in storeys for location in locations_of(storey)),
    )


def spaces_of(storey: Storey) -> list[Space]:
    return [
        Space(
            f"{storey.number} {drawn.name}",
            storey.name,
            Polygon(drawn.outline),
            SpaceKind(drawn.tags["indoor"]),
            drawn.name,
        )
        for drawn in storey.spaces
        if "indoor" in drawn.tags
    ]


def doors_of(storey: Storey) -> list[Door]:
    return [
        Door(f"{storey.number} {at}", storey.name, Polygon(door.outline), door.width_feet)
        for at, door in enumerate(storey.doors)
    ]


def locations_of(storey: Storey) -> list[PlanLocation]:
    return [
        PlanLocation(f"{storey.number} {drawn.name}", storey.name, *drawn.anchor, drawn.name)
        for drawn in storey.spaces
        if drawn.is_amenity or drawn.tags.get("room") == "apartment"
    ]
