"""Compute the coordinate systems that `svg` and `symbol` elements establish (SVG 2, chapter 8)."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from parsing.limits import check_text_length
from parsing.svg.geometry.lengths import (
    NUMBER_PATTERN,
    WHITESPACE,
    Viewport,
    check_magnitude,
    format_number,
    parse_length,
)
from parsing.svg.style.fonts import FontSizes

# CSS 2.1, section 10.3.2: the size of a replaced element that declares none.
DEFAULT_SIZE: Final = Viewport(300, 150)
INITIAL_FONT: Final = FontSizes()
SPACE: Final = rf"[{WHITESPACE}]*"
SEPARATOR: Final = rf"(?:{SPACE},{SPACE}|[{WHITESPACE}]+)"
VIEW_BOX: Final = re.compile(SPACE + SEPARATOR.join([f"({NUMBER_PATTERN})"] * 4) + SPACE)
# `defer` is SVG 1.1 (section 7.8) and only meant something on images.
ALIGNMENT: Final = re.compile(
    r"\s*(?:defer\s+)?(?:none|x(Min|Mid|Max)Y(Min|Mid|Max))(?:\s+(meet|slice))?\s*"
)
VIEWPORT_ATTRIBUTES: Final = ("x", "y", "width", "height", "viewBox", "preserveAspectRatio")
ALIGNMENT_SHARE: Final = {"Min": 0.0, "Mid": 0.5, "Max": 1.0}


class ViewBox(NamedTuple):
    """The parsed value of a `viewBox` attribute."""

    x: float
    y: float
    width: float
    height: float


class ViewportFrame(NamedTuple):
    """A viewport, the transform from its user units to those outside, and its box out there."""

    viewport: Viewport
    transform: str
    box: ViewBox | None = None
    is_drawn: bool = True


def parse_view_box(text: str | None) -> ViewBox | None:
    """Parse a `viewBox`, or return None if it is missing or in error (SVG 2, section 8.6).

    One without area is no error: nothing in it is drawn.
    """
    match = VIEW_BOX.fullmatch(check_text_length(text or "", "viewBox", 1_000))
    if match is None:
        return None
    box = ViewBox(*map(float, match.groups()))
    return box if box.width >= 0 and box.height >= 0 else None


def root_frame(attributes: Mapping[str, str], magnitude: int) -> ViewportFrame:
    """Return the frame of the root `svg`: its viewBox, else its width and height in px.

    Raises `InvalidMarkupError` if one of them exceeds `magnitude`.
    """
    box = parse_view_box(attributes.get("viewBox"))
    if box is None or not (box.width and box.height):
        size = _parse_size(attributes, DEFAULT_SIZE, DEFAULT_SIZE)
        box = ViewBox(0, 0, *(value if value > 0 else 1 for value in size))
    for name, value in box._asdict().items():
        check_magnitude(value, f"the drawing's {name}", magnitude)
    return ViewportFrame(Viewport(box.width, box.height), format_translation(-box.x, -box.y))


def nested_frame(
    attributes: Mapping[str, str], outer: Viewport, font: FontSizes = INITIAL_FONT
) -> ViewportFrame:
    """Return the frame of an `svg` inside another, or of a `symbol` in use."""
    return _cached_nested_frame(
        tuple(
            [
                check_text_length(attributes.get(name, ""), name, 1_000)
                for name in VIEWPORT_ATTRIBUTES
            ]
        ),
        outer,
        font,
    )


@lru_cache  # plans use one symbol in one size many times, for furniture
def _cached_nested_frame(
    values: tuple[str, ...], outer: Viewport, font: FontSizes
) -> ViewportFrame:
    attributes = {
        name: text for name, text in zip(VIEWPORT_ATTRIBUTES, values, strict=True) if text
    }
    x = parse_length(attributes.get("x", "0"), outer.width, font.px_per_unit) or 0.0
    y = parse_length(attributes.get("y", "0"), outer.height, font.px_per_unit) or 0.0
    size = _parse_size(attributes, outer, outer, font)
    outside = ViewBox(x, y, *size)
    box = parse_view_box(attributes.get("viewBox"))
    if box is None:
        return ViewportFrame(size, format_translation(x, y), outside)
    aspect = attributes.get("preserveAspectRatio", "")
    if not (box.width and box.height):
        return ViewportFrame(size, format_translation(x, y), outside, is_drawn=False)
    return ViewportFrame(
        Viewport(box.width, box.height), _view_box_transform(box, x, y, size, aspect), outside
    )


def _parse_size(
    attributes: Mapping[str, str],
    outer: Viewport,
    default: Viewport,
    font: FontSizes = INITIAL_FONT,
) -> Viewport:
    width = parse_length(attributes.get("width", ""), outer.width, font.px_per_unit)
    height = parse_length(attributes.get("height", ""), outer.height, font.px_per_unit)
    return Viewport(
        default.width if width is None or width < 0 else width,
        default.height if height is None or height < 0 else height,
    )


def _view_box_transform(box: ViewBox, x: float, y: float, size: Viewport, aspect: str) -> str:
    """Return the transform that SVG 2, section 8.2, gives for a viewBox in a viewport."""
    scale_x, scale_y = size.width / box.width, size.height / box.height
    alignment = ALIGNMENT.fullmatch(aspect)
    align_x, align_y, fitting = alignment.groups() if alignment else ("Mid", "Mid", None)
    if align_x is not None:
        scale_x = scale_y = (max if fitting == "slice" else min)(scale_x, scale_y)
        x += ALIGNMENT_SHARE[align_x] * (size.width - box.width * scale_x)
        y += ALIGNMENT_SHARE[align_y] * (size.height - box.height * scale_y)
    scale = "" if scale_x == scale_y == 1 else f"scale({_format_pair(scale_x, scale_y)})"
    parts = (format_translation(x, y), scale, format_translation(-box.x, -box.y))
    return " ".join(part for part in parts if part)


def format_translation(x: float, y: float) -> str:
    """Format a translation as a transform, "" for none."""
    return f"translate({_format_pair(x, y)})" if x or y else ""


def _format_pair(x: float, y: float) -> str:
    return f"{format_number(x)} {format_number(y)}"
