"""The ground floor of Alder Court: lobby, shared rooms, garden court and pool; lengths in feet."""

from __future__ import annotations

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
    NORTH_OUTER_EAST,
    WEST_INNER,
    WEST_OUTER,
    add_cores,
    build_structure,
)
from samples.buildings.apartments import add_box
from samples.buildings.frame import SITE, PlanPosition
from samples.buildings.furniture import furnish_room
from samples.buildings.plan import DrawnSpace, Storey
from samples.buildings.rows import (
    AMENITY_FILL,
    CORRIDOR_FILL,
    FACADE,
    RoomSlot,
    add_area,
    add_ground,
    add_trees,
    add_window,
    place_slots,
)

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
