"""Alder Court: five storeys in a U around a garden court with a pool; all lengths in feet."""

from __future__ import annotations

from samples.buildings.alder_ground import build_ground_storey
from samples.buildings.alder_structure import (
    EAST_OUTER,
    EAST_OUTER_FLATS,
    LIFT_HALL,
    LOUNGE,
    LOUNGE_DEPTH_FEET,
    LOUNGE_WIDTH_FEET,
    NORTH_INNER,
    NORTH_INNER_EAST,
    NORTH_OUTER,
    WEST_INNER,
    WEST_OUTER,
    add_cores,
    build_structure,
)
from samples.buildings.apartments import ONE, STUDIO, THREE, TWO
from samples.buildings.furniture import furnish_room
from samples.buildings.plan import Building, Storey, Tags
from samples.buildings.rows import (
    AMENITY_FILL,
    CORRIDOR_WALL,
    ApartmentSlot,
    RoomSlot,
    add_area,
    add_ground,
    add_trees,
    add_window,
    place_slots,
)

WIDTH_FEET, HEIGHT_FEET = 240.0, 172.0

NORTH_FLATS = (
    ApartmentSlot(8, THREE, 45.5, corner=True, balcony=True),
    ApartmentSlot(9, ONE, 25, bay=True),
    ApartmentSlot(10, TWO, 36, balcony=True),
    ApartmentSlot(11, STUDIO, 18),
    ApartmentSlot(12, ONE, 25, bay=True, flip=True),
    ApartmentSlot(13, THREE, 46, corner=True, balcony=True, flip=True),
)
WEST_OUTER_FLATS = (
    ApartmentSlot(16, TWO, 36, balcony=True),
    ApartmentSlot(17, ONE, 25, bay=True),
    ApartmentSlot(18, TWO, 39.5, balcony=True),
)
WEST_INNER_FLATS = (ApartmentSlot(19, ONE, 25), ApartmentSlot(20, TWO, 31, tail_feet=10))

LOUNGES = {
    2: ("Library", {"amenity": "library"}),
    3: ("Study lounge", {"amenity": "lounge"}),
    4: ("Craft studio", {"amenity": "arts_centre"}),
    5: ("Sky lounge", {"amenity": "lounge"}),
}
CORE_ROOMS = {
    2: ("Music room", {"amenity": "music_practice"}),
    3: ("Screening room", {"amenity": "cinema"}),
    4: ("Yoga studio", {"leisure": "fitness_studio"}),
    5: ("Sauna", {"leisure": "sauna"}),
}


def build_alder_court() -> Building:
    upper = [build_upper_storey(number) for number in (2, 3, 4)]
    storeys = (build_ground_storey(), *upper, build_top_storey())
    return Building(
        "alder-court", "Alder Court", WIDTH_FEET, HEIGHT_FEET, 45.5272, -122.6859, storeys
    )


def build_upper_storey(number: int) -> Storey:
    storey = build_residential_storey(number)
    place_slots(storey, EAST_OUTER, EAST_OUTER_FLATS)
    return storey


def build_residential_storey(number: int) -> Storey:
    """Build a storey with apartments everywhere except the outer row of the east wing."""
    storey = build_structure(number, f"Floor {number}")
    place_slots(storey, NORTH_OUTER, NORTH_FLATS)
    place_slots(storey, NORTH_INNER, [ApartmentSlot(14, ONE, 23.5)])
    place_slots(storey, NORTH_INNER_EAST, [ApartmentSlot(15, ONE, 23.5, flip=True)])
    place_slots(storey, WEST_OUTER, WEST_OUTER_FLATS)
    place_slots(storey, WEST_INNER, WEST_INNER_FLATS)
    add_lounge(storey, *LOUNGES[number])
    name, tags = CORE_ROOMS[number]
    add_cores(storey, RoomSlot(name, 28, tags, depth_feet=14))
    return storey


def add_lounge(storey: Storey, name: str, tags: Tags) -> None:
    """Add a shared room behind the lifts, open to the lift hall."""
    outline = LOUNGE.rectangle(0, 0, LOUNGE_WIDTH_FEET, LOUNGE_DEPTH_FEET)
    add_area(storey, name, outline, AMENITY_FILL, **tags)
    furnish_room(storey, LOUNGE, name)
    for u in (4.5, 18.5):
        add_window(storey, LIFT_HALL, (u - 2.5, 28.5), (u + 2.5, 28.5))


def build_top_storey() -> Storey:
    """Build the top storey, where a roof deck replaces the last apartment of the east wing."""
    storey = build_residential_storey(5)
    place_slots(storey, EAST_OUTER, EAST_OUTER_FLATS[:-1])
    frame = EAST_OUTER.frame.shift(62.5)
    deck, anchor = frame.rectangle(0, 0, 39, 28), frame.to_point(19.5, 13)
    add_ground(storey, "Roof deck", deck, anchor, "#dcc7a4", leisure="outdoor_seating")
    storey.add_door(frame, 8, CORRIDOR_WALL)
    add_trees(storey, frame, (3, 25, 2.2), (36, 25, 2.2), (36, 3, 2.2), (19.5, 25.3, 2.2))
    storey.strokes["furniture"] += [frame.line((u, 0), (u, 28)) for u in range(3, 39, 3)]
    storey.strokes["treads"].append(frame.line((0, 28), (39, 28), (39, 0)))
    furnish_room(storey, frame, "Roof deck")
    return storey
