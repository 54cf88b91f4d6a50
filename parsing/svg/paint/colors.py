"""Parse the colours of CSS, and mix them."""

import colorsys
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from parsing.svg.geometry.lengths import NUMBER_PATTERN, parse_opacity
from parsing.svg.paint.color_names import HEX_BY_NAME, SYSTEM_COLORS
from parsing.svg.paint.color_spaces import HUNDRED_PERCENT, to_srgb

MAX_COLOR_CHARS: Final = 100
PAINT_WORDS: Final = SYSTEM_COLORS.union(
    HEX_BY_NAME, {"none", "transparent", "currentcolor", "inherit", "initial", "unset", "revert"}
).union({"revert-layer", "context-fill", "context-stroke"})
PAINT_FUNCTIONS: Final = re.compile(
    r"(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch|color|color-mix|device-cmyk|light-dark|var)\("
)
SERVER: Final = re.compile(r"url\([^)]*\)\s*")
HEX_COLOR: Final = re.compile(r"#([0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3,4})")
FUNCTION: Final = re.compile(
    r"(rgb|hsl|hwb|lab|lch|oklab|oklch|color)(?:(?<=rgb|hsl)a)?\(([^()]*)\)"
)
ARGUMENT: Final = re.compile(rf"((?>{NUMBER_PATTERN}))(%|deg|turn|rad|grad)?|none")
PERCENT: Final = 0.01
LARGEST_COMPONENT: Final = 1_000.0
TURNS_PER_UNIT: Final = {
    None: 1 / 360,
    "deg": 1 / 360,
    "turn": 1.0,
    "grad": 1 / 400,
    "rad": 0.159155,
}


class Color(NamedTuple):
    """Red, green, blue and opacity from 0 to 1."""

    red: float
    green: float
    blue: float
    alpha: float = 1.0

    def fade(self, opacity: float) -> "Color":
        """Return the colour with its opacity multiplied."""
        return self._replace(alpha=self.alpha * opacity)

    def lay_over(self, below: "Color") -> "Color":
        """Return the colour that shows where this one is painted over another."""
        return mix_colors([(self, 1.0), (below, 1.0 - self.alpha)], total=1.0)

    def format(self) -> str:
        """Format as `#rrggbb`, `#rrggbbaa` if it is translucent, or `none` if it is invisible.

        >>> Color(1, 0.5, 0, 0.5).format()
        '#ff800080'
        """
        red, green, blue, alpha = (int(min(max(part, 0.0), 1.0) * 255 + 0.5) for part in self)
        if not alpha:
            return "none"
        return f"#{red:02x}{green:02x}{blue:02x}" + (f"{alpha:02x}" if alpha < 255 else "")


BLACK: Final = Color(0, 0, 0)
TRANSPARENT: Final = Color(0, 0, 0, 0)


def mix_colors(weighted: Iterable[tuple[Color, float]], total: float | None = None) -> Color:
    """Return the mean of colours by weight, in which a translucent one counts less.

    >>> mix_colors([(Color(1, 1, 1), 1), (Color(0, 0, 0), 1)])
    Color(red=0.5, green=0.5, blue=0.5, alpha=1.0)
    """
    red = green = blue = alpha = weights = 0.0
    for color, weight in weighted:
        share = weight * color.alpha
        red += color.red * share
        green += color.green * share
        blue += color.blue * share
        alpha += share
        weights += weight
    total = weights if total is None else total
    return Color(red / alpha, green / alpha, blue / alpha, alpha / total) if alpha else TRANSPARENT


@lru_cache(maxsize=1_000)
def parse_color(text: str) -> Color | None:
    """Parse a colour of CSS Color 4, or return None for any other text.

    Of the predefined colour spaces, only those of screens are known, and there is no `color-mix()`.

    >>> parse_color("rgb(100% 0 0 / 50%)")
    Color(red=1.0, green=0.0, blue=0.0, alpha=0.5)
    """
    text = text.strip().lower()
    if len(text) > MAX_COLOR_CHARS:
        return None
    if text == "transparent":
        return TRANSPARENT
    digits = HEX_BY_NAME.get(text)
    if match := HEX_COLOR.fullmatch(text):
        digits = match[1] if len(match[1]) > 4 else "".join(digit * 2 for digit in match[1])
    if digits is not None:
        return Color(
            *(int(digits[start : start + 2], 16) / 255 for start in range(0, len(digits), 2))
        )
    match = FUNCTION.fullmatch(text)
    return _parse_function(match[1], match[2]) if match else None


@lru_cache(maxsize=1_000)
def is_unknown_paint(text: str) -> bool:
    """Return whether a paint, or the colour behind a reference, is one that no viewer knows.

    >>> is_unknown_paint("bogus"), is_unknown_paint("url(#a) #12345"), is_unknown_paint("Red")
    (True, True, False)
    """
    word = text.strip().lower()
    if server := SERVER.match(word):
        word = word[server.end() :] or "none"
    is_known = word in PAINT_WORDS or HEX_COLOR.fullmatch(word) or PAINT_FUNCTIONS.match(word)
    return not is_known


def _parse_function(name: str, text: str) -> Color | None:
    parts = [part for part in re.split(r"[\s,/]+", text.strip()) if part]
    space = parts.pop(0) if name == "color" and parts else name
    arguments = [ARGUMENT.fullmatch(part) for part in parts]
    is_named = name == "color" and space in HUNDRED_PERCENT  # color(lab …) is no colour
    if len(parts) not in (3, 4) or None in arguments or is_named:
        return None
    alpha = parse_opacity(parts[3]) if len(parts) == 4 and parts[3] != "none" else 1.0
    values = [(float(match[1] or 0), match[2]) for match in arguments if match]
    if name == "rgb":
        red, green, blue = (
            _clamp(number * PERCENT if unit == "%" else number / 255) for number, unit in values[:3]
        )
        return Color(red, green, blue, alpha)
    if name not in ("hsl", "hwb"):
        color = to_srgb(space, _parse_components(name, values[:3]))
        return color and Color(*color, alpha)
    (angle, unit), (second, _), (third, _) = values[:3]
    hue = angle * TURNS_PER_UNIT.get(unit, 1 / 360) % 1
    second, third = _clamp(second * PERCENT), _clamp(third * PERCENT)
    if name == "hsl":
        return Color(*colorsys.hls_to_rgb(hue, third, second), alpha)
    whiteness, blackness = second / max(1, second + third), third / max(1, second + third)
    red, green, blue = (
        part * (1 - whiteness - blackness) + whiteness for part in colorsys.hsv_to_rgb(hue, 1, 1)
    )
    return Color(red, green, blue, alpha)


def _parse_components(name: str, values: Sequence[tuple[float, str | None]]) -> list[float]:
    """Return the components of a colour: percentages as what they are of, hues in turns."""
    hundreds = HUNDRED_PERCENT.get(name, (1.0, 1.0, 1.0))
    components = [
        number * PERCENT * hundred if unit == "%" else number
        for (number, unit), hundred in zip(values, hundreds, strict=True)
    ]
    if name.endswith("lch"):
        angle, unit = values[2]
        components[2] = angle * TURNS_PER_UNIT.get(unit, 1 / 360)
    return [min(max(part, -LARGEST_COMPONENT), LARGEST_COMPONENT) for part in components]


def _clamp(number: float) -> float:
    return min(max(number, 0.0), 1.0)
