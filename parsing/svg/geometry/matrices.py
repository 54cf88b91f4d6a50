"""Parse the `transform` attribute into a matrix (CSS Transforms 1, section 8)."""

import math
import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from parsing.drawing import Coordinate
from parsing.errors import InvalidMarkupError
from parsing.svg.geometry.lengths import MAX_MAGNITUDE, NUMBER_PATTERN, WHITESPACE, check_magnitude

TRANSFORM_FUNCTION: Final = re.compile(r"[\s,]*([a-zA-Z]+)\s*\(([^()]*)\)")
ARGUMENT_PATTERN: Final = re.compile(NUMBER_PATTERN)


class AffineTransform(NamedTuple):
    """The matrix that maps (x, y) to (a x + c y + e, b x + d y + f)."""

    a: float = 1
    b: float = 0
    c: float = 0
    d: float = 1
    e: float = 0
    f: float = 0

    def apply(self, point: Coordinate) -> Coordinate:
        """Transform a point."""
        x, y = point
        return self.a * x + self.c * y + self.e, self.b * x + self.d * y + self.f

    def multiply(self, inner: "AffineTransform") -> "AffineTransform":
        """Return the product that applies `inner` first."""
        a, b = self.apply(inner[:2])
        c, d = self.apply(inner[2:4])
        e, f = self.apply(inner[4:])
        return AffineTransform(a - self.e, b - self.f, c - self.e, d - self.f, e, f)

    @property
    def max_scale(self) -> float:
        """The largest factor by which a length grows: the larger singular value."""
        squares = self.a**2 + self.b**2 + self.c**2 + self.d**2
        area = self.a * self.d - self.b * self.c
        return math.sqrt((squares + math.sqrt(max(squares**2 - 4 * area**2, 0))) / 2)


def _translate(x: float, y: float = 0) -> AffineTransform:
    return AffineTransform(e=x, f=y)


def _scale(x: float, y: float | None = None) -> AffineTransform:
    return AffineTransform(a=x, d=x if y is None else y)


def _rotate(degrees: float, x: float = 0, y: float = 0) -> AffineTransform:
    sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    turn = AffineTransform(cosine, sine, -sine, cosine)
    return _translate(x, y).multiply(turn).multiply(_translate(-x, -y))


def _skew_x(degrees: float) -> AffineTransform:
    return AffineTransform(c=math.tan(math.radians(degrees)))


def _skew_y(degrees: float) -> AffineTransform:
    return AffineTransform(b=math.tan(math.radians(degrees)))


TRANSFORM_FUNCTIONS: Final[dict[str, tuple[Callable[..., AffineTransform], Sequence[int]]]] = {
    "matrix": (AffineTransform, (6,)),
    "translate": (_translate, (1, 2)),
    "scale": (_scale, (1, 2)),
    "rotate": (_rotate, (1, 3)),
    "skewX": (_skew_x, (1,)),
    "skewY": (_skew_y, (1,)),
}


def parse_transform(text: str) -> AffineTransform:
    """Return the product of a transform list. Raises `InvalidMarkupError`.

    >>> parse_transform("translate(10 0) scale(2)").apply((1, 3))
    (12.0, 6.0)
    """
    matrix, position = AffineTransform(), 0
    while text[position:].strip(WHITESPACE + ","):
        match = TRANSFORM_FUNCTION.match(text, position)
        make, counts = TRANSFORM_FUNCTIONS.get(match[1] if match else "", (AffineTransform, ()))
        arguments = [
            check_magnitude(float(number), f"a number of transform {text!r}", MAX_MAGNITUDE)
            for number in ARGUMENT_PATTERN.findall(match[2] if match else "")
        ]
        if match is None or len(arguments) not in counts:
            raise InvalidMarkupError(
                f"transform is {text[:80]!r}; expected a list of {', '.join(TRANSFORM_FUNCTIONS)}"
            )
        matrix = matrix.multiply(make(*arguments))
        for number in matrix:
            check_magnitude(number, f"a number of transform {text!r}", MAX_MAGNITUDE)
        position = match.end()
    return matrix
