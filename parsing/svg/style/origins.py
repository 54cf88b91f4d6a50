"""Resolve `transform-origin` and the single transforms `translate`, `rotate` and `scale`.

CSS Transforms 1, section 6, and CSS Transforms 2, section 5.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from parsing.svg.geometry.lengths import WHITESPACE, Viewport, format_number, parse_length
from parsing.svg.style.fonts import FontSizes
from parsing.svg.style.transforms import css_transform_to_attribute

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
AXES: Final = frozenset("xyz")
FILL_BOXES: Final = frozenset({"fill-box", "content-box", "stroke-box", "border-box"})
SPACES: Final = re.compile(rf"[{WHITESPACE}]+")


class ReferenceBox(NamedTuple):
    """The box that lengths of a transform refer to, in user units."""

    x: float
    y: float
    width: float
    height: float


def resolve_transform(
    transform: str, controls: Mapping[str, str], box: ReferenceBox, font: FontSizes
) -> str:
    """Return the transform of an element that also sets these properties.

    `transform` has the syntax of the attribute; that of a style sheet is among the properties.

    >>> box = ReferenceBox(0, 0, 8, 6)
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

    >>> to_css_transform("rotate", "z 30deg"), to_css_transform("scale", "2 3")
    ('rotatez(30deg)', 'scale(2,3)')
    """
    if name == "transform" or value.lower() == "none":
        return value
    if "," in value:
        return ""  # which is no transform
    words = SPACES.split(value)
    if name != "rotate":
        return f"{name}{'3d' * (len(words) == 3)}({','.join(words)})"
    if words[0][-1:].isalpha() and words[0].lower() not in AXES:
        words = [*words[1:], words[0]]  # the angle may come first
    *axis, angle = words
    if len(axis) < 2:
        return f"rotate{''.join(axis)}({angle})"
    return f"rotate3d({','.join(words)})"


def _parse_origin(text: str, box: ReferenceBox, font: FontSizes) -> tuple[float, float] | None:
    """Return the point that a `transform-origin` stands for, or None for one in error."""
    parts = SPACES.split(text.strip(WHITESPACE).lower())[:2]
    if parts[0] in VERTICAL or (len(parts) == 2 and parts[1] in HORIZONTAL):
        parts = [*parts[1:], parts[0]] if len(parts) == 2 else ["center", parts[0]]
    if len(parts) == 1:
        parts.append("center")
    x = parse_length(SHARE_BY_KEYWORD.get(parts[0], parts[0]), box.width, font.px_per_unit)
    y = parse_length(SHARE_BY_KEYWORD.get(parts[1], parts[1]), box.height, font.px_per_unit)
    return None if x is None or y is None else (box.x + x, box.y + y)
