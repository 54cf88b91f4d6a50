"""Parse the colours of CSS that drawings have, and mix them."""

import colorsys
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from parsing.svg.lengths import DEGREES_PER_UNIT, NUMBER_PATTERN, parse_opacity

# The named colours of CSS Color 4, section 6.1.

_TABLE: Final = """
aliceblue f0f8ff antiquewhite faebd7 aqua 00ffff aquamarine 7fffd4 azure f0ffff beige f5f5dc
bisque ffe4c4 black 000000 blanchedalmond ffebcd blue 0000ff blueviolet 8a2be2 brown a52a2a
burlywood deb887 cadetblue 5f9ea0 chartreuse 7fff00 chocolate d2691e coral ff7f50
cornflowerblue 6495ed cornsilk fff8dc crimson dc143c cyan 00ffff darkblue 00008b darkcyan
008b8b darkgoldenrod b8860b darkgray a9a9a9 darkgreen 006400 darkgrey a9a9a9 darkkhaki bdb76b
darkmagenta 8b008b darkolivegreen 556b2f darkorange ff8c00 darkorchid 9932cc darkred 8b0000
darksalmon e9967a darkseagreen 8fbc8f darkslateblue 483d8b darkslategray 2f4f4f darkslategrey
2f4f4f darkturquoise 00ced1 darkviolet 9400d3 deeppink ff1493 deepskyblue 00bfff dimgray
696969 dimgrey 696969 dodgerblue 1e90ff firebrick b22222 floralwhite fffaf0 forestgreen 228b22
fuchsia ff00ff gainsboro dcdcdc ghostwhite f8f8ff gold ffd700 goldenrod daa520 gray 808080
green 008000 greenyellow adff2f grey 808080 honeydew f0fff0 hotpink ff69b4 indianred cd5c5c
indigo 4b0082 ivory fffff0 khaki f0e68c lavender e6e6fa lavenderblush fff0f5 lawngreen 7cfc00
lemonchiffon fffacd lightblue add8e6 lightcoral f08080 lightcyan e0ffff lightgoldenrodyellow
fafad2 lightgray d3d3d3 lightgreen 90ee90 lightgrey d3d3d3 lightpink ffb6c1 lightsalmon ffa07a
lightseagreen 20b2aa lightskyblue 87cefa lightslategray 778899 lightslategrey 778899
lightsteelblue b0c4de lightyellow ffffe0 lime 00ff00 limegreen 32cd32 linen faf0e6 magenta
ff00ff maroon 800000 mediumaquamarine 66cdaa mediumblue 0000cd mediumorchid ba55d3
mediumpurple 9370db mediumseagreen 3cb371 mediumslateblue 7b68ee mediumspringgreen 00fa9a
mediumturquoise 48d1cc mediumvioletred c71585 midnightblue 191970 mintcream f5fffa mistyrose
ffe4e1 moccasin ffe4b5 navajowhite ffdead navy 000080 oldlace fdf5e6 olive 808000 olivedrab
6b8e23 orange ffa500 orangered ff4500 orchid da70d6 palegoldenrod eee8aa palegreen 98fb98
paleturquoise afeeee palevioletred db7093 papayawhip ffefd5 peachpuff ffdab9 peru cd853f pink
ffc0cb plum dda0dd powderblue b0e0e6 purple 800080 rebeccapurple 663399 red ff0000 rosybrown
bc8f8f royalblue 4169e1 saddlebrown 8b4513 salmon fa8072 sandybrown f4a460 seagreen 2e8b57
seashell fff5ee sienna a0522d silver c0c0c0 skyblue 87ceeb slateblue 6a5acd slategray 708090
slategrey 708090 snow fffafa springgreen 00ff7f steelblue 4682b4 tan d2b48c teal 008080
thistle d8bfd8 tomato ff6347 turquoise 40e0d0 violet ee82ee wheat f5deb3 white ffffff
whitesmoke f5f5f5 yellow ffff00 yellowgreen 9acd32
"""
_WORDS: Final = _TABLE.split()
HEX_BY_NAME: Final = dict(zip(_WORDS[::2], _WORDS[1::2], strict=True))
"""Six hexadecimal digits by name in lower case."""

# CSS Color 4, section 6.2 and appendix A; which colours they are depends on the viewer.
_SYSTEM_COLORS: Final = """
accentcolor accentcolortext activetext buttonborder buttonface buttontext canvas canvastext
field fieldtext graytext highlight highlighttext linktext mark marktext selecteditem
selecteditemtext visitedtext activeborder activecaption appworkspace background buttonhighlight
buttonshadow captiontext inactiveborder inactivecaption inactivecaptiontext infobackground
infotext menu menutext scrollbar threeddarkshadow threedface threedhighlight threedlightshadow
threedshadow window windowframe windowtext
"""
SYSTEM_COLORS: Final = frozenset(_SYSTEM_COLORS.split())


MAX_COLOR_CHARS: Final = 100
PAINT_WORDS: Final = SYSTEM_COLORS.union(
    HEX_BY_NAME, {"none", "transparent", "currentcolor", "inherit", "initial", "unset", "revert"}
).union({"revert-layer", "context-fill", "context-stroke"})
PAINT_FUNCTIONS: Final = re.compile(
    r"(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch|color|color-mix|device-cmyk|light-dark|var)\("
)
SERVER: Final = re.compile(r"url\([^)]*\)\s*")
HEX_COLOR: Final = re.compile(r"#([0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3,4})")
FUNCTION: Final = re.compile(r"(rgb|hsl|color)(?:(?<=rgb|hsl)a)?\(([^()]*)\)")
ARGUMENT: Final = re.compile(rf"((?>{NUMBER_PATTERN}))(%|deg|turn|rad|grad)?|none")
PERCENT: Final = 0.01
SCREEN_SPACES: Final = frozenset({"srgb", "display-p3"})
# CSS Color 4, chapter 18, in linear components. Figma writes colours in Display P3.
P3_TO_LINEAR: Final = (
    (1.2249401763, -0.2249401763, 0.0),
    (-0.0420569547, 1.0420569547, 0.0),
    (-0.0196375546, -0.0786360456, 1.0982736001),
)


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

    Of its colour spaces only those of screens are read, which drawing programs write.

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
    if len(parts) not in (3, 4) or None in arguments:
        return None
    alpha = parse_opacity(parts[3]) if len(parts) == 4 and parts[3] != "none" else 1.0
    values = [(float(match[1] or 0), match[2]) for match in arguments if match]
    if name == "rgb":
        red, green, blue = (
            _clamp(number * PERCENT if unit == "%" else number / 255) for number, unit in values[:3]
        )
        return Color(red, green, blue, alpha)
    if name == "color":
        if space not in SCREEN_SPACES:
            return None
        components = [number * PERCENT if unit == "%" else number for number, unit in values[:3]]
        color = components if space == "srgb" else _from_display_p3(components)
        red, green, blue = map(_clamp, color)
        return Color(red, green, blue, alpha)
    (angle, unit), (second, _), (third, _) = values[:3]
    hue = angle * DEGREES_PER_UNIT.get(unit or "", 1.0) / 360 % 1
    second, third = _clamp(second * PERCENT), _clamp(third * PERCENT)
    return Color(*colorsys.hls_to_rgb(hue, third, second), alpha)


def _from_display_p3(components: Sequence[float]) -> Iterator[float]:
    """Yield red, green and blue of sRGB; what it does not have is clipped, as in browsers.

    >>> [round(part, 2) for part in _from_display_p3((0.5, 0.2, 0))]
    [0.54, 0.17, 0.0]
    """
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in map(_clamp, components)
    ]
    for row in P3_TO_LINEAR:
        part = _clamp(sum(factor * part for factor, part in zip(row, linear, strict=True)))
        yield 12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055


def _clamp(number: float) -> float:
    return min(max(number, 0.0), 1.0)
