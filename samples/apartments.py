"""Apartment types: how their interiors are drawn, in feet, from the corridor to the facade."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from samples.frame import Frame, closed
from samples.plan import Storey

DEPTH_FEET = 28.0

Furnish = Callable[[Storey, Frame, float], None]


@dataclass(frozen=True)
class Kind:
    """An apartment type; a function of its width says where along the corridor the door is."""

    name: str
    key: str
    fill: str
    door_u_feet: Callable[[float], float]
    label_shift_feet: float
    furnish: Furnish


def box(storey: Storey, frame: Frame, u0: float, v0: float, u1: float, v1: float) -> None:
    storey.strokes["furniture"].append(closed(frame.rectangle(u0, v0, u1, v1)))


def partition(storey: Storey, frame: Frame, *points: tuple[float, float]) -> None:
    storey.strokes["partitions"].append(frame.line(*points))


def bathroom(storey: Storey, frame: Frame) -> None:
    partition(storey, frame, (0, 8.5), (8, 8.5), (8, 7.5))
    partition(storey, frame, (8, 4.8), (8, 0))
    box(storey, frame, 0.3, 0.3, 5.3, 2.9)
    box(storey, frame, 0.3, 3.6, 2.4, 5.2)
    box(storey, frame, 0.3, 6.2, 4.6, 8.2)


def bedroom(storey: Storey, frame: Frame, width: float) -> None:
    partition(storey, frame, (0, 14.5), (width - 4, 14.5))
    partition(storey, frame, (width - 1, 14.5), (width, 14.5), (width, DEPTH_FEET))
    box(storey, frame, 0.4, 14.8, width - 4.4, 16.8)
    bed(storey, frame, 19.2)


def bed(storey: Storey, frame: Frame, v: float) -> None:
    box(storey, frame, 0.5, v, 7.2, v + 5)
    box(storey, frame, 0.8, v + 0.4, 2.2, v + 2.2)
    box(storey, frame, 0.8, v + 2.8, 2.2, v + 4.6)


def sofa(storey: Storey, frame: Frame, u: float, v: float) -> None:
    box(storey, frame, u, v, u + 2.8, v + 6.5)
    box(storey, frame, u, v, u + 0.9, v + 6.5)
    box(storey, frame, u + 4, v + 2, u + 6, v + 4.5)


def side_kitchen(storey: Storey, frame: Frame) -> None:
    """A counter on the wall u = 0 and an island before it."""
    box(storey, frame, 0.2, 2, 2.2, 13)
    box(storey, frame, 0.5, 5, 1.9, 7)
    box(storey, frame, 5, 4.5, 7.4, 10.5)


def furnish_studio(storey: Storey, frame: Frame, width: float) -> None:
    bathroom(storey, frame)
    bed(storey, frame, 19.5)
    kitchen = frame.mirrored(width)
    box(storey, kitchen, 0.2, 2, 2.2, 12)
    sofa(storey, kitchen, 0.5, 19)


def furnish_one_bedroom(storey: Storey, frame: Frame, width: float) -> None:
    bathroom(storey, frame)
    bedroom(storey, frame, min(12.0, width / 2))
    side_kitchen(storey, frame.mirrored(width))
    sofa(storey, frame.mirrored(width), 0.5, 18.5)


def furnish_two_bedroom(storey: Storey, frame: Frame, width: float) -> None:
    far = frame.mirrored(width)
    bathroom(storey, frame)
    bedroom(storey, frame, 11.5)
    bathroom(storey, far)
    bedroom(storey, far, 11.5)
    box(storey, frame, width / 2 + 1, 0.2, width - 8.4, 2.2)
    box(storey, frame, width / 2 + 1, 5.2, width - 10, 7.4)
    sofa(storey, frame, 12.2, 19)


def furnish_three_bedroom(storey: Storey, frame: Frame, width: float) -> None:
    far = frame.mirrored(width)
    bathroom(storey, frame)
    bedroom(storey, frame, 12)
    bedroom(storey, frame.shifted(12), 11.5)
    bathroom(storey, far)
    bedroom(storey, far, 12)
    box(storey, frame, 11, 0.2, 24, 2.2)
    box(storey, frame, 13, 5.2, 22, 7.6)
    sofa(storey, frame, 24.2, 19)


STUDIO = Kind("Studio", "studio", "#f4d58d", lambda width: 12.0, 1.5, furnish_studio)
ONE = Kind("One bedroom", "one-bedroom", "#a8d5c2", lambda width: 12.0, 2, furnish_one_bedroom)
TWO = Kind(
    "Two bedroom", "two-bedroom", "#a3c4e8", lambda width: width / 2 - 2, 0, furnish_two_bedroom
)
THREE = Kind(
    "Three bedroom", "three-bedroom", "#c9b6e4", lambda width: 32.0, 0, furnish_three_bedroom
)

KINDS = (STUDIO, ONE, TWO, THREE)
