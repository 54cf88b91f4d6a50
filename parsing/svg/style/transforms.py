"""Convert CSS transforms to the syntax of the `transform` attribute, and join transform lists.

CSS Transforms 1, section 8, and the flat part of CSS Transforms 2, section 12.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from parsing.errors import DocumentRejectedError
from parsing.svg.geometry.lengths import NUMBER_PATTERN, Viewport, format_number
from parsing.svg.style.fonts import FontSizes

MAX_TRANSFORM_CHARS: Final = 10_000
DEGREES_PER_UNIT: Final = {"deg": 1.0, "grad": 0.9, "rad": 180 / math.pi, "turn": 360.0}
FUNCTION: Final = re.compile(r"\s*([a-z0-9]+)\(([^()]*)\)\s*", re.IGNORECASE)
ARGUMENT: Final = re.compile(rf"\s*((?>{NUMBER_PATTERN}))(%|[a-zA-Z]*)\s*")
IDENTITY_3D: Final = (0, 0), (0, 0), (0, 0, 1, 0), (0, 1)
INITIAL_FONT: Final = FontSizes()
CANVAS: Final = INITIAL_FONT.viewport


class FlatFunction(NamedTuple):
    """A function of the `transform` attribute with its numbers."""

    name: str
    numbers: Sequence[float]

    def format(self) -> str:
        """Return the function as text."""
        return f"{self.name}({','.join(map(format_number, self.numbers))})"


class CssFunction(NamedTuple):
    """A function of CSS: the kinds of its arguments, how many it needs, and its flat form.

    Kinds are x and y (lengths of which 100 % are the width or height), z (a length), n (a number),
    s (a number or percentage) and a (an angle). `flatten` returns None for what is not flat.
    """

    kinds: str
    least: int
    flatten: Callable[..., FlatFunction | None]


def _scale(x: float, y: float = 1, z: float = 1) -> FlatFunction:
    return FlatFunction("scale", (x, y))


def _scale_alike(x: float, *y: float) -> FlatFunction:
    return FlatFunction("scale", (x, *y))


def _translate(x: float, y: float = 0, z: float = 0) -> FlatFunction:
    return FlatFunction("translate", (x, y))


def _rotate(degrees: float) -> FlatFunction:
    return FlatFunction("rotate", (degrees,))


def _rotate_around(x: float, y: float, z: float, degrees: float) -> FlatFunction | None:
    return _rotate(degrees if z > 0 else -degrees) if z and not (x or y) else None


def _skew(x: float, y: float = 0) -> FlatFunction:
    if not y:
        return FlatFunction("skewX", (x,))
    tangents = (math.tan(math.radians(angle)) for angle in (y, x))
    return FlatFunction("matrix", (1, *tangents, 1, 0, 0))


def _flatten_matrix(*m: float) -> FlatFunction | None:
    is_flat = (m[2:4], m[6:8], m[8:12], m[14:]) == IDENTITY_3D
    return FlatFunction("matrix", (*m[:2], *m[4:6], *m[12:14])) if is_flat else None


def _no_flat_form(*_: float) -> None:
    return None


FUNCTIONS: Final[Mapping[str, CssFunction]] = {
    "matrix": CssFunction("nnnnnn", 6, lambda *m: FlatFunction("matrix", m)),
    "matrix3d": CssFunction("n" * 16, 16, _flatten_matrix),
    "perspective": CssFunction("z", 1, _no_flat_form),
    "rotate": CssFunction("a", 1, _rotate),
    "rotate3d": CssFunction("nnna", 4, _rotate_around),
    "rotatex": CssFunction("a", 1, _no_flat_form),
    "rotatey": CssFunction("a", 1, _no_flat_form),
    "rotatez": CssFunction("a", 1, _rotate),
    "scale": CssFunction("ss", 1, _scale_alike),
    "scale3d": CssFunction("sss", 3, _scale),
    "scalex": CssFunction("s", 1, _scale),
    "scaley": CssFunction("s", 1, lambda y: _scale(1, y)),
    "scalez": CssFunction("s", 1, lambda z: _scale(1, 1)),
    "skew": CssFunction("aa", 1, _skew),
    "skewx": CssFunction("a", 1, lambda x: FlatFunction("skewX", (x,))),
    "skewy": CssFunction("a", 1, lambda y: FlatFunction("skewY", (y,))),
    "translate": CssFunction("xy", 1, _translate),
    "translate3d": CssFunction("xyz", 3, _translate),
    "translatex": CssFunction("x", 1, _translate),
    "translatey": CssFunction("y", 1, lambda y: _translate(0, y)),
    "translatez": CssFunction("z", 1, lambda z: _translate(0)),
}


def is_css_transform(text: str) -> bool:
    """Return whether a text is a transform of CSS, flat or not, with all of its numbers.

    >>> is_css_transform("rotateX(30deg)"), is_css_transform("rotate(30)")
    (True, False)
    """
    return text.lower() == "none" or _read_functions(text, INITIAL_FONT, CANVAS) is not None


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
        flat = function.flatten(*numbers)
        if flat is None or not all(map(math.isfinite, flat.numbers)):
            return None
        texts.append(flat.format())
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
        "z": lengths,
        "n": {"": 1.0},
        "s": {"": 1.0, "%": 0.01},
        "a": DEGREES_PER_UNIT,
    }
