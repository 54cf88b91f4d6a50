"""Cut shapes to rectangles, as nested viewports do.

See docs/decisions/parsing/nested-clips.md.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from parsing.drawing import Coordinate
from parsing.errors import InvalidMarkupError
from parsing.svg.geometry.lengths import parse_length
from parsing.svg.geometry.matrices import AffineTransform, parse_transform
from parsing.svg.geometry.outlines import Outline, trace_shape
from parsing.svg.names import GEOMETRY_ATTRIBUTES

MAX_TRACED: Final = 500_000
"""Characters and corners of the shapes of a document that are traced to cut them."""
MAX_CHORDS: Final = 64
"""Of one curve; a whole document may have many."""
CHORDS_PER_SIDE: Final = 10_000
"""A curve may stray by this part of the rectangle's longer side."""
TOUCHING: Final = 1e-6
STROKE_ATTRIBUTES: Final = frozenset(
    [
        "stroke",
        "stroke-width",
        "stroke-opacity",
        "stroke-miterlimit",
        "stroke-linecap",
        "stroke-linejoin",
        "stroke-dasharray",
    ]
)


class ClipBox(NamedTuple):
    """A rectangle in the coordinates that a list of transforms leads to."""

    left: float
    top: float
    right: float
    bottom: float
    transform: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is inside."""
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
            matrix = _invert(_parse_matrix(box.transform)).multiply(
                _parse_matrix(attributes.get("transform", ""))
            )
            to_shape = _invert(matrix)
            side = max(box.right - box.left, box.bottom - box.top)
            tolerance = side / CHORDS_PER_SIDE / (matrix.max_scale or 1)
            lines = trace_shape(kind, attributes, tolerance, MAX_CHORDS)
        except (InvalidMarkupError, ZeroDivisionError):
            return [piece]
        self._traced += sum(len(line.points) for line in lines)
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
    attributes: Mapping[str, str],
    lines: Sequence[Outline],
    box: ClipBox,
    to_shape: AffineTransform,
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
            yield Piece("Path", {"d": data, **plain, "fill": "none", "stroke-linecap": "butt"})


def _format_ring(points: Sequence[Coordinate], matrix: AffineTransform) -> str:
    return "M" + "L".join(f"{x:.9g} {y:.9g}" for x, y in map(matrix.apply, points))


def _half_stroke_width(attributes: Mapping[str, str]) -> float:
    if attributes.get("stroke", "none") == "none":
        return 0.0
    width = parse_length(attributes.get("stroke-width", "1"), 0)
    return (1.0 if width is None else max(width, 0.0)) / 2


@lru_cache(maxsize=256)  # shapes of a group share its transform
def _parse_matrix(text: str) -> AffineTransform:
    return parse_transform(text)


def _invert(matrix: AffineTransform) -> AffineTransform:
    """Return the inverse. Raises ZeroDivisionError if there is none."""
    a, b, c, d, e, f = matrix
    area = a * d - b * c
    if not math.isfinite(area):
        raise ZeroDivisionError
    return AffineTransform(
        d / area, -b / area, -c / area, a / area, (c * f - d * e) / area, (b * e - a * f) / area
    )
