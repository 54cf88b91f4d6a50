"""Compute the coordinate systems of `svg` and `symbol` elements, and cut shapes to them.

SVG 2, chapter 8.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from parsing.drawing import Coordinate
from parsing.errors import InvalidMarkupError
from parsing.limits import check_text_length
from parsing.svg.lengths import (
    NUMBER_PATTERN,
    WHITESPACE,
    FontSizes,
    Viewport,
    check_magnitude,
    format_number,
    parse_length,
)
from parsing.svg.names import GEOMETRY_ATTRIBUTES, PAINT_PROPERTIES
from parsing.svg.outlines import Outline, trace_shape
from parsing.svg.transforms import AffineTransform, Rectangle, parse_transform

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


class ViewportFrame(NamedTuple):
    """A viewport, the transform from its user units to those outside, and its box out there."""

    viewport: Viewport
    transform: str
    box: Rectangle | None = None
    is_drawn: bool = True


def parse_view_box(text: str | None) -> Rectangle | None:
    """Parse a `viewBox`, or return None if it is missing or in error (SVG 2, section 8.6).

    One without area is no error: nothing in it is drawn.
    """
    match = VIEW_BOX.fullmatch(check_text_length(text or "", "viewBox", 1_000))
    if match is None:
        return None
    box = Rectangle(*map(float, match.groups()))
    return box if box.width >= 0 and box.height >= 0 else None


def root_frame(attributes: Mapping[str, str], magnitude: int) -> ViewportFrame:
    """Return the frame of the root `svg`: its viewBox, else its width and height in px.

    Raises `InvalidMarkupError` if one of them exceeds `magnitude`.
    """
    box = parse_view_box(attributes.get("viewBox"))
    if box is None or not (box.width and box.height):
        size = _parse_size(attributes, DEFAULT_SIZE)
        box = Rectangle(0, 0, *(value if value > 0 else 1 for value in size))
    for name, value in box._asdict().items():
        check_magnitude(value, f"the drawing's {name}", magnitude)
    return ViewportFrame(Viewport(box.width, box.height), format_translation(-box.x, -box.y))


def nested_frame(
    attributes: Mapping[str, str], outer: Viewport, font: FontSizes = INITIAL_FONT
) -> ViewportFrame:
    """Return the frame of an `svg` inside another, or of a `symbol` in use."""
    values = [
        check_text_length(attributes.get(name, ""), name, 1_000) for name in VIEWPORT_ATTRIBUTES
    ]
    return _cached_nested_frame(tuple(values), outer, font)


@lru_cache  # plans use one symbol in one size many times, for furniture
def _cached_nested_frame(
    values: tuple[str, ...], outer: Viewport, font: FontSizes
) -> ViewportFrame:
    attributes = {
        name: text for name, text in zip(VIEWPORT_ATTRIBUTES, values, strict=True) if text
    }
    x = parse_length(attributes.get("x", "0"), outer.width, font.px_per_unit) or 0.0
    y = parse_length(attributes.get("y", "0"), outer.height, font.px_per_unit) or 0.0
    size = _parse_size(attributes, outer, font)
    outside = Rectangle(x, y, *size)
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
    attributes: Mapping[str, str], outer: Viewport, font: FontSizes = INITIAL_FONT
) -> Viewport:
    """Return the size of a viewport; one that is missing or in error is that of the outer."""
    width = parse_length(attributes.get("width", ""), outer.width, font.px_per_unit)
    height = parse_length(attributes.get("height", ""), outer.height, font.px_per_unit)
    return Viewport(
        outer.width if width is None or width < 0 else width,
        outer.height if height is None or height < 0 else height,
    )


def _view_box_transform(box: Rectangle, x: float, y: float, size: Viewport, aspect: str) -> str:
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


# Cut shapes to rectangles, as nested viewports do. See docs/decisions/parsing/styling.md.

MAX_TRACED: Final = 500_000
"""Characters and corners of the shapes of a document that are traced to cut them."""
MAX_CHORDS: Final = 64
"""A curve has no more; a whole document may have many curves."""
CHORDS_PER_SIDE: Final = 10_000
"""A curve may stray by this part of the rectangle's longer side."""
TOUCHING: Final = 1e-6
STROKE_ATTRIBUTES: Final = frozenset(name for name in PAINT_PROPERTIES if "stroke" in name)


class ClipBox(NamedTuple):
    """A rectangle in the coordinates that a list of transforms leads to."""

    left: float
    top: float
    right: float
    bottom: float
    transform: str = ""

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is inside."""
        return self.left >= self.right or self.top >= self.bottom


class Piece(NamedTuple):
    """A shape, or a part of one that is drawn by itself."""

    kind: str
    attributes: Mapping[str, str]


class ShapeClipper:
    """Cuts the shapes of one document; when they get too many, the others stay whole."""

    def __init__(self) -> None:
        self._traced = 0

    def clip(self, piece: Piece, box: ClipBox) -> list[Piece]:
        """Return what is visible of a shape: itself, parts of it, or nothing.

        A shape that reaches over the box becomes a path of chords for its fill, and one for its
        stroke. What cannot be traced is returned as it is.
        """
        kind, attributes = piece
        if box.is_empty:
            return []
        self._traced += 20 + len(attributes.get("d", "")) + len(attributes.get("points", ""))
        if self._traced > MAX_TRACED:
            return [piece]
        try:
            matrix = _invert(parse_transform(box.transform)).multiply(
                parse_transform(attributes.get("transform", ""))
            )
            to_shape = _invert(matrix)
            side = max(box.right - box.left, box.bottom - box.top)
            tolerance = side / CHORDS_PER_SIDE / (matrix.max_scale or 1)
            lines = trace_shape(kind, attributes, tolerance, MAX_CHORDS)
        except (InvalidMarkupError, ZeroDivisionError):
            return [piece]
        self._traced += sum(len(line.points) for line in lines)
        # The box is a rectangle only in its own coordinates, so that is where shapes are cut.
        lines = [
            Outline(tuple(map(matrix.apply, points)), is_closed) for points, is_closed in lines
        ]
        reach = _half_stroke_width(attributes) * matrix.max_scale
        place = _locate(lines, box, reach)
        if place is not None:
            return [piece] if place else []
        return list(_cut(attributes, lines, box, to_shape))


def clip_ring(points: Sequence[Coordinate], box: ClipBox) -> list[Coordinate]:
    """Cut the inside of a ring to a box (Sutherland-Hodgman). Parts may be joined by its edges.

    >>> clip_ring([(0, 0), (9, 0), (9, 9)], ClipBox(0, 0, 5, 9))
    [(5, 5.0), (0, 0), (5, 0.0)]
    """
    ring = list(points)
    for axis, limit, sign in (
        (0, box.left, 1),
        (0, box.right, -1),
        (1, box.top, 1),
        (1, box.bottom, -1),
    ):
        cut: list[Coordinate] = []
        for number, point in enumerate(ring):
            before = ring[number - 1]
            enters = sign * (point[axis] - limit) >= 0
            if enters != (sign * (before[axis] - limit) >= 0):
                cut.append(_cross(before, point, axis, limit))
            if enters:
                cut.append(point)
        ring = cut
    return ring


def clip_line(points: Sequence[Coordinate], box: ClipBox) -> Iterator[list[Coordinate]]:
    """Iterate over the parts of a line that are in a box."""
    part: list[Coordinate] = []
    for start, end in pairwise(points):
        inside = _clip_segment(start, end, box)
        if inside is None:
            continue
        first, last = inside
        if part and part[-1] != first:
            yield part
            part = []
        part = part or [first]
        part.append(last)
    if part:
        yield part


def _cross(one: Coordinate, other: Coordinate, axis: int, limit: float) -> Coordinate:
    share = (limit - one[axis]) / (other[axis] - one[axis])
    across = one[1 - axis] + share * (other[1 - axis] - one[1 - axis])
    return (limit, across) if axis == 0 else (across, limit)


def _clip_segment(
    start: Coordinate, end: Coordinate, box: ClipBox
) -> tuple[Coordinate, Coordinate] | None:
    """Return the part of a segment in a box (Liang-Barsky), or None."""
    enters, leaves = 0.0, 1.0
    for axis, low, high in ((0, box.left, box.right), (1, box.top, box.bottom)):
        way = end[axis] - start[axis]
        if way == 0:
            if not low <= start[axis] <= high:
                return None
            continue
        first, last = sorted(((low - start[axis]) / way, (high - start[axis]) / way))
        enters, leaves = max(enters, first), min(leaves, last)
    if enters >= leaves:
        return None

    def at(share: float) -> Coordinate:
        x, y = (a + share * (b - a) for a, b in zip(start, end, strict=True))
        return x, y

    return (at(enters) if enters else start), (at(leaves) if leaves < 1 else end)


def _locate(lines: Sequence[Outline], box: ClipBox, reach: float) -> bool | None:
    """Return True if all is in the box, False if nothing is, None if it reaches over an edge."""
    xs = [x for line in lines for x, _ in line.points]
    ys = [y for line in lines for _, y in line.points]
    if not xs:
        return True
    left, right, top, bottom = min(xs), max(xs), min(ys), max(ys)
    slack = TOUCHING * max(box.right - box.left, box.bottom - box.top)
    if (
        left - reach >= box.left - slack
        and right + reach <= box.right + slack
        and top - reach >= box.top - slack
        and bottom + reach <= box.bottom + slack
    ):
        return True
    if (
        right + reach <= box.left
        or left - reach >= box.right
        or bottom + reach <= box.top
        or top - reach >= box.bottom
    ):
        return False
    return None


def _cut(
    attributes: Mapping[str, str], lines: Sequence[Outline], box: ClipBox, to_shape: AffineTransform
) -> Iterator[Piece]:
    plain = {name: value for name, value in attributes.items() if name not in GEOMETRY_ATTRIBUTES}
    if attributes.get("fill") != "none":
        rings = [clip_ring(line.points, box) for line in lines if len(line.points) > 2]
        if data := "".join(_format_ring(ring, to_shape) + "Z" for ring in rings if ring):
            fill = {n: value for n, value in plain.items() if n not in STROKE_ATTRIBUTES}
            yield Piece("Path", {"d": data, **fill})
    if _half_stroke_width(attributes):
        parts = [
            part
            for points, is_closed in lines
            for part in clip_line((*points, points[0]) if is_closed else points, box)
        ]
        if data := "".join(_format_ring(part, to_shape) for part in parts):
            # Caps would reach over the edge that cuts the line.
            yield Piece("Path", {"d": data, **plain, "fill": "none", "stroke-linecap": "butt"})


def _format_ring(points: Sequence[Coordinate], matrix: AffineTransform) -> str:
    return "M" + "L".join(f"{x:.9g} {y:.9g}" for x, y in map(matrix.apply, points))


def _half_stroke_width(attributes: Mapping[str, str]) -> float:
    if attributes.get("stroke", "none") == "none":
        return 0.0
    width = parse_length(attributes.get("stroke-width", "1"), 0)
    return (1.0 if width is None else max(width, 0.0)) / 2


def _invert(matrix: AffineTransform) -> AffineTransform:
    """Return the inverse. Raises ZeroDivisionError if there is none."""
    a, b, c, d, e, f = matrix
    area = a * d - b * c
    if not math.isfinite(area):
        raise ZeroDivisionError
    return AffineTransform(
        d / area, -b / area, -c / area, a / area, (c * f - d * e) / area, (b * e - a * f) / area
    )
