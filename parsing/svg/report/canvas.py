"""Find where shapes lie on the canvas, and geometry that cannot be drawn, at bounded cost."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from parsing.errors import InvalidMarkupError
from parsing.svg.geometry.lengths import NUMBER_PATTERN, Viewport, parse_length
from parsing.svg.geometry.matrices import AffineTransform, parse_transform
from parsing.svg.geometry.outlines import find_start, trace_shape
from parsing.svg.names import RECT_LENGTHS
from parsing.svg.report.boxes import NOTHING, Box
from parsing.svg.report.warnings import ignore_faults
from parsing.svg.style.values import WIDE_KEYWORDS

MAX_TRACED_CHARS: Final = 200_000
"""Characters of geometry that are traced to find where the shapes of a drawing end."""
MAX_CHORDS: Final = 4
"""Of one curve."""
SLACK: Final = 0.01
"""Part of the canvas by which a unit may reach over its edge, as strokes do."""
GEOMETRY_TEXTS: Final = {"Path": "d", "Polygon": "points", "Polyline": "points"}
FAULTS: Final = {
    "d": re.compile(r"[^0-9MmZzLlHhVvCcSsQqTtAaEe+\-.,\s]"),
    "points": re.compile(r"[^0-9Ee+\-.,\s]"),
}
MAX_GLANCE_CHARS: Final = 200
"""Geometry of so many characters is traced to find what is wrong with it."""
PATH_START: Final = re.compile(r"\s*(?:[Mm]|$)")
NUMBER: Final = rf"[\s,]*+(?>{NUMBER_PATTERN})"
PLAIN_PATH: Final = re.compile(  # possessive, so that it takes linear time; without arcs
    rf"\s*+[Mm][\s,]*+((?>{NUMBER_PATTERN}))[\s,]*+((?>{NUMBER_PATTERN}))(?:{NUMBER}{NUMBER})*+"
    rf"(?:\s*+(?:[MmLlTt](?:{NUMBER}{NUMBER})++|[HhVv](?:{NUMBER})++|[Cc](?:(?:{NUMBER}){{6}})++"
    rf"|[SsQq](?:(?:{NUMBER}){{4}})++|[Zz]))*+\s*+"
)
NO_LENGTHS: Final = WIDE_KEYWORDS | {"auto"}
# It has all of ASCII, because `translate` takes three times as long if it looks up what is missing.
SEPARATORS: Final = {code: code for code in range(128)} | dict.fromkeys(map(ord, "MLZz,"), " ")
CORNERS: Final = {
    "Rect": ("x", "y", "width", "height"),
    "Line": ("x1", "y1", "x2", "y2"),
    "Circle": ("cx", "cy", "r"),
    "Ellipse": ("cx", "cy", "rx", "ry"),
}
SIZES: Final = {"Rect": ("width", "height"), "Circle": ("r",), "Ellipse": ("rx", "ry")}
IDENTITY: Final = AffineTransform()

Attributes = Mapping[str, str | float]


class Canvas:
    """The canvas of one drawing, and what was spent on finding the places of shapes."""

    def __init__(self, width: float, height: float) -> None:
        self.box = Box(0, 0, width, height)
        self._viewport = Viewport(width, height)
        slack = max(1.0, SLACK * max(width, height))
        self.wide_box = Box(-slack, -slack, width + slack, height + slack)
        self._traced = 0

    def has_plain_start(self, kind: str, attributes: Attributes, source: Mapping[str, str]) -> bool:
        """Return whether a shape of a usual form begins on the canvas and has no fault.

        This is fast. If it does not, or has another form, that is to be found out.
        """
        text = str(attributes.get("d", ""))
        if kind == "Path" and len(text) <= MAX_GLANCE_CHARS:
            path = PLAIN_PATH.fullmatch(text)
            return path is not None and bool(self._has(float(path[1]), float(path[2]), attributes))
        if kind != "Rect" or not RECT_LENGTHS & source.keys() <= attributes.keys():
            return False
        x, y, width, height = (float(attributes.get(name, 0)) for name in CORNERS["Rect"])
        return width >= 0 and height >= 0 and bool(self._has(x, y, attributes))

    def has_start(self, kind: str, attributes: Attributes) -> bool | None:
        """Return whether a shape begins on the canvas, or None if that cannot be told."""
        if kind in CORNERS:
            lengths = self._find_lengths(kind, attributes)
            start = (lengths[0], lengths[1]) if lengths else None
        else:
            start = find_start(kind, attributes)
        return self._has(*start, attributes) if start else None

    def _has(self, x: float, y: float, attributes: Attributes) -> bool | None:
        """Return whether a point of a shape is on the canvas."""
        if "transform" in attributes:
            matrix = parse_matrix(str(attributes["transform"]))
            if matrix is None:
                return None
            x, y = matrix.apply((x, y))
        left, top, right, bottom = self.wide_box
        return left <= x <= right and top <= y <= bottom

    def find_box(self, kind: str, attributes: Attributes) -> Box | None:
        """Return the box of a shape, or None if it is not known.

        Raises `InvalidMarkupError` if the geometry is in error.
        """
        matrix = (
            parse_matrix(str(attributes["transform"])) if "transform" in attributes else IDENTITY
        )
        if matrix is None:
            return None
        numbers = self._find_numbers(kind, attributes)
        if not numbers:
            return numbers if numbers is None else NOTHING
        xs, ys = numbers[::2], numbers[1::2]
        if matrix is not IDENTITY:
            points = [matrix.apply(point) for point in zip(xs, ys, strict=True)]
            xs, ys = [x for x, _ in points], [y for _, y in points]
        return Box(min(xs), min(ys), max(xs), max(ys))

    def _find_numbers(self, kind: str, attributes: Attributes) -> list[float] | None:
        """Return x and y of each point of a shape in turn, or None if they are not known."""
        if kind in CORNERS:
            return self._find_corners(kind, attributes)
        name = GEOMETRY_TEXTS[kind]
        text = str(attributes.get(name, ""))
        self._traced += 20 + len(text)
        if self._traced > MAX_TRACED_CHARS:
            return None
        if name == "d" and not PATH_START.match(text):
            raise InvalidMarkupError("d does not begin with M")
        if numbers := _read_corners(text):
            return numbers
        lines = trace_shape(kind, attributes, 1.0, MAX_CHORDS)
        return [number for line in lines for point in line.points for number in point]

    def _find_corners(self, kind: str, attributes: Attributes) -> list[float] | None:
        """Return the corners of a shape without text of points, or None if they are not known."""
        lengths = self._find_lengths(kind, attributes)
        if lengths is None:
            return None
        x, y, width, *others = lengths
        height = others[0] if others else width
        if kind == "Line":
            return [x, y, width, height]
        if width <= 0 or height <= 0:
            return []
        left, top = (x, y) if kind == "Rect" else (x - width, y - height)
        right, bottom = x + width, y + height
        return [left, top, right, top, right, bottom, left, bottom]

    def _find_lengths(self, kind: str, attributes: Attributes) -> list[float] | None:
        """Return the lengths of such a shape, or None if one is in error."""
        lengths = []
        for name in CORNERS[kind]:
            value: str | float | None = attributes.get(name, 0)
            if isinstance(value, str):
                value = parse_length(value[:100], self._viewport.hundred_percent(name))
            if value is None:
                return None
            lengths.append(float(value))
        return lengths


def _read_corners(text: str) -> list[float]:
    """Return the corners of a polygon, or of a path of straight lines as most programs write it.

    Returns none for any other, which is to be traced.
    """
    try:
        numbers = [*map(float, text.translate(SEPARATORS).split())]
    except ValueError:  # other commands, or numbers as in 1-2
        return []
    return numbers if len(numbers) % 2 == 0 else []


def find_fault(kind: str, attributes: Attributes, source: Mapping[str, str]) -> str:
    """Return what is wrong with the geometry of a shape, as far as a glance shows it, or "".

    Lengths in error are missing in the attributes of a Rect, and are still in its `source`.

    >>> find_fault("Path", {"d": "M0 0 L5 x"}, {})
    "d has 'x' at character 9"
    """
    if name := GEOMETRY_TEXTS.get(kind):
        text = str(attributes.get(name, ""))
        if fault := FAULTS[name].search(text):
            return f"{name} has {fault[0]!r} at character {fault.start() + 1:,}"
        if name == "d" and not PATH_START.match(text):
            return "d does not begin with M"
        return ""
    for name in CORNERS[kind]:
        value = attributes.get(name, source.get(name, 0))
        size = parse_length(value, 1) if isinstance(value, str) and len(value) < 100 else value
        if size is None and value not in NO_LENGTHS:
            return f"{name} is {value!r}"
        if isinstance(size, int | float) and size < 0 and name in SIZES.get(kind, ()):
            return f"{name} is {value}"
    return ""


def find_text_fault(kind: str, attributes: Attributes) -> str:
    """Return what is wrong with a short path or list of points, or ""."""
    if kind not in GEOMETRY_TEXTS:
        return ""
    text = str(attributes.get(GEOMETRY_TEXTS[kind], ""))
    if len(text) > MAX_GLANCE_CHARS or _read_corners(text) or PLAIN_PATH.fullmatch(text):
        return ""
    try:
        trace_shape(kind, attributes, 1.0, MAX_CHORDS)
    except InvalidMarkupError as error:
        return error.message
    return ""


@lru_cache(maxsize=1_000)
def parse_matrix(transform: str) -> AffineTransform | None:
    """Parse a transform; None for one in error."""
    matrix = None
    with ignore_faults():
        matrix = parse_transform(transform)
    return matrix
