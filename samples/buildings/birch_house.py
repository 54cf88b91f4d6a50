"""Birch House: a walk-up of two storeys with three apartments each; all lengths in feet."""

from samples.buildings.apartments import ONE, TWO
from samples.buildings.plan import (
    EAST,
    NORTH,
    SITE,
    SOUTH,
    Building,
    DrawnSpace,
    LocalFrame,
    PlanPosition,
    Storey,
)
from samples.buildings.rows import (
    CORRIDOR_FILL,
    ApartmentSlot,
    RoomRow,
    RoomSlot,
    add_stair,
    place_slots,
)

NORTH_ROW = RoomRow(LocalFrame(PlanPosition(11, 39), EAST, NORTH), "street-view")
SOUTH_ROW = RoomRow(LocalFrame(PlanPosition(11, 46), EAST, SOUTH), "park-view")


def build_birch_house() -> Building:
    storeys = (build_storey(1, "Ground floor"), build_storey(2, "Floor 2"))
    return Building("birch-house", "Birch House", 83.5, 90, 45.5209, -122.6587, storeys)


def build_storey(number: int, name: str) -> Storey:
    storey = Storey(number, name, f"{name}, Birch House")
    corridor = SITE.rectangle(11, 39.5, 72.5, 45.5)
    tags = {"indoor": "corridor", "name": "Corridor"}
    anchor = PlanPosition(41.5, 42.5)
    storey.corridors.append(DrawnSpace("Corridor", corridor, anchor, CORRIDOR_FILL, tags))
    place_slots(
        storey,
        NORTH_ROW,
        [ApartmentSlot(1, TWO, 36, bay=True), ApartmentSlot(2, ONE, 25, balcony=True)],
    )
    laundry = RoomSlot("Laundry room", 15, {"amenity": "laundry"})
    place_slots(storey, SOUTH_ROW, [laundry, ApartmentSlot(3, TWO, 36, tail_feet=10)])
    add_stair(storey, SOUTH_ROW.frame.shift(52), "stair", "Stair")
    return storey
