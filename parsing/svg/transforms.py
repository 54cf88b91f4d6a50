"""Parse transforms of SVG and CSS, and convert those of CSS to the attribute of SVG."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from parsing.drawing import Coordinate
from parsing.errors import DocumentRejectedError, InvalidMarkupError
from parsing.svg.lengths import (
    DEGREES_PER_UNIT,
    MAX_MAGNITUDE,
    NUMBER_PATTERN,
    WHITESPACE,
    FontSizes,
    Viewport,
    check_magnitude,
    format_number,
    parse_length,
)

# Parse the `transform` attribute into a matrix (CSS Transforms 1, section 8).

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
        """Return the largest factor by which a length grows: the larger singular value."""
        squares = self.a**2 + self.b**2 + self.c**2 + self.d**2
        area = self.a * self.d - self.b * self.c
        return math.sqrt((squares + math.sqrt(max(squares**2 - 4 * area**2, 0))) / 2)


def _rotation_matrix(degrees: float, x: float = 0, y: float = 0) -> AffineTransform:
    sine, cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
    turn = AffineTransform(cosine, sine, -sine, cosine)
    return AffineTransform(e=x, f=y).multiply(turn).multiply(AffineTransform(e=-x, f=-y))


TRANSFORM_FUNCTIONS: Final[dict[str, tuple[Callable[..., AffineTransform], Sequence[int]]]] = {
    "matrix": (AffineTransform, (6,)),
    "translate": (lambda x, y=0: AffineTransform(e=x, f=y), (1, 2)),
    "scale": (lambda x, y=None: AffineTransform(a=x, d=x if y is None else y), (1, 2)),
    "rotate": (_rotation_matrix, (1, 3)),
    "skewX": (lambda degrees: AffineTransform(c=math.tan(math.radians(degrees))), (1,)),
    "skewY": (lambda degrees: AffineTransform(b=math.tan(math.radians(degrees))), (1,)),
}


@lru_cache(maxsize=1_000)  # shapes of a group share its transform
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


# Convert CSS transforms to the syntax of the `transform` attribute, and join transform lists. CSS
# Transforms 1, section 8.

MAX_TRANSFORM_CHARS: Final = 10_000
FUNCTION: Final = re.compile(r"\s*([a-z0-9]+)\(([^()]*)\)\s*", re.IGNORECASE)
ARGUMENT: Final = re.compile(rf"\s*((?>{NUMBER_PATTERN}))(%|[a-zA-Z]*)\s*")
# These are not applied, and reported.
IN_SPACE: Final = re.compile(r"[a-z]+3d\(|(?:rotate|scale|translate)z\(|rotate[xy]\(|perspective\(")
INITIAL_FONT: Final = FontSizes()
CANVAS: Final = INITIAL_FONT.viewport


FlatFunction = tuple[str, Sequence[float]]
"""A function of the `transform` attribute with its numbers."""


class CssFunction(NamedTuple):
    """A function of CSS: the kinds of its arguments, how many it needs, and its form in SVG.

    Kinds are x and y (lengths of which 100 % are the width or height), n (a number), s (a number or
    percentage) and a (an angle).
    """

    kinds: str
    least: int
    flatten: Callable[..., FlatFunction]


def _scale(x: float, y: float = 1) -> FlatFunction:
    return "scale", (x, y)


def _translate(x: float, y: float = 0) -> FlatFunction:
    return "translate", (x, y)


def _skew(x: float, y: float = 0) -> FlatFunction:
    if not y:
        return "skewX", (x,)
    tangents = (math.tan(math.radians(angle)) for angle in (y, x))
    return "matrix", (1, *tangents, 1, 0, 0)


FUNCTIONS: Final[Mapping[str, CssFunction]] = {
    "matrix": CssFunction("nnnnnn", 6, lambda *m: ("matrix", m)),
    "rotate": CssFunction("a", 1, lambda degrees: ("rotate", (degrees,))),
    "scale": CssFunction("ss", 1, lambda *xy: ("scale", xy)),
    "scalex": CssFunction("s", 1, _scale),
    "scaley": CssFunction("s", 1, lambda y: _scale(1, y)),
    "skew": CssFunction("aa", 1, _skew),
    "skewx": CssFunction("a", 1, lambda x: ("skewX", (x,))),
    "skewy": CssFunction("a", 1, lambda y: ("skewY", (y,))),
    "translate": CssFunction("xy", 1, _translate),
    "translatex": CssFunction("x", 1, _translate),
    "translatey": CssFunction("y", 1, lambda y: _translate(0, y)),
}


def is_css_transform(text: str) -> bool:
    """Return whether a text is a transform of CSS with all of its numbers, or one in space.

    >>> is_css_transform("rotateX(30deg)"), is_css_transform("rotate(30)")
    (True, False)
    """
    text = text.lower()
    is_read = text == "none" or _read_functions(text, INITIAL_FONT, CANVAS) is not None
    return is_read or IN_SPACE.search(text) is not None


@lru_cache(maxsize=10_000)
def css_transform_to_attribute(
    text: str, font: FontSizes = INITIAL_FONT, box: Viewport = CANVAS
) -> str | None:
    """Convert a CSS transform to the syntax of the attribute, "" for `none`.

    `box` is what percentages refer to. Returns None for a transform in error, and for one in three
    dimensions.

    >>> css_transform_to_attribute("translateX(2px) rotate(.5turn)")
    'translate(2,0) rotate(180)'
    """
    if text.lower() == "none":
        return ""
    functions = _read_functions(text, font, box)
    if functions is None:
        return None
    texts = []
    for function, numbers in functions:
        name, flat = function.flatten(*numbers)
        if not all(map(math.isfinite, flat)):
            return None
        texts.append(f"{name}({','.join(map(format_number, flat))})")
    return " ".join(texts)


def concatenate_transforms(outer: str, inner: str) -> str:
    """Join two transform lists: the matrix of the result is the product of theirs.

    Raises `DocumentRejectedError` if nested groups add up to an overlong list.
    """
    if not (outer and inner):
        return outer or inner
    if len(outer) + len(inner) > MAX_TRANSFORM_CHARS:
        raise DocumentRejectedError(
            f"nested transforms are longer than {MAX_TRANSFORM_CHARS:,} characters together"
        )
    return f"{outer} {inner}"


def _read_functions(
    text: str, font: FontSizes, box: Viewport
) -> list[tuple[CssFunction, list[float]]] | None:
    """Return the functions of a CSS transform with their numbers, or None for one in error."""
    functions: list[tuple[CssFunction, list[float]]] = []
    units = _units_by_kind(font, box)
    position = 0
    while position < len(text):
        match = FUNCTION.match(text, position)
        function = FUNCTIONS.get(match[1].lower()) if match else None
        numbers = _read_arguments(match[2], function, units) if match and function else None
        if match is None or function is None or numbers is None:
            return None
        functions.append((function, numbers))
        position = match.end()
    return functions or None


def _read_arguments(
    text: str, function: CssFunction, units: Mapping[str, Mapping[str, float]]
) -> list[float] | None:
    parts = text.split(",")
    if not function.least <= len(parts) <= len(function.kinds):
        return None
    numbers: list[float] = []
    for kind, part in zip(function.kinds, parts, strict=False):
        match = ARGUMENT.fullmatch(part)
        number, unit = (float(match[1]), match[2].lower()) if match else (0.0, "none")
        if unit not in units[kind] and (unit or number):
            return None
        numbers.append(number * units[kind].get(unit, 1))
    return numbers


@lru_cache
def _units_by_kind(font: FontSizes, box: Viewport) -> Mapping[str, Mapping[str, float]]:
    """Return what one of each unit stands for. Zero may do without a unit everywhere."""
    lengths = {unit: length for unit, length in font.px_per_unit.items() if unit}
    return {
        "x": {**lengths, "%": box.width / 100},
        "y": {**lengths, "%": box.height / 100},
        "n": {"": 1.0},
        "s": {"": 1.0, "%": 0.01},
        "a": DEGREES_PER_UNIT,
    }


# Resolve `transform-origin` and the single transforms `translate`, `rotate` and `scale`. CSS
# Transforms 1, section 6, and CSS Transforms 2, section 5.

SHARE_BY_KEYWORD: Final = {
    "left": "0%",
    "top": "0%",
    "center": "50%",
    "right": "100%",
    "bottom": "100%",
}
HORIZONTAL: Final = frozenset({"left", "right"})
VERTICAL: Final = frozenset({"top", "bottom"})
CSS_TRANSFORMS: Final = ("translate", "rotate", "scale", "transform")
"""Properties in the order in which they apply."""
TRANSFORM_PROPERTIES: Final = frozenset({*CSS_TRANSFORMS, "transform-origin"})
FILL_BOXES: Final = frozenset({"fill-box", "content-box", "stroke-box", "border-box"})
SPACES: Final = re.compile(rf"[{WHITESPACE}]+")


class Rectangle(NamedTuple):
    """A box in user units: what lengths of a transform refer to, or the value of a `viewBox`."""

    x: float
    y: float
    width: float
    height: float


def resolve_transform(
    transform: str, controls: Mapping[str, str], box: Rectangle, font: FontSizes
) -> str:
    """Return the transform of an element that also sets these properties.

    `transform` has the syntax of the attribute; that of a style sheet is among the properties.

    >>> box = Rectangle(0, 0, 8, 6)
    >>> resolve_transform("rotate(9)", {"transform-origin": "center"}, box, FontSizes())
    'translate(4 3) rotate(9) translate(-4 -3)'
    """
    size = Viewport(box.width, box.height)
    parts = [
        css_transform_to_attribute(to_css_transform(name, controls[name]), font, size)
        for name in CSS_TRANSFORMS
        if name in controls
    ]
    text = " ".join(filter(None, [*parts, transform]))
    if not text or "transform-origin" not in controls:
        return text
    origin = _parse_origin(controls["transform-origin"], box, font)
    if origin is None or origin == (0, 0):
        return text
    x, y = origin
    there = f"{format_number(x)} {format_number(y)}"
    return f"translate({there}) {text} translate({format_number(0 - x)} {format_number(0 - y)})"


def to_css_transform(name: str, value: str) -> str:
    """Return the transform list that a property stands for.

    >>> to_css_transform("rotate", "30deg"), to_css_transform("scale", "2 3")
    ('rotate(30deg)', 'scale(2,3)')
    """
    if name == "transform" or value.lower() == "none":
        return value
    if "," in value:
        return ""  # which is no transform
    words = SPACES.split(value)
    is_in_space = len(words) > (1 if name == "rotate" else 2)
    return f"{name}{'3d' * is_in_space}({','.join(words)})"


def _parse_origin(text: str, box: Rectangle, font: FontSizes) -> tuple[float, float] | None:
    """Return the point that a `transform-origin` stands for, or None for one in error."""
    parts = SPACES.split(text.strip(WHITESPACE).lower())[:2]
    if parts[0] in VERTICAL or (len(parts) == 2 and parts[1] in HORIZONTAL):
        parts = [*parts[1:], parts[0]] if len(parts) == 2 else ["center", parts[0]]
    if len(parts) == 1:
        parts.append("center")
    x = parse_length(SHARE_BY_KEYWORD.get(parts[0], parts[0]), box.width, font.px_per_unit)
    y = parse_length(SHARE_BY_KEYWORD.get(parts[1], parts[1]), box.height, font.px_per_unit)
    return None if x is None or y is None else (box.x + x, box.y + y)
