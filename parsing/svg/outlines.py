"""Trace paths and basic shapes as polylines, with chords for curves."""

import cmath
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from parsing.drawing import Coordinate, Coordinates
from parsing.errors import DocumentRejectedError, InvalidMarkupError
from parsing.svg.lengths import (
    MAX_MAGNITUDE,
    NUMBER_PATTERN,
    WHITESPACE,
    check_magnitude,
    parse_length,
)

# Flatten path data into chords (SVG 2, chapter 9, and appendix B for arcs).

MAX_CHORDS: Final = 2_000
"""One curve has no more, however small the tolerance is."""
MAX_PATH_CHARS: Final = 1_000_000
SPACE: Final = rf"[{WHITESPACE}]*"
SEPARATOR: Final = rf"{SPACE},?{SPACE}"
NUMBER_TOKEN: Final = re.compile(rf"{SEPARATOR}({NUMBER_PATTERN})")
FLAG_TOKEN: Final = re.compile(rf"{SEPARATOR}([01])")
COMMAND_TOKEN: Final = re.compile(rf"{SPACE}([a-zA-Z])")
REST_IS_BLANK: Final = re.compile(rf"{SPACE}\Z")

ARGUMENT_COUNTS: Final = {
    "M": 2,
    "L": 2,
    "H": 1,
    "V": 1,
    "C": 6,
    "S": 4,
    "Q": 4,
    "T": 2,
    "A": 7,
    "Z": 0,
}
ARC_FLAG_INDEXES: Final = (3, 4)
"""Arguments of an arc that are one digit; no separator need follow (SVG 2, section 9.3.9)."""


class Subpath(NamedTuple):
    """Points as complex numbers; a closed subpath does not repeat its first point."""

    points: list[complex]
    is_closed: bool


def flatten_path(data: str, tolerance: float, max_chords: int = MAX_CHORDS) -> list[Subpath]:
    """Return the subpaths of path data with chords within `tolerance` of its curves.

    Raises `InvalidMarkupError` for a syntax error, `DocumentRejectedError` for too long a path.

    >>> flatten_path("M0 0 h10 v5 z", tolerance=0.1)
    [Subpath(points=[0j, (10+0j), (10+5j)], is_closed=True)]
    """
    if len(data) > MAX_PATH_CHARS:
        raise DocumentRejectedError(
            f"d has {len(data):,} characters; at most {MAX_PATH_CHARS:,} are read"
        )
    pen = _Pen(tolerance, max_chords)
    for command, arguments in _iter_commands(data):
        pen.draw(command, arguments)
    return [path for path in pen.subpaths if len(path.points) > 1]


def count_arc_chords(radius: float, angle: float, tolerance: float) -> int:
    """Return how many chords an arc needs: over an angle t one strays by r (1 - cos t/2)."""
    if radius <= tolerance:
        return 1
    step = 4 * math.asin(math.sqrt(tolerance / (2 * radius)))
    return min(MAX_CHORDS, max(1, math.ceil(abs(angle) / step)))


def _iter_commands(data: str) -> Iterator[tuple[str, list[float]]]:
    """Iterate over commands with one set of arguments each; lower case means relative."""
    position, command = 0, ""
    while not REST_IS_BLANK.match(data, position):
        match = COMMAND_TOKEN.match(data, position)
        if match:
            command, position = match[1], match.end()
        elif command in "Zz":  # true for "" too: data before the first command
            raise _invalid_path(data, position)
        count = ARGUMENT_COUNTS.get(command.upper())
        if count is None:
            raise _invalid_path(data, position)
        arguments = []
        for number in range(count):
            is_flag = command in "Aa" and number in ARC_FLAG_INDEXES
            match = (FLAG_TOKEN if is_flag else NUMBER_TOKEN).match(data, position)
            if match is None:
                raise _invalid_path(data, position)
            arguments.append(check_magnitude(float(match[1]), "a number of d", MAX_MAGNITUDE))
            position = match.end()
        yield command, arguments
        command = {"M": "L", "m": "l"}.get(command, command)


def _invalid_path(data: str, position: int) -> InvalidMarkupError:
    start = max(0, position - 20)
    return InvalidMarkupError(
        f"d is no path at character {position + 1}: ...{data[start : position + 20]!r}; expected "
        "a command such as M, L or C with all of its numbers"
    )


class _Pen:
    """Draws commands and remembers the control point that smooth commands reflect."""

    def __init__(self, tolerance: float, max_chords: int) -> None:
        self._tolerance = tolerance
        self._max_chords = max_chords
        self.subpaths: list[Subpath] = []
        self._points: list[complex] = []
        self._position = self._start = 0j
        self._control = 0j
        self._last = ""

    def draw(self, command: str, arguments: list[float]) -> None:
        name = command.upper()
        base = self._position if command.islower() else 0j
        if not self._points and name not in "MZ":
            self._begin()
        match name:
            case "M":
                self._position = self._start = base + complex(*arguments)
                self._points = []
            case "Z":
                self._close()
            case "L":
                self._add((), base + complex(*arguments))
            case "H":
                self._add((), complex(base.real + arguments[0], self._position.imag))
            case "V":
                self._add((), complex(self._position.real, base.imag + arguments[0]))
            case "C":
                self._curve(*_to_points(base, arguments))
            case "S":
                self._curve(self._reflect_control("CS"), *_to_points(base, arguments))
            case "Q":
                self._parabola(*_to_points(base, arguments))
            case "T":
                self._parabola(self._reflect_control("QT"), *_to_points(base, arguments))
            case "A":
                self._arc(base, arguments)
        self._last = name

    def _begin(self) -> None:
        self._points = [self._position]
        self.subpaths.append(Subpath(self._points, False))

    def _close(self) -> None:
        if self._points:
            while len(self._points) > 1 and self._points[-1] == self._points[0]:
                self._points.pop()
            self.subpaths[-1] = Subpath(self._points, True)
        self._position, self._points = self._start, []

    def _add(self, points: Iterable[complex], end: complex) -> None:
        for point in (*points, end):
            if point != self._points[-1]:
                self._points.append(point)
        self._position = end

    def _reflect_control(self, after: str) -> complex:
        # Only after a curve of the same kind (SVG 2, sections 9.3.6 and 9.3.7).
        return (
            2 * self._position - self._control
            if self._last and self._last in after
            else self._position
        )

    def _parabola(self, control: complex, end: complex) -> None:
        # Degree elevation: the same curve as a cubic Bézier curve.
        start = self._position
        self._curve((start + 2 * control) / 3, (end + 2 * control) / 3, end)
        self._control = control

    def _curve(self, first: complex, second: complex, end: complex) -> None:
        """Draw a cubic Bézier curve.

        A chord over a parameter step h strays by at most h^2 / 8 of the second derivative's bound.
        """
        start = self._position
        second_derivative = 6 * max(abs(start - 2 * first + second), abs(first - 2 * second + end))
        chords = math.sqrt(min(second_derivative / (8 * self._tolerance), self._max_chords**2))
        chord_count = max(1, math.ceil(chords))

        def point(t: float) -> complex:
            u = 1 - t
            return u**3 * start + 3 * u * u * t * first + 3 * u * t * t * second + t**3 * end

        self._add((point(n / chord_count) for n in range(1, chord_count)), end)
        self._control = second

    def _arc(self, base: complex, arguments: list[float]) -> None:
        """Draw an elliptical arc, transformed so that the ellipse is a unit circle.

        SVG 2, section 9.5.1 (out-of-range radii) and appendix B.2.4 (centre parameterization).
        """
        rx, ry, degrees, large, sweep, x, y = arguments
        rx, ry, end = abs(rx), abs(ry), base + complex(x, y)
        if not rx or not ry or end == self._position:
            self._add((), end)
            return
        rotation = cmath.rect(1, math.radians(degrees))
        half = (self._position - end) / 2 / rotation
        half = complex(half.real / rx, half.imag / ry)
        radius_scale = max(1.0, abs(half))
        half /= radius_scale
        aside = math.sqrt(max(0.0, 1 / abs(half) ** 2 - 1)) if half else 0.0
        centre = half * complex(0, -aside if large != sweep else aside)
        start_angle = cmath.phase(half - centre)
        angle = cmath.phase((-half - centre) / (half - centre))
        if sweep and angle < 0:
            angle += 2 * math.pi
        elif not sweep and angle > 0:
            angle -= 2 * math.pi
        middle = (self._position + end) / 2

        def point(t: float) -> complex:
            unit = centre + cmath.rect(1, start_angle + angle * t)
            return middle + complex(unit.real * rx, unit.imag * ry) * radius_scale * rotation

        chords = count_arc_chords(max(rx, ry) * radius_scale, angle, self._tolerance)
        chords = min(chords, self._max_chords)
        self._add((point(n / chords) for n in range(1, chords)), end)


def _to_points(base: complex, numbers: list[float]) -> list[complex]:
    return [base + complex(x, y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]


# Trace SVG's seven basic shapes as polylines, with chords for curves.

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
    match kind:
        case "Path":
            paths = flatten_path(str(attributes.get("d", "")), tolerance, max_chords)
            return [_subpath_outline(path) for path in paths]
        case "Polyline":
            return _polyline(attributes)
        case "Polygon":
            return [Outline(line.points, True) for line in _polyline(attributes)]
        case "Line":
            x1, y1, x2, y2 = _parse_lengths(attributes, "x1", "y1", "x2", "y2")
            return [Outline(((x1, y1), (x2, y2)), False)]
        case "Circle":
            x, y, r = _parse_lengths(attributes, "cx", "cy", "r")
            return _ellipse(x, y, r, r, tolerance)
        case "Ellipse":
            x, y, rx, ry = _parse_lengths(attributes, "cx", "cy", "rx", "ry")
            return _ellipse(x, y, rx, ry, tolerance)
    return _rect(attributes, tolerance)


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


def _polyline(attributes: Attributes) -> list[Outline]:
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


def _ellipse(x: float, y: float, rx: float, ry: float, tolerance: float) -> list[Outline]:
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


def signed_area(ring: Sequence[Coordinate]) -> float:
    """Return the area of a ring, negative for one of the two directions."""
    return sum(
        (ring[number - 1][0] * y - x * ring[number - 1][1]) / 2
        for number, (x, y) in enumerate(ring)
    )
