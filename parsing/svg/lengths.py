"""Parse and format numbers and lengths of SVG and CSS, and the units that they are in."""

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from parsing.errors import InvalidMarkupError
from parsing.limits import check_text_length

Number = int | float

# CSS Values and Units 4, section 6.2.
PX_PER_UNIT: Final = {
    "": 1.0,
    "px": 1.0,
    "pt": 96 / 72,
    "pc": 16.0,
    "in": 96.0,
    "cm": 96 / 2.54,
    "mm": 96 / 25.4,
    "q": 96 / 101.6,
}
DEGREES_PER_UNIT: Final = {"deg": 1.0, "grad": 0.9, "rad": 180 / math.pi, "turn": 360.0}
NUMBER_PATTERN: Final = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
WHITESPACE: Final = " \t\r\n"
MAX_MAGNITUDE: Final = 10**9
"""Largest number in path data, a transform or a shape that is traced."""
# The atomic group keeps the match linear for a long run of digits.
LENGTH_PATTERN: Final = re.compile(rf"((?>{NUMBER_PATTERN}))[{WHITESPACE}]*(%|[a-zA-Z]*)")
HORIZONTAL_ATTRIBUTES: Final = frozenset({"x", "width", "x1", "x2", "cx", "rx"})
MAX_CACHED_LENGTHS: Final = 100_000
VERTICAL_ATTRIBUTES: Final = frozenset({"y", "height", "y1", "y2", "cy", "ry"})


class Viewport(NamedTuple):
    """The size that percentages refer to, in user units (SVG 2, section 8.9)."""

    width: float
    height: float

    def hundred_percent(self, name: str) -> float:
        """Return 100 % of the attribute of this name, in user units."""
        if name in HORIZONTAL_ATTRIBUTES:
            return self.width
        if name in VERTICAL_ATTRIBUTES:
            return self.height
        return float(((self.width**2 + self.height**2) / 2) ** 0.5)


def parse_length(
    text: str, hundred_percent: float, px_per_unit: Mapping[str, float] = PX_PER_UNIT
) -> float | None:
    """Parse a length into px, or return None for text that is no length.

    By default only absolute units are known.

    >>> parse_length("25.4mm", hundred_percent=200.0)
    96.0
    >>> parse_length("50%", hundred_percent=200.0)
    100.0
    """
    match = LENGTH_PATTERN.fullmatch(check_text_length(text.strip(WHITESPACE), "a length", 100))
    if match is None:
        return None
    number, unit = float(match[1]), match[2].lower()
    if unit == "%":
        return number * hundred_percent / 100
    return number * px_per_unit[unit] if unit in px_per_unit else None


def parse_opacity(text: str) -> float:
    """Parse a number or percentage and clamp it to 0..1; anything else counts as 1."""
    opacity = parse_length(text, 1.0)
    return 1.0 if opacity is None else min(max(opacity, 0.0), 1.0)


def check_magnitude(number: float, name: str, max_magnitude: int) -> float:
    """Return the number. Raises `InvalidMarkupError` if its absolute value is too large."""
    if not -max_magnitude <= number <= max_magnitude:
        raise InvalidMarkupError(
            f"{name[:80]} is too large a number; at most {max_magnitude:,} is read"
        )
    return number


def int_if_whole(number: float) -> Number:
    """Return an integer if the number is one: 10.0 becomes 10."""
    return int(number) if number == int(number) else number


def parse_user_units(
    text: str,
    hundred_percent: float,
    name: str,
    max_magnitude: int,
    px_per_unit: Mapping[str, float] = PX_PER_UNIT,
) -> Number | None:
    """Parse a length into user units, as an integer if it is whole, or return None.

    Raises `InvalidMarkupError`, which names `name`, if the length is too large.
    """
    length = parse_length(text, hundred_percent, px_per_unit)
    return None if length is None else int_if_whole(check_magnitude(length, name, max_magnitude))


class LengthCache(dict[str, Number | None]):
    """Caches lengths in user units by text; None for relative ones and for what is no length.

    Plans repeat a few lengths many times. Raises `InvalidMarkupError` for one that is too large.
    """

    def __init__(self, magnitude: int) -> None:
        self._max_magnitude = magnitude

    def __missing__(self, text: str) -> Number | None:
        number = None if "%" in text else parse_user_units(text, 0, text, self._max_magnitude)
        if len(self) >= MAX_CACHED_LENGTHS:
            self.clear()
        self[text] = number
        return number


def format_number(number: float) -> str:
    """Format a number as an attribute value with twelve significant digits."""
    return f"{number:.12g}"


# Express `stroke-dashoffset` by the lengths of the dashes themselves (SVG 2, section 13.5.6).

SEPARATOR: Final = re.compile(r"[\s,]+")
MAX_DASHES: Final = 1_000


def split_dashes(text: str) -> list[str]:
    """Return the lengths of a `stroke-dasharray`, none for `none`."""
    parts = [part for part in SEPARATOR.split(text.strip()) if part]
    return [] if parts == ["none"] or len(parts) > MAX_DASHES else parts


def shift_dashes(dashes: Sequence[float], offset: float) -> str:
    """Return the `stroke-dasharray` that begins `offset` into the pattern of these dashes.

    A dash or gap in which the pattern begins is split into its end and its beginning.

    >>> shift_dashes([10, 20], 4)
    '6 20 4 0'
    >>> shift_dashes([10, 20], 14)
    '0 16 10 4'
    """
    lengths = list(dashes) * (1 + len(dashes) % 2)
    total = sum(lengths)
    if total <= 0 or min(lengths) < 0:
        return "none"
    offset %= total
    first = 0
    while offset >= lengths[first]:
        offset -= lengths[first]
        first = (first + 1) % len(lengths)
    rotated = lengths[first:] + lengths[:first]
    is_gap = first % 2 == 1
    shifted = [rotated[0] - offset, *rotated[1:], offset]
    shifted = [0.0, *shifted] if is_gap else [*shifted, 0.0]
    return " ".join(map(format_number, shifted))


# Compute the sizes that font-relative and viewport-relative units refer to.

DEFAULT_SIZE: Final = 16.0
MAX_SIZE: Final = 10_000.0
"""Browsers limit the size of fonts too; without a limit, nested `em` grow without end."""


class FontSizes(NamedTuple):
    """The size of the font in px, of an element and of the root; and the viewport."""

    size: float = DEFAULT_SIZE
    root_size: float = DEFAULT_SIZE
    viewport: Viewport = Viewport(300, 150)

    def enter(self, text: str) -> "FontSizes":
        """Return the sizes inside an element with this `font-size`; a keyword changes none."""
        size = parse_length(text.lower(), self.size, self.px_per_unit)
        return self if size is None or size < 0 else self._replace(size=min(size, MAX_SIZE))

    def as_root(self) -> "FontSizes":
        """Return the sizes for what is inside the root element."""
        return self._replace(root_size=self.size)

    @property
    def px_per_unit(self) -> Mapping[str, float]:
        """Return pixels per unit of length, of those of CSS Values 4 that drawings have."""
        return _px_per_unit(self)


@lru_cache
def _px_per_unit(sizes: FontSizes) -> Mapping[str, float]:
    width, height = sizes.viewport
    return {
        **PX_PER_UNIT,
        "em": sizes.size,
        # Without the metrics of fonts: half an em for ex and ch (CSS Values 4, section 6.1.1).
        "ex": sizes.size / 2,
        "ch": sizes.size / 2,
        "ic": sizes.size,
        "cap": sizes.size,
        "rem": sizes.root_size,
        "vw": width / 100,
        "vh": height / 100,
        "vi": width / 100,
        "vb": height / 100,
        "vmin": min(width, height) / 100,
        "vmax": max(width, height) / 100,
    }
