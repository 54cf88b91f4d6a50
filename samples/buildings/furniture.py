"""Furniture of the shared rooms, drawn faintly; lengths in feet in the frame of the room."""

from __future__ import annotations

from typing import NamedTuple

from samples.buildings.apartments import add_box
from samples.buildings.frame import LocalFrame
from samples.buildings.plan import Storey


class FurnitureGrid(NamedTuple):
    """Equal boxes in a grid: near corner of the first, size, counts and spacing."""

    u: float
    v: float
    width: float
    depth: float
    columns: int = 1
    rows: int = 1
    step_u: float = 0.0
    step_v: float = 0.0


SOFAS = (
    FurnitureGrid(2, 13, 7, 2.8, 2, 1, 12),
    FurnitureGrid(2, 17.5, 7, 1.2, 2, 1, 12),
    FurnitureGrid(3, 3, 3, 3, 3, 1, 7.2),
)
DESKS = (FurnitureGrid(2, 1.5, 5, 2.5, 3, 1, 7), FurnitureGrid(2, 14, 5, 2.5, 3, 1, 7))

FURNITURE: dict[str, tuple[FurnitureGrid, ...]] = {
    "Fitness centre": (
        FurnitureGrid(3, 20, 3, 6.5, 8, 1, 5.2),
        FurnitureGrid(3, 4, 6, 2.5, 3, 2, 8.5, 4.5),
    ),
    "Package lockers": (
        FurnitureGrid(0.3, 5, 2.2, 2.2, 1, 10, 0, 2.2),
        FurnitureGrid(13.5, 5, 2.2, 2.2, 1, 10, 0, 2.2),
        FurnitureGrid(2.9, 25.5, 2.1, 2.2, 5, 1, 2.1),
    ),
    "Mail room": (
        FurnitureGrid(0.3, 4, 1.2, 1.2, 1, 18, 0, 1.2),
        FurnitureGrid(14.5, 4, 1.2, 1.2, 1, 18, 0, 1.2),
        FurnitureGrid(5, 18, 6, 2.5),
    ),
    "Leasing office": (
        FurnitureGrid(2, 19, 6, 2.6, 2, 1, 10),
        FurnitureGrid(4, 22.2, 2, 2, 2, 1, 10),
    ),
    "Meeting room": (
        FurnitureGrid(5.2, 6, 5, 16),
        FurnitureGrid(3, 7, 1.6, 1.6, 1, 5, 0, 3.2),
        FurnitureGrid(10.8, 7, 1.6, 1.6, 1, 5, 0, 3.2),
    ),
    "Co-working": (
        FurnitureGrid(16, 4, 6, 3, 3, 1, 8.8),
        FurnitureGrid(3, 20, 6, 3, 4, 1, 10),
        FurnitureGrid(5, 23.6, 2, 2, 4, 1, 10),
    ),
    "Bike room": (
        FurnitureGrid(1.5, 21, 1.4, 6, 14, 1, 2.4),
        FurnitureGrid(1.5, 2, 1.4, 6, 5, 1, 2.4),
        FurnitureGrid(23.2, 2, 1.4, 6, 5, 1, 2.4),
    ),
    "Pet spa": (
        FurnitureGrid(2, 23.5, 5, 3, 3, 1, 8),
        FurnitureGrid(0.5, 6, 2.2, 2.2, 1, 6, 0, 2.4),
    ),
    "Playroom": (FurnitureGrid(4, 19, 5, 5, 4, 1, 9), FurnitureGrid(3, 3, 3, 3, 3, 1, 4.5)),
    "Game room": (
        FurnitureGrid(3, 18, 9, 5),
        FurnitureGrid(16, 18, 5, 5),
        FurnitureGrid(2, 4, 5, 2.5),
    ),
    "Club room": (FurnitureGrid(3, 19, 8, 2.8, 2, 1, 16), FurnitureGrid(4, 23.2, 6, 2, 2, 1, 16)),
    "Club kitchen": (
        FurnitureGrid(0.3, 5, 2.2, 18),
        FurnitureGrid(7, 17, 10, 3),
        FurnitureGrid(7, 21, 1.6, 1.6, 4, 1, 2.7),
    ),
    "Resident lounge": (
        FurnitureGrid(2, 17, 7, 2.8, 2, 1, 12.5),
        FurnitureGrid(3, 21, 5, 2, 2, 1, 12.5),
    ),
    "Laundry": (FurnitureGrid(1, 11.2, 2.5, 2.5, 10, 1, 2.6),),
    "Laundry room": (FurnitureGrid(1, 22, 2.5, 2.5, 5, 1, 2.6),),
    "Storage": (
        FurnitureGrid(0.3, 6, 4, 4.2, 1, 5, 0, 4.3),
        FurnitureGrid(9.2, 6, 4, 4.2, 1, 5, 0, 4.3),
    ),
    "Recycling": (
        FurnitureGrid(1, 24, 2.5, 3, 4, 1, 3),
        FurnitureGrid(0.5, 8, 2.5, 2.5, 1, 5, 0, 3),
    ),
    "Maintenance": (FurnitureGrid(2, 11, 8, 2.6, 3, 1, 8.2),),
    "Screening room": (FurnitureGrid(3, 7.4, 2, 2, 8, 2, 2.8, 3), FurnitureGrid(4, 13.4, 20, 0.3)),
    "Music room": (FurnitureGrid(3, 9, 5, 3), FurnitureGrid(12, 9, 2, 2, 4, 1, 3)),
    "Yoga studio": (FurnitureGrid(2, 7.6, 2.2, 5.6, 8, 1, 3.1),),
    "Sauna": (
        FurnitureGrid(0.3, 4, 2.4, 9.7),
        FurnitureGrid(25.3, 4, 2.4, 9.7),
        FurnitureGrid(3, 11.3, 22, 2.4),
    ),
    "Library": (FurnitureGrid(0.3, 1, 1.4, 17.5), FurnitureGrid(21.3, 1, 1.4, 17.5), *SOFAS[:2]),
    "Study lounge": DESKS,
    "Craft studio": DESKS,
    "Sky lounge": SOFAS,
    "Showers": (FurnitureGrid(0.3, 0.3, 3, 3, 3, 1, 3),),
    "Roof deck": (FurnitureGrid(14, 4, 5, 3, 3, 1, 8), FurnitureGrid(6, 19, 3, 3, 4, 1, 8)),
}


def furnish_room(storey: Storey, frame: LocalFrame, name: str) -> None:
    for item in FURNITURE.get(name, ()):
        for column in range(item.columns):
            for row in range(item.rows):
                u, v = item.u + column * item.step_u, item.v + row * item.step_v
                add_box(storey, frame, u, v, u + item.width, v + item.depth)
