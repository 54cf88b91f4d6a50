"""Replace references to gradients and patterns by colours.

See docs/decisions/parsing/average-colours.md.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from parsing.svg.definitions import Definitions, PaintServer
from parsing.svg.geometry.lengths import parse_opacity
from parsing.svg.inheritance import InheritedStyle
from parsing.svg.names import referenced_id
from parsing.svg.paint.ancestors import AncestorStyles, Inherit
from parsing.svg.paint.colors import BLACK, Color, parse_color
from parsing.svg.paint.gradients import (
    MAX_REFERENCES,
    Stop,
    average_gradient,
    has_no_extent,
    parse_offset,
)

MAX_NESTED_PATTERNS: Final = 8
REFERENCE: Final = re.compile(
    r"\s*url\(\s*(?:\"([^\"]*)\"|'([^']*)'|([^)\"']*))\s*\)\s*(.*)", re.IGNORECASE | re.DOTALL
)
UNPAINTED: Final = "none"

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
        self.ancestors = AncestorStyles(inherit)
        self._average_tile = average_tile
        self._colors: dict[str, str | None] = {}
        self._averages: dict[tuple[int, bool, bool], Color | None] = {}
        self._open_patterns = 0

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
        chain = self._follow_references(server)
        written = next((link.attributes[units] for link in chain if units in link.attributes), "")
        return written != "userSpaceOnUse"

    def _average(self, server: PaintServer) -> Color | None:
        chain = list(self._follow_references(server))
        if server.kind == "pattern":
            return self._average_pattern(chain)
        attributes: dict[str, str] = {}
        for link in reversed(chain):
            attributes.update(link.attributes)
        written = next((link for link in chain if link.stops), server)
        is_radial = server.kind == "radialGradient"
        # Thousands of gradients may share the stops of one.
        key = id(written.stops), is_radial, has_no_extent(is_radial, attributes)
        if key not in self._averages:
            inside = self.ancestors.enter(written)
            stops = [self._read_stop(stop, inside) for stop in written.stops]
            self._averages[key] = average_gradient(is_radial, attributes, stops)
        return self._averages[key]

    def _average_pattern(self, chain: list[PaintServer]) -> Color | None:
        if self._open_patterns >= MAX_NESTED_PATTERNS:
            return None
        attributes: dict[str, str] = {}
        for link in reversed(chain):
            attributes.update(link.attributes)
        self._open_patterns += 1
        try:
            averages = (
                self._average_tile(
                    attributes, link.attributes.get("id", ""), self.ancestors.enter(link)
                )
                for link in chain
                if link.kind == "pattern"
            )
            return next(filter(None, averages), None)
        finally:
            self._open_patterns -= 1

    def _follow_references(self, server: PaintServer) -> Iterator[PaintServer]:
        """Iterate over a gradient or pattern and those that it takes missing things from."""
        current: PaintServer | None = server
        for _ in range(MAX_REFERENCES):
            if current is None:
                return
            yield current
            current = self._servers.get(referenced_id(current.attributes))

    def _read_stop(self, attributes: Mapping[str, str], gradient: InheritedStyle) -> Stop:
        style = self.ancestors.inherit("stop", dict(attributes), gradient)
        text = style.own_values.get("stop-color", "black")
        if text.lower() == "currentcolor":
            text = style.color
        color = parse_color(text) or BLACK
        offset = parse_offset(attributes.get("offset", "0"))
        return Stop(offset, color.fade(parse_opacity(style.own_values.get("stop-opacity", "1"))))
