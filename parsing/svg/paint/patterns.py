"""Average the colours of patterns over their tiles.

See docs/decisions/parsing/average-colours.md.
"""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from parsing.drawing import Coordinate
from parsing.errors import InvalidMarkupError
from parsing.svg.elements import Georeference, Group, RejectedShape, Shape
from parsing.svg.geometry.areas import even_odd_area, signed_area
from parsing.svg.geometry.clipping import ClipBox, clip_ring
from parsing.svg.geometry.dashes import dashed_share, split_dashes
from parsing.svg.geometry.lengths import PX_PER_UNIT, Viewport, parse_length, parse_opacity
from parsing.svg.geometry.matrices import parse_transform
from parsing.svg.geometry.outlines import trace_shape
from parsing.svg.paint.colors import TRANSPARENT, Color, parse_color
from parsing.svg.viewports import parse_view_box

MAX_TILE_CHARS: Final = 200_000
"""Characters, corners and dashes of a document's patterns that are averaged."""
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


class TilePainter:
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

    def add_shape(self, shape: Shape) -> None:
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
        filled = self._filled_area(rings, attributes.get("fill-rule", ""))
        self._lay(attributes, "fill", "black", opacity, filled)
        closed = [
            [*ring, ring[0]] if line.is_closed else ring
            for ring, line in zip(rings, lines, strict=True)
        ]
        scale = math.sqrt(abs(matrix.a * matrix.d - matrix.b * matrix.c))
        self._lay(
            attributes, "stroke", "none", opacity, self._stroked_area(closed, attributes, scale)
        )

    def _lay(
        self,
        attributes: Mapping[str, str],
        name: str,
        default: str,
        opacity: float,
        covered: float,
    ) -> None:
        color = parse_color(attributes.get(name, default))
        if color is not None and covered > 0:
            own = parse_opacity(attributes.get(f"{name}-opacity", "1"))
            self._layers.append((color.fade(opacity * own), covered))

    def _filled_area(self, rings: list[list[Coordinate]], rule: str) -> float:
        clipped = [clip_ring(ring, self._tile) for ring in rings]
        return even_odd_area(clipped) if rule == "evenodd" else abs(sum(map(signed_area, clipped)))

    def _stroked_area(
        self, lines: list[list[Coordinate]], attributes: Mapping[str, str], scale: float
    ) -> float:
        width = parse_length(attributes.get("stroke-width", "1"), 0)
        width = (1.0 if width is None else width) * scale
        dashes = _parse_dashes(attributes.get("stroke-dasharray", "none"), scale)
        self._spent[0] += len(dashes) * len(lines)
        if self._spent[0] > MAX_TILE_CHARS:
            dashes = []
        covered = 0.0
        for line in lines:
            length = sum(math.dist(start, end) for start, end in pairwise(line))
            ribbons = (_widen(start, end, width) for start, end in pairwise(line))
            areas = (abs(signed_area(clip_ring(ribbon, self._tile))) for ribbon in ribbons)
            covered += sum(areas) * (dashed_share(dashes, length) if dashes else 1.0)
        return covered

    def set_canvas_size(self, width: int, height: int) -> None:
        """Ignore the size of a canvas: a tile has its own."""

    def start_group(self, group: Group) -> None:
        """Ignore groups: their style is in the shapes."""

    def end_group(self) -> None:
        """Ignore groups."""

    def add_georeference(self, georeference: Georeference) -> None:
        """Ignore what draws nothing."""

    def reject_shape(self, error: InvalidMarkupError, shape: RejectedShape) -> None:
        """Ignore a shape in error, as browsers do."""


def _parse_dashes(text: str, scale: float) -> list[float]:
    lengths = [parse_length(part, 0) for part in split_dashes(text)]
    return [] if None in lengths else [(length or 0.0) * scale for length in lengths]


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
