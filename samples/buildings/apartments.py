"""Apartment types and their interiors, in feet from the corridor to the facade."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from samples.buildings.plan import LocalFrame, Storey, close_ring

DEPTH_FEET = 28.0

Furnish = Callable[[Storey, LocalFrame, float], None]


@dataclass(frozen=True)
class ApartmentType:
    """An apartment type; `door_u_feet` maps its width to the door's position on the corridor."""

    name: str
    key: str
    fill: str
    door_u_feet: Callable[[float], float]
    label_shift_feet: float
    furnish: Furnish


def add_box(storey: Storey, frame: LocalFrame, u0: float, v0: float, u1: float, v1: float) -> None:
    storey.strokes["furniture"].append(close_ring(frame.rectangle(u0, v0, u1, v1)))


def add_partition(storey: Storey, frame: LocalFrame, *points: tuple[float, float]) -> None:
    storey.strokes["partitions"].append(frame.line(*points))


def add_bathroom(storey: Storey, frame: LocalFrame) -> None:
    add_partition(storey, frame, (0, 8.5), (8, 8.5), (8, 7.5))
    add_partition(storey, frame, (8, 4.8), (8, 0))
    add_box(storey, frame, 0.3, 0.3, 5.3, 2.9)
    add_box(storey, frame, 0.3, 3.6, 2.4, 5.2)
    add_box(storey, frame, 0.3, 6.2, 4.6, 8.2)


def add_bedroom(storey: Storey, frame: LocalFrame, width: float) -> None:
    add_partition(storey, frame, (0, 14.5), (width - 4, 14.5))
    add_partition(storey, frame, (width - 1, 14.5), (width, 14.5), (width, DEPTH_FEET))
    add_box(storey, frame, 0.4, 14.8, width - 4.4, 16.8)
    add_bed(storey, frame, 19.2)


def add_bed(storey: Storey, frame: LocalFrame, v: float) -> None:
    add_box(storey, frame, 0.5, v, 7.2, v + 5)
    add_box(storey, frame, 0.8, v + 0.4, 2.2, v + 2.2)
    add_box(storey, frame, 0.8, v + 2.8, 2.2, v + 4.6)


def add_sofa(storey: Storey, frame: LocalFrame, u: float, v: float) -> None:
    add_box(storey, frame, u, v, u + 2.8, v + 6.5)
    add_box(storey, frame, u, v, u + 0.9, v + 6.5)
    add_box(storey, frame, u + 4, v + 2, u + 6, v + 4.5)


def add_side_kitchen(storey: Storey, frame: LocalFrame) -> None:
    """Add a counter on the wall u = 0 and an island in front of it."""
    add_box(storey, frame, 0.2, 2, 2.2, 13)
    add_box(storey, frame, 0.5, 5, 1.9, 7)
    add_box(storey, frame, 5, 4.5, 7.4, 10.5)


def furnish_studio(storey: Storey, frame: LocalFrame, width: float) -> None:
    add_bathroom(storey, frame)
    add_bed(storey, frame, 19.5)
    kitchen = frame.mirror(width)
    add_box(storey, kitchen, 0.2, 2, 2.2, 12)
    add_sofa(storey, kitchen, 0.5, 19)


def furnish_one_bedroom(storey: Storey, frame: LocalFrame, width: float) -> None:
    add_bathroom(storey, frame)
    add_bedroom(storey, frame, min(12.0, width / 2))
    add_side_kitchen(storey, frame.mirror(width))
    add_sofa(storey, frame.mirror(width), 0.5, 18.5)


def furnish_two_bedroom(storey: Storey, frame: LocalFrame, width: float) -> None:
    far = frame.mirror(width)
    add_bathroom(storey, frame)
    add_bedroom(storey, frame, 11.5)
    add_bathroom(storey, far)
    add_bedroom(storey, far, 11.5)
    add_box(storey, frame, width / 2 + 1, 0.2, width - 8.4, 2.2)
    add_box(storey, frame, width / 2 + 1, 5.2, width - 10, 7.4)
    add_sofa(storey, frame, 12.2, 19)


def furnish_three_bedroom(storey: Storey, frame: LocalFrame, width: float) -> None:
    far = frame.mirror(width)
    add_bathroom(storey, frame)
    add_bedroom(storey, frame, 12)
    add_bedroom(storey, frame.shift(12), 11.5)
    add_bathroom(storey, far)
    add_bedroom(storey, far, 12)
    add_box(storey, frame, 11, 0.2, 24, 2.2)
    add_box(storey, frame, 13, 5.2, 22, 7.6)
    add_sofa(storey, frame, 24.2, 19)


STUDIO = ApartmentType("Studio", "studio", "#f4d58d", lambda _: 12.0, 1.5, furnish_studio)
ONE = ApartmentType("One bedroom", "one-bedroom", "#a8d5c2", lambda _: 12.0, 2, furnish_one_bedroom)
TWO = ApartmentType(
    "Two bedroom", "two-bedroom", "#a3c4e8", lambda width: width / 2 - 2, 0, furnish_two_bedroom
)
THREE = ApartmentType(
    "Three bedroom", "three-bedroom", "#c9b6e4", lambda _: 32.0, 0, furnish_three_bedroom
)

APARTMENT_TYPES = (STUDIO, ONE, TWO, THREE)


# Furniture of the shared rooms, drawn faintly; lengths in feet in the frame of the room.


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
