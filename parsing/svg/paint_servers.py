"""Replace gradients and patterns by their average colours.

See docs/decisions/parsing/styling.md.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from parsing.drawing import Coordinate
from parsing.errors import InvalidMarkupError
from parsing.svg.colors import BLACK, TRANSPARENT, Color, mix_colors, parse_color
from parsing.svg.definitions import Definitions, PaintServer
from parsing.svg.elements import DrawingHandler, DrawnShape
from parsing.svg.inheritance import InheritedStyle
from parsing.svg.lengths import (
    PX_PER_UNIT,
    Viewport,
    parse_length,
    parse_opacity,
)
from parsing.svg.names import referenced_id
from parsing.svg.outlines import signed_area, trace_shape
from parsing.svg.transforms import parse_transform
from parsing.svg.viewports import ClipBox, clip_ring, parse_view_box

MAX_REFERENCES: Final = 32
"""Gradients and patterns that refer to each other for what they do not say themselves."""


class Stop(NamedTuple):
    """A colour at a distance from 0 to 1 of a gradient's start."""

    offset: float
    color: Color


def average_gradient(is_radial: bool, stops: Sequence[Stop]) -> Color | None:
    """Return the mean colour between a gradient's ends, of a radial one that of its circle.

    None for a gradient without stops, which paints nothing.
    """
    if not stops:
        return None
    return mix_colors(_weigh_colors(is_radial, list(_in_order(stops))))


def parse_offset(text: str) -> float:
    """Parse the offset of a stop: a number or a percentage, clamped to 0..1; 0 for other text."""
    return min(max(parse_length(text, 1.0) or 0.0, 0.0), 1.0)


def _in_order(stops: Sequence[Stop]) -> Iterator[Stop]:
    """Iterate over stops, none before the previous one, from 0 to 1."""
    offset = 0.0
    yield Stop(0.0, stops[0].color)
    for stop in stops:
        offset = max(offset, stop.offset)
        yield Stop(offset, stop.color)
    yield Stop(1.0, stops[-1].color)


def _weigh_colors(is_radial: bool, stops: Sequence[Stop]) -> Iterator[tuple[Color, float]]:
    """Iterate over colours of each part with the share of the area that they tint.

    Between two stops the colour and its opacity change evenly, each by itself, and a ring at the
    distance t of a radial gradient has an area of 2 t dt. Simpson's rule is exact for the product.
    """
    for (start, first), (end, last) in pairwise(stops):
        middle = Color(*((one + other) / 2 for one, other in zip(first, last, strict=True)))
        samples = ((start, first, 1), ((start + end) / 2, middle, 4), (end, last, 1))
        for distance, color, weight in samples:
            density = 2 * distance if is_radial else 1
            yield color, density * weight * (end - start) / 6


MAX_NESTED_PATTERNS: Final = 8
REFERENCE: Final = re.compile(
    r"\s*url\(\s*(?:\"([^\"]*)\"|'([^']*)'|([^)\"']*))\s*\)\s*(.*)", re.IGNORECASE | re.DOTALL
)
UNPAINTED: Final = "none"

Inherit = Callable[[str, dict[str, str], InheritedStyle], InheritedStyle]
"""Returns the style inside an element, from its name, its attributes and the style around it."""
AverageTile = Callable[[Mapping[str, str], str, InheritedStyle], Color | None]
"""Returns the average colour of a pattern.

It gets the attributes, the id that has the content, and what the content inherits.
"""


class PaintServers:
    """The gradients and patterns of a document, each averaged once."""

    def __init__(
        self, definitions: Definitions, inherit: Inherit, average_tile: AverageTile
    ) -> None:
        self._servers = definitions.paint_servers
        self._inherit = inherit
        self._around = InheritedStyle(Viewport(1, 1))
        self._average_tile = average_tile
        self._colors: dict[str, str | None] = {}
        self._averages: dict[tuple[int, bool], Color | None] = {}
        self._open_patterns = 0

    def set_root(self, root: InheritedStyle) -> None:
        """Receive the style inside the root element, from which gradients and patterns inherit."""
        self._around = root.only_inherited()

    def resolve(self, paint: str, color: str, is_flat: bool = False) -> str:
        """Return a paint without references; `color` is what `currentColor` stands for.

        A reference to what is no gradient or pattern takes the colour after it, or paints nothing.
        So does one that is sized by a shape if that `is_flat`: it has no area.
        """
        match = REFERENCE.match(paint)
        if match is None:
            return paint
        address = (match[1] or match[2] or match[3] or "").strip()
        average = self._find_color(address[1:]) if address.startswith("#") else None
        if is_flat and self._is_sized_by_shape(address[1:]):
            average = None
        if average is not None:
            return average
        fallback = match[4].strip()
        if fallback.lower() == "currentcolor":
            return color or "black"
        return fallback or UNPAINTED

    def _find_color(self, name: str) -> str | None:
        """Return the average of a gradient or pattern as text, or None if there is none."""
        if name not in self._colors:
            server = self._servers.get(name)
            if server is None:
                return None
            self._colors[name] = UNPAINTED  # for a pattern that contains itself
            average = self._average(server)
            self._colors[name] = UNPAINTED if average is None else average.format()
        return self._colors[name]

    def _is_sized_by_shape(self, name: str) -> bool:
        server = self._servers.get(name)
        if server is None:
            return False
        units = "patternUnits" if server.kind == "pattern" else "gradientUnits"
        return _merge_attributes([*self._follow_references(server)]).get(units) != "userSpaceOnUse"

    def _average(self, server: PaintServer) -> Color | None:
        chain = list(self._follow_references(server))
        if server.kind == "pattern":
            return self._average_pattern(chain)
        written = next((link for link in chain if link.stops), server)
        is_radial = server.kind == "radialGradient"
        # Thousands of gradients may share the stops of one.
        key = id(written.stops), is_radial
        if key not in self._averages:
            inside = self._enter(written)
            stops = [self._read_stop(stop, inside) for stop in written.stops]
            self._averages[key] = average_gradient(is_radial, stops)
        return self._averages[key]

    def _average_pattern(self, chain: list[PaintServer]) -> Color | None:
        if self._open_patterns >= MAX_NESTED_PATTERNS:
            return None
        attributes = _merge_attributes(chain)
        self._open_patterns += 1
        try:
            averages = (
                self._average_tile(attributes, link.attributes.get("id", ""), self._enter(link))
                for link in chain
                if link.kind == "pattern"
            )
            return next(filter(None, averages), None)
        finally:
            self._open_patterns -= 1

    def _enter(self, server: PaintServer) -> InheritedStyle:
        """Return the style inside a gradient or pattern."""
        return self._inherit(server.kind, dict(server.attributes), self._around).only_inherited()

    def _follow_references(self, server: PaintServer) -> Iterator[PaintServer]:
        """Iterate over a gradient or pattern and those that it takes missing things from."""
        current: PaintServer | None = server
        for _ in range(MAX_REFERENCES):
            if current is None:
                return
            yield current
            current = self._servers.get(referenced_id(current.attributes))

    def _read_stop(self, attributes: Mapping[str, str], gradient: InheritedStyle) -> Stop:
        style = self._inherit("stop", dict(attributes), gradient)
        text = style.own_values.get("stop-color", "black")
        if text.lower() == "currentcolor":
            text = style.color
        color = parse_color(text) or BLACK
        offset = parse_offset(attributes.get("offset", "0"))
        return Stop(offset, color.fade(parse_opacity(style.own_values.get("stop-opacity", "1"))))


def _merge_attributes(chain: list[PaintServer]) -> dict[str, str]:
    """Return the attributes of a gradient or pattern, those of its references where it has none."""
    return {name: text for link in reversed(chain) for name, text in link.attributes.items()}


MAX_TILE_CHARS: Final = 200_000
"""Characters and corners of a document's patterns that are averaged."""
MAX_CHORDS: Final = 16


def read_tile(
    attributes: Mapping[str, str],
    viewport: Viewport,
    px_per_unit: Mapping[str, float] = PX_PER_UNIT,
) -> ClipBox | None:
    """Return the part of a pattern's coordinates that it repeats, or None if it paints nothing.

    Its place does not matter for the average. One whose size depends on the shape has the unit
    square if its content depends on it too, and else no bounds but those of its content.
    """
    sizes = []
    is_relative = attributes.get("patternUnits", "objectBoundingBox") != "userSpaceOnUse"
    for name, hundred_percent in zip(("x", "y", "width", "height"), viewport * 2, strict=True):
        whole = 1.0 if is_relative else hundred_percent
        length = parse_length(attributes.get(name, "0"), whole, px_per_unit)
        sizes.append(length or 0.0)
    x, y, width, height = sizes
    if width <= 0 or height <= 0:
        return None
    if box := parse_view_box(attributes.get("viewBox")):
        return ClipBox(box.x, box.y, box.x + box.width, box.y + box.height)
    is_unit_square = attributes.get("patternContentUnits") == "objectBoundingBox"
    if is_relative and not is_unit_square:
        return ClipBox(-math.inf, -math.inf, math.inf, math.inf)
    if is_relative:
        return ClipBox(0, 0, width, height)
    return ClipBox(0, 0, width, height) if is_unit_square else ClipBox(x, y, x + width, y + height)


class TilePainter(DrawingHandler):
    """Receives the shapes of a pattern and mixes their colours by the share of the tile they cover.

    Shapes are laid over one another as if each were spread evenly over the whole tile.
    """

    def __init__(self, tile: ClipBox, spent: list[int]) -> None:
        self._tile = tile
        self._spent = spent
        self._bounds: list[float] = []
        self._layers: list[tuple[Color, float]] = []

    def average(self) -> Color:
        """Return the colour of the tile from afar."""
        area = (self._tile.right - self._tile.left) * (self._tile.bottom - self._tile.top)
        if math.isinf(area):
            xs, ys = self._bounds[::2], self._bounds[1::2]
            area = (max(xs) - min(xs)) * (max(ys) - min(ys)) if xs else 0.0
        color = TRANSPARENT
        for layer, covered in self._layers:
            color = layer.fade(min(1.0, covered / area) if area else 0.0).lay_over(color)
        return color

    def add_shape(self, shape: DrawnShape) -> None:
        if not shape.is_visible or self._spent[0] > MAX_TILE_CHARS:
            return
        attributes = {name: str(value) for name, value in shape.attributes.items()}
        self._spent[0] += 20 + len(attributes.get("d", "")) + len(attributes.get("points", ""))
        try:
            matrix = parse_transform(attributes.get("transform", ""))
            tolerance = 0.01 / (matrix.max_scale or 1)
            lines = trace_shape(shape.kind, attributes, tolerance, MAX_CHORDS)
        except InvalidMarkupError:
            return
        rings = [[matrix.apply(point) for point in line.points] for line in lines]
        self._spent[0] += sum(map(len, rings))
        self._bounds += [number for ring in rings for point in ring for number in point]
        opacity = parse_opacity(attributes.get("opacity", "1"))
        clipped = [clip_ring(ring, self._tile) for ring in rings]
        self._lay(attributes, "fill", "black", opacity, abs(sum(map(signed_area, clipped))))
        closed = [
            [*ring, ring[0]] if line.is_closed else ring
            for ring, line in zip(rings, lines, strict=True)
        ]
        # A stroke grows by the geometric mean of the scales in both directions.
        scale = math.sqrt(abs(matrix.a * matrix.d - matrix.b * matrix.c))
        self._lay(
            attributes, "stroke", "none", opacity, self._stroked_area(closed, attributes, scale)
        )

    def _lay(
        self, attributes: Mapping[str, str], name: str, default: str, opacity: float, covered: float
    ) -> None:
        color = parse_color(attributes.get(name, default))
        if color is not None and covered > 0:
            own = parse_opacity(attributes.get(f"{name}-opacity", "1"))
            self._layers.append((color.fade(opacity * own), covered))

    def _stroked_area(
        self, lines: list[list[Coordinate]], attributes: Mapping[str, str], scale: float
    ) -> float:
        width = parse_length(attributes.get("stroke-width", "1"), 0)
        width = (1.0 if width is None else width) * scale
        ribbons = (_widen(*ends, width) for line in lines for ends in pairwise(line))
        return sum(abs(signed_area(clip_ring(ribbon, self._tile))) for ribbon in ribbons)


def _widen(start: Coordinate, end: Coordinate, width: float) -> list[Coordinate]:
    """Return the corners of a straight line of this width."""
    (x1, y1), (x2, y2) = start, end
    half = width / 2 / (math.dist(start, end) or 1)
    across, along = (y2 - y1) * half, (x2 - x1) * half
    return [
        (x1 + across, y1 - along),
        (x2 + across, y2 - along),
        (x2 - across, y2 + along),
        (x1 - across, y1 + along),
    ]
