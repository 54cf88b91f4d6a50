"""Trace SVG's seven basic shapes as polylines, with chords for curves."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from parsing.drawing import Coordinate, Coordinates
from parsing.errors import InvalidMarkupError
from parsing.svg.geometry.lengths import (
    MAX_MAGNITUDE,
    NUMBER_PATTERN,
    check_magnitude,
    parse_length,
)
from parsing.svg.geometry.paths import MAX_CHORDS, Subpath, count_arc_chords, flatten_path

NUMBER_REGEX: Final = re.compile(NUMBER_PATTERN)
# Possessive, so that it takes linear time; a comma at the end changes no point.
POINTS_PATTERN: Final = re.compile(rf"\s*+(?:(?>{NUMBER_PATTERN})\s*+(?:,\s*+)?)*+")
START_REGEX: Final = re.compile(rf"[\sMm]*((?>{NUMBER_PATTERN}))[\s,]*({NUMBER_PATTERN})")
START_LENGTHS: Final = {
    "Rect": ("x", "y"),
    "Line": ("x1", "y1"),
    "Circle": ("cx", "cy"),
    "Ellipse": ("cx", "cy"),
}
Attributes = Mapping[str, str | float]


class Outline(NamedTuple):
    """One line of a shape; a closed one does not repeat its first point."""

    points: Coordinates
    is_closed: bool


def trace_shape(
    kind: str, attributes: Attributes, tolerance: float, max_chords: int = MAX_CHORDS
) -> list[Outline]:
    """Return the lines of a shape, within `tolerance` user units of its curves.

    A curve of a path has `max_chords` chords at most. `kind` is Polygon, Polyline, Line, Path,
    Circle, Ellipse or Rect. A shape without extent (a rect of no width) has no lines, since SVG
    does not render it. Raises `InvalidMarkupError`.
    """
    if kind == "Path":
        return _path(attributes, tolerance, max_chords)
    return TRACER_BY_KIND[kind](attributes, tolerance)


def find_start(kind: str, attributes: Attributes) -> Coordinate | None:
    """Return where a shape starts, also if the rest of it cannot be traced, or None.

    Raises `InvalidMarkupError`.

    >>> find_start("Path", {"d": "M10,20 L 30"})
    (10.0, 20.0)
    """
    if names := START_LENGTHS.get(kind):
        x, y = _parse_lengths(attributes, *names)
        return x, y
    text = str(attributes.get("d" if kind == "Path" else "points", ""))
    start = START_REGEX.match(text)
    return (float(start[1]), float(start[2])) if start else None


def _polygon(attributes: Attributes, tolerance: float) -> list[Outline]:
    return [Outline(line.points, True) for line in _polyline(attributes, tolerance)]


def _polyline(attributes: Attributes, _: float) -> list[Outline]:
    text = str(attributes.get("points", ""))
    end = POINTS_PATTERN.match(text).end()  # type: ignore[union-attr]  # it matches "" too
    if end < len(text):
        raise InvalidMarkupError(f"points has {text[end : end + 20]!r}; expected a number")
    numbers = [float(number) for number in NUMBER_REGEX.findall(text)]
    # SVG 2, section 10.6, drops an odd last number; but one in the middle may as well be missing.
    if len(numbers) % 2:
        raise InvalidMarkupError(f"points has {len(numbers)} numbers; expected an even count")
    points = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    is_closed = len(points) > 3 and points[0] == points[-1]
    return [Outline(points[:-1] if is_closed else points, is_closed)] if len(points) > 1 else []


def _line(attributes: Attributes, _: float) -> list[Outline]:
    x1, y1, x2, y2 = _parse_lengths(attributes, "x1", "y1", "x2", "y2")
    return [Outline(((x1, y1), (x2, y2)), False)]


def _rect(attributes: Attributes, tolerance: float) -> list[Outline]:
    x, y, width, height = _parse_lengths(attributes, "x", "y", "width", "height")
    if width <= 0 or height <= 0:
        return []
    rx, ry = _corner_radii(attributes, width, height)
    if not rx or not ry:
        return [Outline(((x, y), (x + width, y), (x + width, y + height), (x, y + height)), True)]
    centres = (
        (x + width - rx, y + height - ry),
        (x + rx, y + height - ry),
        (x + rx, y + ry),
        (x + width - rx, y + ry),
    )
    quarters = (
        _quarter_arc(*centre, rx, ry, 90 * n, tolerance) for n, centre in enumerate(centres)
    )
    return [Outline(tuple(point for quarter in quarters for point in quarter), True)]


def _corner_radii(attributes: Attributes, width: float, height: float) -> tuple[float, float]:
    """Return rx and ry: one may stand for both, half a side is the limit (SVG 2, section 10.2)."""
    radii = [attributes[name] for name in ("rx", "ry") if attributes.get(name, "auto") != "auto"]
    if not radii:
        return 0, 0
    rx, ry = _parse_length(radii[0], "rx"), _parse_length(radii[-1], "ry")
    return min(max(rx, 0), width / 2), min(max(ry, 0), height / 2)


def _circle(attributes: Attributes, tolerance: float) -> list[Outline]:
    x, y, r = _parse_lengths(attributes, "cx", "cy", "r")
    return _ellipse_outline(x, y, r, r, tolerance)


def _ellipse(attributes: Attributes, tolerance: float) -> list[Outline]:
    x, y, rx, ry = _parse_lengths(attributes, "cx", "cy", "rx", "ry")
    return _ellipse_outline(x, y, rx, ry, tolerance)


def _ellipse_outline(x: float, y: float, rx: float, ry: float, tolerance: float) -> list[Outline]:
    if rx <= 0 or ry <= 0:
        return []
    quarters = (_quarter_arc(x, y, rx, ry, 90 * n, tolerance)[:-1] for n in range(4))
    return [Outline(tuple(point for quarter in quarters for point in quarter), True)]


def _quarter_arc(
    x: float, y: float, rx: float, ry: float, from_degrees: float, tolerance: float
) -> list[Coordinate]:
    """Return points on a quarter of an ellipse, both ends included."""
    chords = count_arc_chords(max(rx, ry), math.pi / 2, tolerance)
    angles = (math.radians(from_degrees + 90 * n / chords) for n in range(chords + 1))
    return [(x + rx * math.cos(angle), y + ry * math.sin(angle)) for angle in angles]


def _path(attributes: Attributes, tolerance: float, max_chords: int) -> list[Outline]:
    data = str(attributes.get("d", ""))
    return [_subpath_outline(path) for path in flatten_path(data, tolerance, max_chords)]


def _subpath_outline(path: Subpath) -> Outline:
    points = tuple((point.real, point.imag) for point in path.points)
    is_loop = len(points) > 3 and points[0] == points[-1]
    return Outline(points[:-1] if is_loop else points, path.is_closed or is_loop)


def _parse_lengths(attributes: Attributes, *names: str) -> list[float]:
    return [_parse_length(attributes.get(name, 0), name) for name in names]


def _parse_length(value: str | float, name: str) -> float:
    length = parse_length(value, math.nan) if isinstance(value, str) else float(value)
    if length is None or math.isnan(length):
        raise InvalidMarkupError(f"{name} is {value!r}; expected a length such as 12.5")
    return check_magnitude(length, name, MAX_MAGNITUDE)


TRACER_BY_KIND: Final[dict[str, Callable[[Attributes, float], list[Outline]]]] = {
    "Polygon": _polygon,
    "Polyline": _polyline,
    "Line": _line,
    "Circle": _circle,
    "Ellipse": _ellipse,
    "Rect": _rect,
}
