"""What a second walk finds of the elements that warnings are about."""

import math
from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple

from parsing.svg.report.boxes import NOTHING, Box

MAX_BOXES: Final = 100
"""Shapes of a group or a `use` that are looked at to find where it lies."""
DECIMALS: Final = 3


class FoundElement(NamedTuple):
    """An element, the box of it on the map, and the number of the Level around it, if any."""

    element: str
    id: str
    box: Box
    level: int | None


class Extent(NamedTuple):
    """Where an element lies on the map: its middle, its size, and the number of its Level."""

    x: float | None = None
    y: float | None = None
    width: float | None = None
    height: float | None = None
    level: int | None = None


class FoundElements:
    """What is drawn by one start tag: one element, the shapes of a group, or those of a `use`."""

    def __init__(self) -> None:
        self.level: int | None = None
        self.level_id = ""
        self._found: list[FoundElement] = []
        self._boxes = 0
        self._around = NOTHING

    @property
    def is_found(self) -> bool:
        """Whether anything of it is known."""
        return self._boxes > 0

    @property
    def is_full(self) -> bool:
        """Whether enough of its shapes are known."""
        return self._boxes >= MAX_BOXES

    def widen(self, box: Box) -> None:
        """Add the box of a shape in it."""
        self._boxes += 1
        left, top, right, bottom = self._around
        self._around = Box(
            min(left, box.left), min(top, box.top), max(right, box.right), max(bottom, box.bottom)
        )

    def add(self, found: FoundElement) -> None:
        """Add an element that it draws."""
        if not self.is_full:
            self._found.append(found)
            self.widen(found.box)

    def find_extent(self, element: str, id: str, number: int) -> Extent:
        """Return the extent of an element, the `number`th from 0 of those that a `use` draws.

        Returns that of all of them if there is none of this name.
        """
        same = [found for found in self._found if found.element == element]
        found = [found for found in same if id and found.id == id] or same
        if found:
            _, _, box, level = found[min(number, len(found) - 1)]
        else:
            box, level = self._around, self.level
        if not all(map(math.isfinite, box)):
            return Extent(level=level)
        x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
        width, height = box.right - box.left, box.bottom - box.top
        x, y, width, height = (round(length, DECIMALS) for length in (x, y, width, height))
        return Extent(x, y, width, height, level)


FindElements = Callable[[Collection[int]], Mapping[int, FoundElements]]
"""Finds elements by the numbers of their start tags."""
