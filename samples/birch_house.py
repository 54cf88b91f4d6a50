"""Birch House: a walk-up of two storeys with three apartments each; all lengths in feet."""

from __future__ import annotations

from samples.apartments import ONE, TWO
from samples.frame import EAST, NORTH, SITE, SOUTH, Frame, Point
from samples.plan import Building, Space, Storey
from samples.rows import CORRIDOR_FILL, Flat, Room, Row, add_stair, lay_out

NORTH_ROW = Row(Frame(Point(11, 39), EAST, NORTH), "street-view")
SOUTH_ROW = Row(Frame(Point(11, 46), EAST, SOUTH), "park-view")


def build_birch_house() -> Building:
    storeys = (build_storey(1, "Ground floor"), build_storey(2, "Floor 2"))
    return Building("birch-house", "Birch House", 83.5, 90, 45.5209, -122.6587, storeys)


def build_storey(number: int, name: str) -> Storey:
    storey = Storey(number, name, f"{name}, Birch House")
    corridor = SITE.rectangle(11, 39.5, 72.5, 45.5)
    tags = {"indoor": "corridor", "name": "Corridor"}
    anchor = Point(41.5, 42.5)
    storey.corridors.append(Space("Corridor", corridor, anchor, CORRIDOR_FILL, tags))
    lay_out(storey, NORTH_ROW, [Flat(1, TWO, 36, bay=True), Flat(2, ONE, 25, balcony=True)])
    laundry = Room("Laundry room", 15, {"amenity": "laundry"})
    lay_out(storey, SOUTH_ROW, [laundry, Flat(3, TWO, 36, tail_feet=10)])
    add_stair(storey, SOUTH_ROW.frame.shifted(52), "stair", "Stair")
    return storey
