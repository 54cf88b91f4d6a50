"""Parse and format numbers and lengths of SVG and CSS."""

import re
from collections.abc import Mapping
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
