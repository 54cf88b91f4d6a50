"""Resolve `transform-origin` and the single transforms `translate`, `rotate` and `scale`.

CSS Transforms 1, section 6, and CSS Transforms 2, section 5.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from parsing.svg.geometry.lengths import WHITESPACE, format_number, parse_length
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
SINGLE_TRANSFORMS: Final = ("translate", "rotate", "scale")
TRANSFORM_PROPERTIES: Final = frozenset({*SINGLE_TRANSFORMS, "transform-origin"})
FILL_BOXES: Final = frozenset({"fill-box", "content-box", "stroke-box", "border-box"})
TRANSLATION: Final = re.compile(r"translate\(([^()]*)\)")
SPACES: Final = re.compile(rf"[{WHITESPACE}]+")


class ReferenceBox(NamedTuple):
    """The box that lengths of a transform refer to, in user units."""

    x: float
    y: float
    width: float
    height: float


def resolve_transform(
    transform: str,
    controls: Mapping[str, str],
    box: ReferenceBox,
    px_per_unit: Mapping[str, float],
) -> str:
    """Return the transform of an element that also sets these properties.

    >>> resolve_transform("rotate(9)", {"transform-origin": "center"}, ReferenceBox(0, 0, 8, 6), {})
    'translate(4 3) rotate(9) translate(-4 -3)'
    """
    parts = [_to_function(name, controls[name]) for name in SINGLE_TRANSFORMS if name in controls]
    text = resolve_shares(" ".join(filter(None, [*parts, transform])), box)
    if not text or "transform-origin" not in controls:
        return text
    origin = _parse_origin(controls["transform-origin"], box, px_per_unit)
    if origin is None or origin == (0, 0):
        return text
    x, y = origin
    there = f"{format_number(x)} {format_number(y)}"
    return f"translate({there}) {text} translate({format_number(0 - x)} {format_number(0 - y)})"


def _to_function(name: str, value: str) -> str:
    value = value.strip()
    if value == "none":
        return ""
    if name == "scale":
        factors = [parse_length(part, 1.0) for part in SPACES.split(value)]
        if not 1 <= len(factors) <= 3 or None in factors:
            return ""
        return f"scale({' '.join(format_number(factor or 0) for factor in factors[:2])})"
    return css_transform_to_attribute(f"{name}({','.join(SPACES.split(value)[:2])})")


def resolve_shares(transform: str, box: ReferenceBox) -> str:
    """Replace the percentages of translations, which only CSS has, by user units.

    >>> resolve_shares("translate(10%,5) rotate(9)", ReferenceBox(0, 0, 80, 60))
    'translate(8,5) rotate(9)'
    """
    if "%" not in transform:
        return transform
    return TRANSLATION.sub(lambda match: _resolve_translation(match[1], box), transform)


def _resolve_translation(arguments: str, box: ReferenceBox) -> str:
    sides = zip(arguments.split(","), (box.width, box.height), strict=False)
    lengths = [parse_length(text, side) for text, side in sides]
    return f"translate({','.join(format_number(length or 0) for length in lengths)})"


def _parse_origin(
    text: str, box: ReferenceBox, px_per_unit: Mapping[str, float]
) -> tuple[float, float] | None:
    parts = SPACES.split(text.strip(WHITESPACE).lower())[:2]
    if parts[0] in VERTICAL or (len(parts) == 2 and parts[1] in HORIZONTAL):
        parts = [*parts[1:], parts[0]] if len(parts) == 2 else ["center", parts[0]]
    if len(parts) == 1:
        parts.append("center")
    x = parse_length(SHARE_BY_KEYWORD.get(parts[0], parts[0]), box.width, px_per_unit)
    y = parse_length(SHARE_BY_KEYWORD.get(parts[1], parts[1]), box.height, px_per_unit)
    return None if x is None or y is None else (box.x + x, box.y + y)
