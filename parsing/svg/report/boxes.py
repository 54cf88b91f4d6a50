"""Rectangles on the canvas."""

import math
from typing import Final, NamedTuple


class Box(NamedTuple):
    """A rectangle in the coordinates of the canvas."""

    left: float
    top: float
    right: float
    bottom: float

    def reaches_into(self, other: "Box") -> bool:
        """Return whether the boxes meet."""
        return (
            self.left <= other.right
            and other.left <= self.right
            and self.top <= other.bottom
            and other.top <= self.bottom
        )

    def is_within(self, other: "Box") -> bool:
        """Return whether all of this box is in the other, perhaps at its edge.

        >>> Box(0, 0, 1, 1).is_within(Box(0, 0, 1, 1)), Box(0, 0, 1, 2).is_within(Box(0, 0, 1, 1))
        (True, False)
        """
        return (
            other.left <= self.left
            and self.right <= other.right
            and other.top <= self.top
            and self.bottom <= other.bottom
        )

    @property
    def side(self) -> float:
        """The longer side."""
        return max(self.right - self.left, self.bottom - self.top)

    @property
    def has_area(self) -> bool:
        """Whether it is more than a line."""
        return self.left < self.right and self.top < self.bottom

    def describe(self) -> str:
        """Return the corners as warnings show them."""
        return f"reaches from {self.left:.5g},{self.top:.5g} to {self.right:.5g},{self.bottom:.5g}"


NOTHING: Final = Box(math.inf, math.inf, -math.inf, -math.inf)
"""The box of a shape that draws nothing."""
