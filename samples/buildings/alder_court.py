"""Alder Court: five storeys in a U around a garden court with a pool; all lengths in feet."""

from samples.buildings.apartments import ONE, STUDIO, THREE, TWO, add_box, furnish_room
from samples.buildings.plan import (
    EAST,
    NORTH,
    SITE,
    SOUTH,
    WEST,
    Building,
    DrawnSpace,
    LocalFrame,
    PlanPosition,
    Storey,
    Tags,
)
from samples.buildings.rows import (
    AMENITY_FILL,
    CORRIDOR_FILL,
    CORRIDOR_WALL,
    FACADE,
    ApartmentSlot,
    RoomRow,
    RoomSlot,
    add_area,
    add_ground,
    add_lift,
    add_stair,
    add_trees,
    add_window,
    place_slots,
)

# The parts common to all storeys of Alder Court: corridor, lifts, stairs, cores, east wing. Two
# wings of 65 feet depth are joined by a third on the street in the north, so that stairs, lifts and
# apartment stacks stand above one another. All lengths in feet.

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


# The ground floor of Alder Court: lobby, shared rooms, garden court and pool; lengths in feet.

STREET_WEST = (
    RoomSlot("Fitness centre", 45.5, {"leisure": "fitness_centre"}, door_u_feet=36),
    RoomSlot("Package lockers", 16, {"amenity": "parcel_locker"}),
    RoomSlot("Mail room", 16, {"amenity": "letter_box"}),
)
STREET_EAST = (
    RoomSlot("Leasing office", 20, {"office": "property_management"}),
    RoomSlot("Meeting room", 15.5, {"amenity": "meeting_room"}),
    RoomSlot("Co-working", 42, {"amenity": "coworking_space"}, door_u_feet=8.5),
)
COURT_WEST = RoomSlot("Resident lounge", 23.5, {"amenity": "lounge"}, garden_door=True)
COURT_EAST = RoomSlot("Club kitchen", 23.5, {"amenity": "kitchen"}, garden_door=True)
PARK = (
    RoomSlot("Bike room", 36, {"amenity": "bicycle_parking"}),
    RoomSlot("Pet spa", 25, {"amenity": "animal_wash"}),
    RoomSlot("Playroom", 39.5, {"leisure": "indoor_play"}),
)
WEST_COURT = (
    RoomSlot("Game room", 25, {"leisure": "amusement_arcade"}),
    RoomSlot("Club room", 31, {"amenity": "social_club"}, garden_door=True),
)


def build_ground_storey() -> Storey:
    storey = build_structure(1, "Ground floor")
    hall = LOUNGE.rectangle(0, 0, LOUNGE_WIDTH_FEET, LOUNGE_DEPTH_FEET)
    add_area(storey, "Garden hall", hall, CORRIDOR_FILL)
    storey.add_door(LIFT_HALL, LOUNGE_WIDTH_FEET / 2, FACADE, 6.0)
    add_lobby(storey)
    place_slots(storey, EAST_OUTER, EAST_OUTER_FLATS)
    place_slots(storey, NORTH_OUTER, STREET_WEST)
    place_slots(storey, NORTH_OUTER_EAST, STREET_EAST)
    place_slots(storey, NORTH_INNER, [COURT_WEST])
    place_slots(storey, NORTH_INNER_EAST, [COURT_EAST])
    place_slots(storey, WEST_OUTER, PARK)
    place_slots(storey, WEST_INNER, WEST_COURT)
    add_cores(storey, RoomSlot("Maintenance", 28, {"room": "technical"}, depth_feet=14))
    add_garden(storey)
    add_pool(storey)
    return storey


def add_lobby(storey: Storey) -> None:
    lobby = SITE.rectangle(100, 21, 140, 49.5)
    add_area(storey, "Lobby", lobby, AMENITY_FILL, room="lobby", amenity="reception_desk")
    plaza = SITE.rectangle(96, 0, 144, 20)
    add_ground(storey, "Entrance plaza", plaza, PlanPosition(120, 10), "#e4ddd0")
    add_trees(storey, SITE, *((x, 11, 3) for x in (84, 72, 60, 156, 168, 180)))
    storey.add_door(NORTH_OUTER.frame, 99, FACADE, 6.0, entrance="main")
    for x in (104, 128):
        add_window(storey, SITE, (x, 20.5), (x + 8, 20.5))
    add_box(storey, SITE, 131, 27, 134, 41)
    for x, y in ((103, 26), (103, 36)):
        add_box(storey, SITE, x, y, x + 3, y + 7)
        add_box(storey, SITE, x + 5, y + 2, x + 8, y + 5)


def add_garden(storey: Storey) -> None:
    garden = SITE.rectangle(85, 85, 155, 120)
    add_ground(storey, "Garden court", garden, PlanPosition(120, 100), "#d3e4c3", leisure="garden")
    middle, across = SITE.line((120, 86), (120, 120)), SITE.line((88, 103), (152, 103))
    storey.strokes["paths"] += [middle, across]
    add_trees(storey, SITE, (91, 112, 4), (104, 94, 3.5), (136, 94, 3.5), (149, 112, 4))
    add_trees(storey, SITE, (91, 94, 3), (149, 94, 3), (106, 112, 3), (134, 112, 3))


def add_pool(storey: Storey) -> None:
    """Add the pool, a terrace on three sides of it, and showers.

    The pool is not walkable. It is 11 feet wide, so that its centre, where it is searched for, is
    within 6 feet of the terrace.
    """
    terrace = SITE.line(
        (85, 120), (98, 120), (98, 131), (142, 131),
        (142, 120), (155, 120), (155, 150), (85, 150),
    )  # fmt: skip
    add_ground(
        storey,
        "Pool terrace",
        terrace,
        PlanPosition(120, 137),
        "#eadfc8",
        leisure="outdoor_seating",
    )
    pool = SITE.rectangle(98, 120, 142, 131)
    tags = {"leisure": "swimming_pool", "name": "Pool"}
    storey.grounds.append(
        DrawnSpace("Pool", pool, PlanPosition(120, 125.5), "#7cc7e8", tags, has_walls=False)
    )
    lanes = [SITE.line((100, 120 + lane), (140, 120 + lane)) for lane in (3.7, 7.3)]
    storey.strokes["swings"] += lanes
    for x in range(98, 142, 5):
        add_box(storey, SITE, x, 142, x + 2.5, 148)
    add_trees(storey, SITE, (89, 135, 2.5), (151, 135, 2.5), (151, 146, 2.5))
    showers = SITE.rectangle(74.5, 141.5, 84, 151)
    tags = {"indoor": "room", "name": "Showers", "amenity": "shower"}
    storey.rooms.append(DrawnSpace("Showers", showers, PlanPosition(79, 146.5), AMENITY_FILL, tags))
    storey.add_door(WEST_INNER.frame, 61.75, FACADE)
    furnish_room(storey, SITE.shift(74.5, 141.5), "Showers")


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
