"""Translate IMDF's categories to OpenStreetMap's indoor tags (OGC 20-094, Categories).

A category with a suffix (`restroom.female.wheelchair`) means the same as without it, unless it has
its own row.
"""

from collections.abc import Mapping
from typing import Final

from parsing.drawing import Tags

ROOM: Final = {"indoor": "room"}
PRIVATE_ROOM: Final = {**ROOM, "access": "private"}
CORRIDOR: Final = {"indoor": "corridor"}
OPEN_AREA: Final = {"indoor": "area"}
WALL: Final = {"indoor": "wall", "area": "yes"}

UNIT_TAGS: Final[Mapping[str, Tags]] = {
    **dict.fromkeys(("corridor", "footbridge", "hallway", "walkway"), CORRIDOR),
    **dict.fromkeys(
        (
            "fieldofplay", "lobby", "parking", "platform", "road", "terrace", "unenclosedarea",
            "waitingroom",
        ),
        OPEN_AREA,
    ),
    **dict.fromkeys(
        ("brick", "column", "concrete", "drywall", "glass", "structure", "vegetation", "wood"), WALL
    ),
    "opentobelow": {**WALL, "wall": "opentobelow"},
    "elevator": {**ROOM, "highway": "elevator"},
    "stairs": {**ROOM, "highway": "steps"},
    "steps": {**OPEN_AREA, "stairs": "yes"},
    "escalator": {**ROOM, "highway": "steps", "conveying": "yes"},
    "ramp": {**ROOM, "ramp": "yes"},
    "movingwalkway": CORRIDOR,
    # The residential ones are not the standard's own, but in use.
    **dict.fromkeys(
        (
            "apartment", "bedroom", "condominium", "dwelling", "dwellingunit", "guestroom",
            "hotelroom", "livingroom", "nonpublic", "residence", "residential", "suite",
        ),
        PRIVATE_ROOM,
    ),
    "restroom": {**ROOM, "room": "toilets", "amenity": "toilets"},
    "foodservice": {**ROOM, "amenity": "food_court"},
    "firstaid": {**ROOM, "amenity": "first_aid"},
    "fitnessroom": {**ROOM, "leisure": "fitness_centre"},
    "library": {**ROOM, "amenity": "library"},
    "lounge": {**ROOM, "amenity": "lounge"},
    "mailroom": {**ROOM, "amenity": "letter_box"},
    "mothersroom": {**ROOM, "amenity": "baby_care"},
    "movietheater": {**ROOM, "amenity": "cinema"},
    "shower": {**ROOM, "amenity": "shower"},
    "smokingarea": {**OPEN_AREA, "amenity": "smoking_area"},
    "theater": {**ROOM, "amenity": "theatre"},
    **dict.fromkeys(("room", "unspecified"), ROOM),
    **{
        name: {**ROOM, "room": name}
        for name in (
            "auditorium", "classroom", "conferenceroom", "huddleroom", "kitchen", "laboratory",
            "office", "phoneroom", "privatelounge", "recreation", "serverroom", "storage",
        )
    },
}  # fmt: skip

OPENING_TAGS: Final[Mapping[str, Tags]] = {
    "pedestrian": {},
    "pedestrian.principal": {"entrance": "main"},
    "emergencyexit": {"entrance": "emergency"},
    "service": {"entrance": "service", "access": "private"},
    "automobile": {"access": "no"},
    "bicycle": {},
}

# Where OpenStreetMap has its own term; any other category is its own term.
AMENITY_TAGS: Final[Mapping[str, Tags]] = {
    "restroom": {"amenity": "toilets"},
    "babychanging": {"amenity": "baby_care"},
    "drinkingfountain": {"amenity": "drinking_water"},
    "wheelchairassist": {"amenity": "wheelchair_assistance"},
    "parkingbicycle": {"amenity": "bicycle_parking"},
    "defibrillator": {"emergency": "defibrillator"},
    "aed": {"emergency": "defibrillator"},
    "fireextinguisher": {"emergency": "fire_extinguisher"},
    "information": {"tourism": "information"},
    "swimmingpool": {"leisure": "swimming_pool"},
    "firstaid": {"amenity": "first_aid"},
    "vending": {"amenity": "vending_machine"},
    "mailbox": {"amenity": "post_box"},
}


def find_tags(table: Mapping[str, Tags], category: str) -> Tags | None:
    """Return the tags of a category or of its nearest parent category, or None.

    >>> find_tags(UNIT_TAGS, "restroom.female.wheelchair")
    {'indoor': 'room', 'room': 'toilets', 'amenity': 'toilets'}
    """
    while category and category not in table:
        category = category.rpartition(".")[0]
    return table.get(category)
