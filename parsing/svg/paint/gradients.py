"""Average the colours of gradients (SVG 2, chapter 14).

See docs/decisions/parsing/average-colours.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from parsing.svg.geometry.lengths import parse_length
from parsing.svg.paint.colors import Color, mix_colors

MAX_REFERENCES: Final = 32
"""Gradients and patterns that refer to each other for what they do not say themselves."""
DEFAULT_ENDS: Final = {"x1": "0%", "y1": "0%", "x2": "100%", "y2": "0%", "r": "50%"}


class Stop(NamedTuple):
    """A colour at a distance from 0 to 1 of a gradient's start."""

    offset: float
    color: Color


def average_gradient(
    is_radial: bool, ends: Mapping[str, str], stops: Sequence[Stop]
) -> Color | None:
    """Return the mean colour between a gradient's ends, of a radial one that of its circle.

    `ends` has the attributes of its geometry. None for a gradient without stops, which paints
    nothing. One without length paints its last stop.
    """
    if not stops:
        return None
    if has_no_extent(is_radial, ends):
        return stops[-1].color
    return mix_colors(_weigh_colors(is_radial, list(_in_order(stops))))


def parse_offset(text: str) -> float:
    """Parse the offset of a stop: a number or a percentage, clamped to 0..1; 0 for other text."""
    return min(max(parse_length(text, 1.0) or 0.0, 0.0), 1.0)


def has_no_extent(is_radial: bool, ends: Mapping[str, str]) -> bool:
    """Return whether a gradient with this geometry begins where it ends."""
    values = {**DEFAULT_ENDS, **ends}
    if is_radial:
        return parse_length(values["r"], 1.0) == 0
    return all(
        parse_length(values[start], 1.0) == parse_length(values[end], 1.0)
        for start, end in (("x1", "x2"), ("y1", "y2"))
    )


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
