"""The parts common to all storeys of Alder Court: corridor, lifts, stairs, cores, east wing.

Two wings of 65 feet depth are joined by a third on the street in the north, so that stairs,
lifts and apartment stacks stand above one another. All lengths in feet.
"""

from __future__ import annotations

from samples.buildings.apartments import ONE, STUDIO, TWO
from samples.buildings.frame import EAST, NORTH, SITE, SOUTH, WEST, LocalFrame, PlanPosition
from samples.buildings.plan import DrawnSpace, Storey
from samples.buildings.rows import (
    CORRIDOR_FILL,
    ApartmentSlot,
    RoomRow,
    RoomSlot,
    add_area,
    add_lift,
    add_stair,
    add_window,
    place_slots,
)

NORTH_OUTER = RoomRow(LocalFrame(PlanPosition(21, 49), EAST, NORTH), "street-view")
NORTH_OUTER_EAST = RoomRow(LocalFrame(PlanPosition(140.5, 49), EAST, NORTH), "street-view")
NORTH_INNER = RoomRow(LocalFrame(PlanPosition(84.5, 56), EAST, SOUTH), "court-view")
NORTH_INNER_EAST = RoomRow(LocalFrame(PlanPosition(132, 56), EAST, SOUTH), "court-view")
WEST_OUTER = RoomRow(LocalFrame(PlanPosition(49, 49.5), SOUTH, WEST), "park-view")
WEST_INNER = RoomRow(LocalFrame(PlanPosition(56, 84.5), SOUTH, EAST), "court-view")
EAST_OUTER = RoomRow(LocalFrame(PlanPosition(191, 49.5), SOUTH, EAST), "park-view")
EAST_INNER = RoomRow(LocalFrame(PlanPosition(184, 84.5), SOUTH, WEST), "court-view")
NORTH_WEST_CORE = RoomRow(LocalFrame(PlanPosition(56, 56), EAST, SOUTH))
NORTH_EAST_CORE = RoomRow(LocalFrame(PlanPosition(156, 56), EAST, SOUTH))
WEST_CORE = RoomRow(LocalFrame(PlanPosition(56, 70.5), SOUTH, EAST))
EAST_CORE = RoomRow(LocalFrame(PlanPosition(184, 70.5), SOUTH, WEST))
LIFT_HALL = LocalFrame(PlanPosition(108.5, 56), EAST, SOUTH)
LOUNGE = LIFT_HALL.shift(0, 8.5)
LOUNGE_WIDTH_FEET, LOUNGE_DEPTH_FEET = 23.0, 19.5

EAST_OUTER_FLATS = (
    ApartmentSlot(1, ONE, 25),
    ApartmentSlot(2, STUDIO, 18),
    ApartmentSlot(3, STUDIO, 18),
    ApartmentSlot(4, TWO, 39, balcony=True),
)
EAST_INNER_FLATS = (
    ApartmentSlot(5, STUDIO, 18),
    ApartmentSlot(6, STUDIO, 18, flip=True),
    ApartmentSlot(7, ONE, 19.5, tail_feet=10),
)

NARROW_DOOR_STOREY = 3
NARROW_DOOR_FEET = 2.5
"""0.76 m: too narrow for a wheelchair, so this storage room is not offered as an amenity."""


def build_structure(number: int, name: str) -> Storey:
    storey = Storey(number, name, f"{name}, Alder Court")
    corridor = SITE.line(
        (49.5, 49.5), (190.5, 49.5), (190.5, 151), (184.5, 151),
        (184.5, 55.5), (55.5, 55.5), (55.5, 151), (49.5, 151),
    )  # fmt: skip
    tags = {"indoor": "corridor", "name": "Corridor"}
    storey.corridors.append(
        DrawnSpace("Corridor", corridor, PlanPosition(84, 52.5), CORRIDOR_FILL, tags)
    )
    add_area(storey, "Lift hall", LIFT_HALL.rectangle(7.5, -0.5, 15.5, 8.5), CORRIDOR_FILL)
    add_lift(storey, LIFT_HALL, "lift-1", "Lift 1")
    add_lift(storey, LIFT_HALL.mirror(LOUNGE_WIDTH_FEET), "lift-2", "Lift 2")
    add_stair(storey, WEST_INNER.frame.shift(57), "stair-a", "Stair A")
    add_stair(storey, EAST_INNER.frame.shift(57), "stair-b", "Stair B")
    place_slots(storey, EAST_INNER, EAST_INNER_FLATS)
    for x in (52.5, 187.5):
        add_window(storey, SITE, (x - 2, 151.5), (x + 2, 151.5))
    return storey


def add_cores(storey: Storey, room: RoomSlot) -> None:
    """Add the windowless inner corners: laundry, storage, recycling and one more `room`."""
    narrow = storey.number == NARROW_DOOR_STOREY
    door_feet = NARROW_DOOR_FEET if narrow else 3.0
    laundry = RoomSlot("Laundry", 28, {"amenity": "laundry"}, depth_feet=14)
    storage_tags = {"room": "storage"} | ({} if narrow else {"amenity": "storage"})
    storage = RoomSlot("Storage", 13.5, storage_tags, door_width_feet=door_feet)
    recycling = RoomSlot("Recycling", 13.5, {"room": "waste", "amenity": "recycling"})
    place_slots(storey, NORTH_WEST_CORE, [laundry])
    place_slots(storey, WEST_CORE, [storage])
    place_slots(storey, NORTH_EAST_CORE, [room])
    place_slots(storey, EAST_CORE, [recycling])
