"""Apartment types and their interiors, in feet from the corridor to the facade."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from samples.buildings.frame import LocalFrame, close_ring
from samples.buildings.plan import Storey

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
